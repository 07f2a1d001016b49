"""Trust in answers on real problems: `python -m lab.trust_rows ROW [FOLDER] [SUBSTRING]`.

ROW is `certificates`, `live-sets`, `reasons`, `what-if` or `stable`. FOLDER holds folders of problems in CSV, by
default the public ones of this repository. Prints an object for each problem, and a summary; seconds are of CPU, of the
process and its children, unless they say `wall`. With RESOLVE, seconds, each exact worth is compared with solving
so long. LIMIT is the time limit of a re-plan, by default 2 s. Too long for the test run.
"""

from __future__ import annotations

import json
import os
import random
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from memplan.capabilities.explain.reasons.explain import explain
from memplan.capabilities.explain.reasons.options import ExplainOptions
from memplan.capabilities.explain.what_if.values import BufferWorth
from memplan.capabilities.explain.what_if.what_if import WhatIfOptions, what_if
from memplan.capabilities.plan.replanning.replan import replan
from memplan.checkers import check as untyped
from memplan.planner.formats import FORMATS, read_problem
from memplan.planner.model.plan import Explanation, Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.certificates.certify import certify
from memplan.solvers.portfolio.solve import solve
from tests.support import public_problems
from tests.support.changed_problems import changed
from tests.support.reasons import cut_down
from tests.support.tight_problems import full_load, mixed_alignments

CHECKER: Any = untyped
_LARGEST = 2_000
"""The most buffers of a problem that is asked about."""
_RESOLVE_S = float(os.environ.get("RESOLVE") or 3)
Row = dict[str, Any]


