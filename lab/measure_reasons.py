"""Measure reasons, repairs and what if over a folder of problems: `python -m lab.measure_reasons WHAT FOLDER`.

WHAT is `reasons`, `cores`, `repairs` or `what-if`. Times are CPU seconds of this process, the solve left out; every
problem is planned first, and asked about at shares of its peak.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from memplan import Plan, Problem, read_problem, solve
from memplan.capabilities.explain.reasons.explain import explain
from memplan.capabilities.explain.reasons.options import ExplainOptions
from memplan.capabilities.explain.repairs.repair import RepairOptions, repairs
from memplan.capabilities.explain.what_if.what_if import WhatIfOptions
from memplan.capabilities.explain.what_if.what_if import what_if as ask
from memplan.planner.errors import InputError

SHARES = (0.99, 0.8, 0.5)
MOST_BUFFERS = 4_000


def main(what: str, folder: str) -> None:
    """Print a line for each problem, and one for all."""
    rows = []
    for file, problem, plan in planned(Path(folder)):
        for row in MEASURES[what](problem, plan):
            rows.append(row)
            sys.stdout.write(" ".join(map(str, (file.name, len(problem.buffers), *row.values()))) + "\n")
            sys.stdout.flush()
    for name in rows[0] if rows else ():
        numbers = [row[name] for row in rows if isinstance(row[name], (int, float)) and row[name] is not None]
        if numbers:
            sys.stdout.write(
                f"{name}: {len(numbers)} rows, median {statistics.median(numbers):.6g}, most {max(numbers):.6g}" + "\n"
            )


def planned(folder: Path) -> Iterator[tuple[Path, Problem, Plan]]:
    """Yield each problem with one plan of it, no more than 4,000 buffers."""
    for file in sorted(folder.rglob("*.csv")):
        try:
            problem = sized(read_problem(file), None)
        except InputError:
            continue
        if 0 < len(problem.buffers) <= MOST_BUFFERS:
            plan = solve(problem, time_limit_s=3)
            if plan.peak:
                yield file, problem, plan


def sized(problem: Problem, size: int | None, **more: Any) -> Problem:
    """Return the problem with another size of its only pool."""
    fields = {name: getattr(problem, name) for name in Problem.model_fields}
    return Problem.model_validate(fields | {"pools": [dict(problem.pools[0]) | {"size": size} | more]})


def reasons(problem: Problem, plan: Plan) -> Iterator[dict[str, Any]]:
    """Measure the reasons at three shares of the peak."""
    for share in SHARES:
        small = sized(problem, int((plan.peak or 0) * share))
        yield {"share": share} | reason(small)


def cores(problem: Problem, plan: Plan) -> Iterator[dict[str, Any]]:
    """Measure reasons that are no live sets: a reserved range in the middle, and a tenth of all pinned at random."""
    peak = plan.peak or 0
    yield {"case": "reserved"} | reason(sized(problem, peak, reserved=[(peak // 2, max(1, peak // 64))]))
    rng = random.Random(1)
    rows = [row.model_dump(exclude_defaults=True) for row in problem.buffers]
    for row in rows:
        if rng.random() < 0.1 and row["size"] <= peak:
            step = row.get("alignment", 1)
            row["offset"] = rng.randrange(0, peak - row["size"] + 1) // step * step
    yield {"case": "pinned"} | reason(Problem.model_validate({"buffers": rows, "pools": [{"size": peak}]}))


def reason(problem: Problem) -> dict[str, Any]:
    """Measure one reason."""
    plan = solve(problem, time_limit_s=3, accept="fit")
    first: list[float] = []
    options = ExplainOptions(with_enough=False, on_stage=lambda *_: first.append(time.process_time()))
    began = time.process_time()
    found = explain(problem, plan=plan, options=options)
    spent = time.process_time() - began
    if found is None or found.kind is None:
        return {"status": plan.status, "ms": None, "first_ms": None, "members": None, "open": None, "calls": None}
    return {
        "status": found.kind,
        "ms": round(1000 * spent, 2),
        "first_ms": round(1000 * (first[0] - began), 2) if first else None,
        "members": len(found.buffers),
        "open": found.open_questions,
        "calls": found.calls,
    }


def mended(problem: Problem, plan: Plan) -> Iterator[dict[str, Any]]:
    """Measure repairs at 95 % of the peak."""
    small = sized(problem, (plan.peak or 0) * 95 // 100)
    began = time.process_time()
    found = repairs(small, options=RepairOptions())
    spent = round(time.process_time() - began, 3)
    yield {
        "status": found.status,
        "s": spent,
        "found": len(found.repairs),
        "fewest": found.fewest or 0,
        "proved": int(found.proved),
        "tried": found.tried,
        "open": found.open_questions,
    }


def worth(problem: Problem, plan: Plan) -> Iterator[dict[str, Any]]:
    """Measure what if, without and with growth, and compare ten buffers with solves of changed problems."""
    began = time.process_time()
    ask(problem, plan=plan, options=WhatIfOptions(60, growth=False, rules=False, pools=False))
    dropped = time.process_time() - began
    began = time.process_time()
    found = ask(problem, plan=plan, options=WhatIfOptions(60, rules=False, pools=False))
    both = time.process_time() - began
    sample = random.Random(1).sample(list(found.buffers), min(10, len(found.buffers)))
    wrong = sum(not agrees(problem, plan, row) for row in sample)
    yield {
        "status": plan.status,
        "dropped_s": round(dropped, 3),
        "growth_s": round(max(0.0, both - dropped), 3),
        "per_200_dropped_s": round(200 * dropped / max(1, len(found.buffers)), 3),
        "per_200_growth_s": round(200 * max(0.0, both - dropped) / max(1, len(found.buffers)), 3),
        "exact": sum(row.exact for row in found.buffers),
        "not_exact": sum(not row.exact for row in found.buffers),
        "compared": len(sample),
        "wrong": wrong,
    }


def agrees(problem: Problem, plan: Plan, row: Any) -> bool:
    """Say whether solves of changed problems agree with the worth of a buffer; what stays open denies nothing."""
    peak = plan.peak or 0
    rows = [each.model_dump(exclude_defaults=True) for each in problem.buffers]
    rest = Problem.model_validate({"buffers": [each for each in rows if each["id"] != row.id]})
    without = solve(rest, time_limit_s=2)
    low, high = row.gain_if_dropped
    is_right = without.peak is None or (low <= peak - (without.lower_bound or 0) and peak - without.peak <= high)
    for more, fits in ((row.may_grow, True), (row.may_grow_at_most + 1, False)):
        grown = [each | {"size": each["size"] + more} if each["id"] == row.id else each for each in rows]
        status = solve(
            Problem.model_validate({"buffers": grown, "pools": [{"size": peak}]}), time_limit_s=2, accept="fit"
        ).status
        is_right &= status == "unknown" or (status in ("optimal", "feasible")) == fits
    return bool(is_right)


MEASURES: dict[str, Callable[[Problem, Plan], Iterator[dict[str, Any]]]] = {
    "reasons": reasons,
    "cores": cores,
    "repairs": mended,
    "what-if": worth,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