def cpu_s() -> float:
    """Return the seconds of CPU of this process and of those of its children that ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def problems(folder: Path, part: str) -> Iterator[tuple[str, Problem]]:
    """Yield the problems of a folder, by name; with the pools that its index tells of."""
    for file in sorted(folder.glob("*/*.csv")):
        name = f"{file.parent.name}/{file.name}"
        problem = read_problem(file.read_bytes(), file.name)
        if part not in name or len(problem.buffers) > _LARGEST:
            continue
        index = file.parent / "index.json"
        rows = json.loads(index.read_text()) if index.exists() else []
        pools = next((row.get("pools") for row in rows if row["file"] == file.name), None)
        if pools is not None and len(pools) > 1:
            problem = with_pools(problem, pools)
        elif file.parent.name == "minimalloc":
            problem = with_pools(problem, [{"size": None}])
        yield name, problem


def with_pools(problem: Problem, pools: list[Row]) -> Problem:
    """Return the problem with other pools."""
    return Problem.model_validate({"buffers": list(problem.buffers), "pools": pools})


def tight(part: str) -> Iterator[tuple[str, Problem]]:
    """Yield problems of 12 to 60 buffers that mostly end above every bound."""
    rng = random.Random(7)
    for n in (12, 16, 20, 25, 30, 35, 40, 50, 60):
        for seed in range(14):
            height, live = rng.choice([24, 48, 100, 1000]), rng.choice([4, 5, 6, 8])
            if part in (name := f"full{n}.{seed}"):
                yield name, full_load(100 * n + seed, n, height, live)
    for n in (12, 16, 20, 25, 30):
        for seed in range(10):
            if part in (name := f"align{n}.{seed}"):
                yield name, mixed_alignments(1000 * n + seed, n)


def timed(work: Callable[[], Any]) -> tuple[Any, float, float]:
    """Return what some work gives, its seconds of CPU, and those of the wall."""
    before, began = cpu_s(), time.perf_counter()
    found = work()
    return found, cpu_s() - before, time.perf_counter() - began


def certificates(folder: Path, part: str) -> Iterator[Row]:
    """Yield what certificates of the best plans take, for real problems and for tight ones."""
    for family, source in (("real", problems(folder, part)), ("tight", tight(part))):
        for name, problem in source:
            plan, proof_s, proof_wall_s = timed(partial(solve, problem, time_limit_s=10))
            if plan.status != "optimal" or (family == "tight" and plan.proof.kind != "search"):
                continue
            found, certify_s, certify_wall_s = timed(partial(certify, problem, plan))
            text, lines = FORMATS["json"].write_problem(problem).decode(), found.text.splitlines()
            check_s = timed(partial(CHECKER.check, text, lines))[1] if lines else None
            yield {"name": name, "family": family, "n": len(problem.buffers), "by": plan.proof.kind, "kind": found.kind,
                   "reason": found.reason, "bytes": len(found.text), "proof_s": proof_s, "proof_wall_s": proof_wall_s,
                   "certify_s": certify_s, "certify_wall_s": certify_wall_s, "check_s": check_s}  # fmt: skip


def live_sets(folder: Path, part: str) -> Iterator[Row]:
    """Yield the reasons of problems of one pool at 99, 80 and 50 % of their best peak."""
    for name, problem in problems(folder, part):
        plan = solve(problem, time_limit_s=10)
        if plan.status != "optimal" or not plan.peak or len(problem.pools) > 1:
            continue
        for share in (99, 80, 50):
            yield {"name": f"{name} {share} %"} | reason(with_pools(problem, [{"size": plan.peak * share // 100}]))


def reasons(folder: Path, part: str) -> Iterator[Row]:
    """Yield the reasons of problems that do not fit because of pins, ranges, alignments, pools, or a tight packing."""
    for name, problem in unfit(folder, part):
        yield {"name": name} | reason(problem)


def unfit(folder: Path, part: str) -> Iterator[tuple[str, Problem]]:
    """Yield problems that may not fit for other reasons than a live set."""
    for name, problem in problems(folder, part):
        rng = random.Random(name)
        plan = solve(problem, time_limit_s=10)
        if plan.status != "optimal" or not plan.peak:
            continue
        rows = [row.model_dump(exclude_defaults=True) for row in problem.buffers]
        if len(problem.pools) > 1:
            used = plan.pools[-1].used or 0
            for less in (64, used // 10):
                pools = [pool.model_dump(exclude_defaults=True) for pool in problem.pools]
                pools[-1]["size"] = max(1, used - less)
                yield f"{name} slow pool -{less}", Problem.model_validate({"buffers": rows, "pools": pools})
            continue
        size = plan.peak
        reserved = [{"size": size, "reserved": [[size // 2, min(4096, size // 2)]]}]
        yield f"{name} reserved", Problem.model_validate({"buffers": rows, "pools": reserved})
        old = {row.id: row.offset for row in solve(problem, solver="greedy", time_limit_s=2).placements}
        pins = [
            row | ({"offset": old[row["id"]]} if rng.random() < 0.1 and old[row["id"]] + row["size"] <= size else {})
            for row in rows
        ]
        yield f"{name} pins", Problem.model_validate({"buffers": pins, "pools": [{"size": size}]})
        stride = max(1, size // 64)
        aligned = [row | ({"alignment": stride} if rng.random() < 0.2 else {}) for row in rows]
        yield f"{name} aligned", Problem.model_validate({"buffers": aligned, "pools": [{"size": size}]})
    for name, problem in tight(part):
        plan = solve(problem, time_limit_s=10)
        if plan.status == "optimal" and plan.proof and plan.proof.kind == "search" and plan.peak:
            yield f"{name} tight", with_pools(problem, [{"size": plan.peak - 1}])


def reason(problem: Problem) -> Row:
    """Return what the explanation of a problem takes; nothing where it is not known that it does not fit."""
    plan, _, solve_wall_s = timed(lambda: solve(problem, time_limit_s=10, accept="fit"))
    if plan.status != "infeasible":
        return {"status": plan.status}
    stages: list[tuple[str, float]] = []
    named: list[float] = []

    def told(stage: str, found: Explanation) -> None:
        stages.append((stage, found.wall_time_s or 0.0))
        named.extend([found.wall_time_s or 0.0] * bool(found.buffers))

    options = ExplainOptions(on_stage=told)
    found, used_s, wall_s = timed(lambda: explain(problem, plan=plan, options=options))
    at = dict(stages)
    done = at.get("irreducible", at.get("core", wall_s))
    return {"status": "infeasible", "kind": found.kind, "irreducible": found.irreducible, "buffers": len(found.buffers),
            "rules": len(found.rules), "calls": found.calls, "open": found.open_questions, "solve_wall_s": solve_wall_s,
            "first_s": min(named, default=wall_s), "reason_s": done, "s": used_s, "wall_s": wall_s,
            "still_unfit": solve(cut_down(problem, found.buffers, found.rules), accept="fit").status}  # fmt: skip


def what_ifs(folder: Path, part: str) -> Iterator[Row]:
    """Yield what the questions about each buffer take."""
    for name, problem in problems(folder, part):
        plan = solve(problem, time_limit_s=10)
        row: Row = {"name": name, "n": len(problem.buffers), "status": plan.status}
        for word, growth in (("dropped", False), ("both", True)):
            options = WhatIfOptions(growth=growth, pools=False, rules=False, time_limit_s=30)
            found, used_s, wall_s = timed(partial(what_if, problem, plan=plan, options=options))
            row |= {f"{word}_s": used_s, f"{word}_wall_s": wall_s}
            row[f"{word}_exact"] = sum(buffer.exact for buffer in found.buffers)
            row[f"{word}_of"] = len(found.buffers)
        if os.environ.get("RESOLVE") and len(problem.pools) == 1:
            judged = [word for worth in found.buffers for word in resolved(problem, found.peak or 0, worth)]
            row["wrong"] = [word for word in judged if word not in ("right", "undecided")]
            row |= {"right": judged.count("right"), "undecided": judged.count("undecided")}
        yield row


def resolved(problem: Problem, peak: int, worth: BufferWorth) -> Iterator[str]:
    """Yield what solving changed problems says of the worth of a buffer, if it is exact: right, undecided, or wrong."""
    if not worth.exact:
        return
    rows = {row.id: row.model_dump(exclude_defaults=True) for row in problem.buffers}
    rest = [row for name, row in rows.items() if name != worth.id]
    without = solve(Problem.model_validate({"buffers": rest}), time_limit_s=_RESOLVE_S)
    is_right = peak - (without.peak or 0) == worth.gain_if_dropped[0]
    yield ("right" if is_right else f"{worth.id}: dropped") if without.status == "optimal" else "undecided"
    more = worth.may_grow or 0
    for size, expected in ((more, ("optimal", "feasible")), (more + 1, ("infeasible",))):
        grown = {**rows[worth.id], "size": worth.size + size}
        given = {"buffers": [*rest, grown], "pools": [{"size": peak}]}
        status = solve(Problem.model_validate(given), time_limit_s=_RESOLVE_S, accept="fit").status
        is_right = status in expected
        yield "right" if is_right else "undecided" if status == "unknown" else f"{worth.id}: grown by {size}: {status}"


def stable(folder: Path, part: str) -> Iterator[Row]:
    """Yield what plans of changed problems keep of the old plan, with room of 2 %: 1, 5 and 10 % of buffers changed."""
    for name, problem in problems(folder, part):
        old = solve(problem, time_limit_s=10)
        if len(problem.buffers) < 40 or not old.peak:
            continue
        for percent in (1, 5, 10):
            step = 16 if problem.buffers.size.max() > 4096 else 1
            new = changed(problem, random.Random(name).randrange(1000) + percent, percent / 100, step)
            plan, used_s, wall_s = timed(partial(replan, new, old, time_limit_s=float(os.environ.get("LIMIT", "2"))))
            if (kept := plan.kept) is None:
                yield {"name": f"{name} {percent} %", "status": plan.status}
                continue
            yield {"name": f"{name} {percent} %", "n": len(new.buffers), "moved": kept.moved, "least": kept.least_moves,
                   f"stayed at {percent} %": kept.stayed / max(1, kept.stayed + kept.moved), "proved": kept.proved,
                   f"could stay at {percent} %": 1 - kept.least_moves / max(1, kept.stayed + kept.moved),
                   "by": plan.solver, "above": (plan.peak or 0) / (kept.peak_without_keeping or 1) - 1,
                   "s": used_s, "wall_s": wall_s}  # fmt: skip


def summary(rows: list[Row]) -> Iterator[str]:
    """Yield lines that sum up the numbers and the words of some rows."""
    for key in dict.fromkeys(key for row in rows for key in row):
        values = [row[key] for row in rows if row.get(key) is not None]
        if key == "name" or not values:
            continue
        if all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
            ordered = sorted(values)
            middle, most = statistics.median(ordered), ordered[-1]
            yield f"{key}: {len(values)} values, median {middle:.4g}, 90 % {ordered[int(0.9 * len(ordered))]:.4g}, most {most:.4g}, sum {sum(ordered):.4g}"  # noqa: E501
        else:
            words = {str(value)[:80] for value in values}
            yield f"{key}: " + ", ".join(
                f"{word} {[str(v)[:80] for v in values].count(word)}" for word in sorted(words)
            )
    if rows and "certify_s" in rows[0]:
        for family in ("real", "tight"):
            ratios = [row["certify_s"] / max(1e-6, row["proof_s"]) for row in rows if row["family"] == family]
            if ratios:
                yield f"certificate / proof, {family}: median {statistics.median(ratios):.3g} of {len(ratios)}"


def main() -> int:
    """Ask about all problems of a folder."""
    row_of = {"certificates": certificates, "live-sets": live_sets, "reasons": reasons, "what-if": what_ifs}
    row_of["stable"] = stable
    if len(sys.argv) < 2 or sys.argv[1] not in row_of:
        print(__doc__)
        return 2
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else public_problems.FOLDER
    part = sys.argv[3] if len(sys.argv) > 3 else ""
    solve(full_load(1, 12), time_limit_s=60)
    certify(full_load(3001, 30), Plan(status="infeasible"), time_limit_s=30)
    rows = []
    for row in row_of[sys.argv[1]](folder, part):
        rows.append(row)
        print(json.dumps({key: round(v, 5) if isinstance(v, float) else v for key, v in row.items()}), flush=True)
    print(*summary(rows), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
