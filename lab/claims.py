"""What is claimed, against what is so: `python -m lab.claims ROW [COUNT [SEED]]`.

ROW is one of these. `repairs`: the repairs of drawn problems with lifetimes that touch, holes, pins and alignments:
each is made by a reader of changes that is not the product's, and its plan is checked and planned anew. `pools`:
optimal plans of drawn problems of several pools, by all profiles: their certificates claim what the plans do, by
enumeration, or the reason why there is none is true. `real-pools`: the same of real problems, cut into two pools, from
FOLDER in place of COUNT, without enumeration. `forged`: each field of plans of all kinds is changed, and plans above
the best are said to be optimal for all kinds of reasons; `memplan verify` must say so, or name it as unchecked, or it
must be true. Prints a line for each fault, and counts; the exit status is 1 where there is one.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lab.certificate_agreement import PROFILES, is_accepted
from lab.checkers_agreement import is_true
from lab.trust_rows import problems
from memplan.capabilities.explain.reasons.explain import explain
from memplan.capabilities.explain.repairs.repair import RepairOptions, repairs
from memplan.capabilities.explain.repairs.values import Repair, RepairChange
from memplan.capabilities.plan.replanning.replan import replan
from memplan.capabilities.verify.verify import verify
from memplan.planner.errors import InputError
from memplan.planner.formats import FORMATS
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.certificates.certify import certify
from memplan.solvers.portfolio.solve import solve
from tests.support import oracle, public_problems
from tests.support.best_claims import best_goals, is_claim_of
from tests.support.random_problems import random_problem
from tests.support.tight_problems import full_load

_LEFT_OUT = {"may_share": "may_share", "bank": "bank", "together": "together", "relative": "relative"}
_SEVERAL = ("alignment", "conflicts", "cost", "holes", "reserved", "")
Row = dict[str, Any]


def lacking(seed: int) -> Problem | None:
    """Return a drawn problem of three to five buffers that lacks a few bytes, None where it fits."""
    rng = random.Random(seed)
    rows: list[Row] = []
    for k in range(rng.randint(3, 5)):
        cuts = sorted(rng.sample(range(9), 4))
        row: Row = {"id": f"b{k}", "size": rng.randint(1, 6)}
        kind = rng.randrange(4)
        if kind == 0:
            row |= {"start": cuts[0], "end": cuts[-1]}
        elif kind == 1:
            row["lifetimes"] = [[cuts[0], cuts[1]], [cuts[1], cuts[2]], [cuts[2], cuts[3]]]
        elif kind == 2:
            row["lifetimes"] = [[cuts[0], cuts[1]], [cuts[2], cuts[3]]]
        else:
            row["lifetimes"] = [[cuts[1], cuts[3]], [cuts[0], cuts[1]]]
        if rng.random() < 0.2:
            row["offset"] = rng.randrange(5)
        if rng.random() < 0.2:
            row["alignment"] = rng.choice([2, 4, 32])
        rows.append(row)
    size = max(row["size"] for row in rows) + rng.randrange(5)
    problem = Problem.model_validate({"buffers": rows, "pools": [{"name": "p", "size": size}]})
    return problem if oracle.best_score(problem) is None else None


def _span(row: Row) -> tuple[int, int]:
    lives = row.get("lifetimes") or [[row["start"], row["end"]]]
    return min(a for a, _ in lives), max(b for _, b in lives)


def _within(row: Row, start: int, end: int) -> Row:
    """Return a row that is alive only in these steps, as far as it was."""
    lives = row.get("lifetimes") or [[row["start"], row["end"]]]
    left = [[max(a, start), min(b, end)] for a, b in lives if max(a, start) < min(b, end)]
    return {key: v for key, v in row.items() if key not in ("start", "end", "lifetimes")} | {"lifetimes": left}


def repaired(problem: Problem, changes: tuple[RepairChange, ...]) -> Problem:
    """Return a problem after changes, by what RepairChange says that they are."""
    rows = {row["id"]: row for row in json.loads(FORMATS["json"].write_problem(problem))["buffers"]}
    pairs: list[list[Any]] = []
    for change in changes:
        name = change.buffers[0]
        row, steps = rows.get(name, {}), change.steps or 0
        if change.kind == "in-place":
            pairs.append([*change.buffers])
        elif change.kind == "unpin":
            rows[name] = {key: v for key, v in row.items() if key != "offset"}
        elif change.kind == "alignment":
            rows[name] = row | {"alignment": change.value}
        elif change.kind == "earlier-end":
            rows[name] = _within(row, _span(row)[0], _span(row)[1] - steps)
        elif change.kind == "later-start":
            rows[name] = _within(row, _span(row)[0] + steps, _span(row)[1])
        elif change.kind == "pool":
            del rows[name]
        else:
            start, end = _span(row)
            del rows[name]
            for word, from_, to in (("out", start, start + 1), ("in", end - 1, end)):
                rows[f"{name}#{word}"] = _within(row, from_, to) | {"id": f"{name}#{word}"}
    pools = [pool.model_dump(exclude_defaults=True) for pool in problem.pools]
    fields = {"buffers": [*rows.values()], "pools": pools, "may_share": pairs, "objective": "fit"}
    return Problem.model_validate(fields)


def wrong_repair(problem: Problem, repair: Repair) -> str | None:
    """Return what is wrong with a repair, None where it is right."""
    after, plan = repaired(problem, repair.changes), repair.plan
    if plan is None:
        return "it has no plan"
    if found := oracle.check(after, list(plan.placements)):
        return f"its plan is none: {found[0]}"
    at = {place.id: place.offset for place in plan.placements}
    for change in repair.changes:
        if change.kind == "in-place" and at[change.buffers[0]] != at[change.buffers[1]]:
            return "it is not in place"
    size = {row.id: row.size for row in after.buffers}
    end = max((at[name] + size[name] for name in at), default=0)
    if repair.peak_after != end:
        return f"peak_after is {repair.peak_after}, its plan ends at {end}"
    if not repair.verified or end > (after.pools[0].size or 0):
        return "it ends above the pool"
    again = solve(after, time_limit_s=20)
    return None if again.status in ("optimal", "feasible") else f"solved again: {again.status}"


def repair_rows(count: int, first: int, tally: Counter[str]) -> Iterator[str]:
    """Yield what is wrong with so many repairs of drawn problems."""
    seed = first
    while tally["repairs"] < count:
        seed += 1
        problem = lacking(seed)
        if problem is None:
            continue
        options = RepairOptions(time_limit_s=60, wanted=3, most_changes=2, with_plans=True, call_limit_s=20)
        found = repairs(problem, options=options)
        tally[f"{found.status}{', proved' * found.proved}"] += 1
        for repair in found.repairs:
            tally["repairs"] += 1
            tally.update(change.kind for change in repair.changes)
            if wrong := wrong_repair(problem, repair):
                yield f"seed {seed}: {[*repair.changes]}: {wrong}"


def goals_of(problem: Problem, plan: Plan) -> tuple[float | None, list[int]]:
    """Return the cost that a plan is compared by, if any, and what it uses of each pool."""
    return plan.cost, [pool.used or 0 for pool in plan.pools]


def wrong_certificate(problem: Problem, plan: Plan, tally: Counter[str], *, is_small: bool) -> str | None:
    """Return what is wrong with the certificate of an optimal plan, or the reason why there is none."""
    certificate = certify(problem, plan, time_limit_s=20)
    word = f"{plan.profile}, {plan.status}: {certificate.kind}"
    tally[f"{word}{', in part' * (certificate.left_open is not None)}"] += 1
    if certificate.kind == "none":
        reason = certificate.reason or ""
        tally[f"reason: {reason.split(':')[0]}"] += 1
        data = json.loads(FORMATS["json"].write_problem(problem))
        rules = {key for key in _LEFT_OUT if data.get(key) or any(key in row for row in data["buffers"])}
        named = reason.partition(": ")[2].split(", ")
        if "leave out" in reason:
            return None if rules and named != ["none"] else f"a reason that is none: {reason}"
        return None if "in time" in reason or "multipliers" in reason else f"a reason to look at: {reason}"
    lines, text = certificate.text.splitlines(), FORMATS["json"].write_problem(problem).decode()
    if not is_accepted(text, lines):
        return f"{lines[2]} is refused"
    if is_small and not is_true(problem, lines[2]):
        return f"{lines[2]} is false by enumeration"
    if is_small and not is_claim_of(lines[2], best_goals(problem, plan.profile)):
        return f"{lines[2]} is not the best by enumeration"
    said, used = lines[2].split(), [str(pool.used or 0) for pool in plan.pools]
    ends = said[1:] if said[0] == "used" else said[3:]
    if plan.status == "optimal" and any(end not in ("-", mine) for end, mine in zip(ends, used, strict=False)):
        return f"{lines[2]} is not what the plan uses: {used}"
    if plan.status == "optimal" and certificate.left_open is None and ("-" in ends or (ends and len(ends) < len(used))):
        return f"{lines[2]} leaves something open, which is not said"
    checked = {claim.claim: claim.by for claim in verify(problem, plan, certificate.text).claims}
    if certificate.left_open is None and checked.get("status") != "certificate":
        return f"verify does not take {lines[2]} for the status: {checked}"
    return None


def pool_rows(count: int, first: int, tally: Counter[str]) -> Iterator[str]:
    """Yield what is wrong with certificates of drawn problems of several pools."""
    for seed in range(first, first + count):
        feature = _SEVERAL[seed % len(_SEVERAL)]
        problem = random_problem(
            seed, 3 + seed % 3, frozenset({"pools", feature} - {""}), 12 if seed % 7 == 0 else None
        )
        plan = solve(problem, time_limit_s=10, profile=PROFILES[seed // 7 % len(PROFILES)])
        if plan.status not in ("optimal", "infeasible"):
            tally[plan.status] += 1
        elif wrong := wrong_certificate(problem, plan, tally, is_small=True):
            yield f"seed {seed}: {wrong}"


def real_pool_rows(folder: Path, tally: Counter[str]) -> Iterator[str]:
    """Yield what is wrong with certificates of real problems, in a fast pool of a quarter or half, and a slow one."""
    for name, problem in problems(folder, ""):
        peak = solve(problem, time_limit_s=10).peak or 0
        cuts = [problem] if len(problem.pools) > 1 else []
        for share in (25, 50) if not cuts and peak else ():
            pools = [{"name": "fast", "size": peak * share // 100, "cost": 1}, {"name": "slow", "cost": 4}]
            cuts.append(Problem.model_validate({"buffers": list(problem.buffers), "pools": pools}))
        for k, cut in enumerate(cuts):
            for profile in ("balanced", "speed"):
                plan = solve(cut, time_limit_s=10, profile=profile)
                tally["problems"] += 1
                if plan.status != "optimal":
                    tally[f"{profile}, {plan.status}"] += 1
                elif wrong := wrong_certificate(cut, plan, tally, is_small=False):
                    yield f"{name} {k} {profile}: {wrong}"


def plans_to_forge() -> Iterator[tuple[str, Problem, Plan, str | None]]:
    """Yield plans of all kinds, with a certificate where there is one and without."""
    rows = [{"id": "a", "size": 6, "start": 0, "end": 4}, {"id": "b", "size": 4, "start": 1, "end": 5, "alignment": 4}]
    rows.append({"id": "c", "size": 5, "start": 4, "end": 8})
    pools = [{"name": "fast", "size": 7, "cost": 1}, {"name": "slow", "cost": 3}]
    drawn = {
        "live set": Problem.model_validate({"buffers": rows, "pools": [{"name": "p", "size": 64}]}),
        "search": full_load(7, 9, 24),
        "no capacity": full_load(8, 8),
        "two pools": Problem.model_validate({"buffers": rows, "pools": pools}),
        "cost": Problem.model_validate({"buffers": rows, "pools": pools, "objective": "cost"}),
        "too small": Problem.model_validate({"buffers": rows, "pools": [{"name": "p", "size": 9}]}),
    }
    for name, problem in drawn.items():
        plan = solve(problem, time_limit_s=10)
        text = certify(problem, plan, time_limit_s=10).text
        yield name, problem, plan, None
        if text:
            yield f"{name}, certified", problem, plan, text
    yield from _plans_of_other_kinds(drawn["two pools"], drawn["search"])


def _plans_of_other_kinds(two: Problem, one: Problem) -> Iterator[tuple[str, Problem, Plan, str | None]]:
    """Yield plans by what else can be wanted, those of several pools with a certificate that is not about that."""
    size, balanced = (solve(two, time_limit_s=10, profile=profile) for profile in ("size", "balanced"))
    texts = [certify(two, plan, time_limit_s=10).text for plan in (size, balanced)]
    speed = solve(two, time_limit_s=10, profile="speed")
    yield "speed, certified", two, speed, certify(two, speed, time_limit_s=10).text
    for k, text in enumerate(texts):
        yield f"speed, certificate {k}", two, speed, text
        yield f"weights, certificate {k}", two, solve(two, minimise={"fast": 3, "slow": 1}), text
        yield f"slowdown, certificate {k}", two, solve(two, max_slowdown=5), text
    yield "kept places", one, replan(one, solve(one, solver="greedy")), None
    low = Problem.model_validate({"buffers": list(one.buffers), "pools": [{"name": "p", "size": 20}]})
    plan = solve(low, time_limit_s=10)
    yield "reason", low, plan.model_copy(update={"explanation": explain(low, plan=plan)}), None
    rows = [{"id": k, "size": 4, "start": 0, "end": 3} for k in "abcd"]
    rows[1] |= {"relative": {"to": "a", "offset": 8}}
    bank = [{"buffers": ["c", "d"], "weight": 2}]
    fields = {"buffers": rows, "may_share": [["c", "d"]], "bank": bank, "pools": [{"name": "p", "bank_size": 8}]}
    ties = Problem.model_validate(fields)
    yield "ties", ties, solve(ties, time_limit_s=10), None
    yield "nothing", Problem.model_validate({"buffers": []}), solve(Problem.model_validate({"buffers": []})), None


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _leaves(inner, (*path, key))
    elif isinstance(value, list) and value:
        for k, inner in enumerate(value):
            yield from _leaves(inner, (*path, k))
    else:
        yield path


_WORDS = {
    "status": ("optimal", "feasible", "infeasible", "unknown"),
    "kind": ("live-set", "clique", "search", "engines", "pinned", "largest-buffer", "empty", "capacity"),
    "profile": ("size", "speed", "balanced"),
    "stop_reason": ("optimal", "time-limit"),
}


def _others(path: tuple[Any, ...], value: Any) -> list[Any]:
    """Return values that a field could have in place of its own."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, max(0, value - 1), 0, 2 * value + 3, None]
    if isinstance(value, float):
        return [value + 1, value / 2, None]
    if isinstance(value, str):
        return [*(word for word in _WORDS.get(str(path[-1]), ("x", "b")) if word != value), None]
    return [0, 1, 10**6, 0.5, True, "x", ["a"], [["a", "b"]]]


def _claim(path: tuple[Any, ...]) -> str:
    """Return the name by which `verify` knows a field."""
    if "certificate" in path:
        return "certificate"
    if path[0] == "pools":
        return f"pools[{path[1]}].{path[2]}"
    if path == ("proof", "by"):
        return "proof.by"
    return f"explanation.{path[1]}" if path[0] == "explanation" and len(path) > 1 else str(path[0])


def _is_alive(problem: Problem, names: Any, time: object) -> bool:
    lives = {row.id: row.lifetimes or ((row.start, row.end),) for row in problem.buffers}
    return isinstance(time, int) and all(any(a <= time < b for a, b in lives[name] if a is not None) for name in names)  # type: ignore[operator]


def _is_still_true(problem: Problem, path: tuple[Any, ...], other: Any, data: Row, least: float) -> bool:
    """Say whether a value that was put in place of another is so, too."""
    if path[-1] in ("lower_bound", "cost_lower_bound"):
        return isinstance(other, int) and other <= (least if path[-1] == "lower_bound" else 0)
    if path == ("profile",):
        best = best_goals(problem, other)
        used = [row["used"] for row in data["pools"]]
        return best is not None and best[0] in (None, data["cost"]) and best[1] == used
    part = data.get(path[0]) or {}
    if path[:2] == ("explanation", "buffers"):
        named = set(part["buffers"])
        load = sum(row.size for row in problem.buffers if row.id in named)
        return _is_alive(problem, named, part["time"]) and load > (problem.pools[0].size or 0)
    # What is alive at a time conflicts pairwise.
    if path == ("proof", "kind") and other == "clique" and (part["kind"] == "live-set" or not part["buffers"]):
        return True
    return path[-1] == "time" and _is_alive(problem, part["buffers"], other)


def above_the_best(problem: Problem, plan: Plan) -> Iterator[Plan]:
    """Yield plans of one pool that are said to be optimal, and lie higher than they need."""
    data = json.loads(plan.model_dump_json())
    ids = [row["id"] for row in data["placements"]]
    for row in data["placements"]:
        row["offset"] += 64
    peak = data["peak"] + 64
    data |= {"peak": peak, "lower_bound": peak, "status": "optimal", "gap": 0.0, "cost": None, "cost_lower_bound": None}
    data["pools"][0] |= {"used": peak, "lower_bound": peak}
    for kind in ("live-set", "clique", "alignment", "pinned", "largest-buffer", "empty", "search", "engines"):
        for names in ([], ids, ids[:1], ids[:2], ids[::2]):
            for time_ in (None, 0, 1, 4):
                proof = {"kind": kind, "buffers": names, "time": time_}
                yield Plan.model_validate(data | {"proof": proof})
    yield Plan.model_validate(data | {"proof": None})


def forged_rows(tally: Counter[str]) -> Iterator[str]:
    """Yield what `verify` says nothing of, where a field of a plan is changed."""
    for name, problem, plan, text in plans_to_forge():
        data = json.loads(plan.model_dump_json())
        best = oracle.best_score(problem.model_copy(update={"objective": "peak"})) if len(problem.buffers) < 8 else None
        least = sum(best) if best is not None and len(problem.pools) == 1 else plan.peak or 0
        for higher in above_the_best(problem, plan) if len(problem.pools) == 1 and plan.peak else ():
            found = verify(problem, higher, text)
            by = {claim.claim: claim.by for claim in found.claims}
            tally["above the best, told" if not found.valid else "above the best, named as unchecked"] += 1
            if found.valid and (by["status"] or by["lower_bound"]):
                yield f"{name}: {higher.proof}: status is checked by the {by['status']}"
        for path in _leaves(data):
            *steps, last = path
            target: Any = data
            for step in steps:
                target = target[step]
            was = target[last]
            for other in _others(path, was):
                target[last] = other
                try:
                    changed = Plan.model_validate(data)
                except (InputError, ValueError):
                    tally["refused as no plan"] += 1
                    continue
                finally:
                    target[last] = was
                if changed == plan:
                    continue
                found = verify(problem, changed, text)
                claims = {claim.claim: claim.by for claim in found.claims}
                if not found.valid:
                    tally["told"] += 1
                elif path[0] in ("placements", "shared", "bank_clashes"):
                    tally["another plan, which is valid"] += 1
                elif _claim(path) not in claims:
                    # What says nothing, or less than before, need not be named.
                    tally["nothing is claimed" if other in (None, 0, False, "feasible", "unknown") else "silent"] += 1
                    if other not in (None, 0, False, "feasible", "unknown"):
                        yield f"{name}: {'.'.join(map(str, path))} = {other!r}: not a word"
                elif claims[_claim(path)] is None:
                    tally["named as unchecked"] += 1
                elif _is_still_true(problem, path, other, data, least):
                    tally["checked, and true"] += 1
                else:
                    yield f"{name}: {'.'.join(map(str, path))} = {other!r} (was {was!r}): {claims[_claim(path)]}"


def main() -> int:
    """Run a row."""
    words = sys.argv[1:]
    tally: Counter[str] = Counter()
    count, first = (
        (int(words[1]) if len(words) > 1 and words[1].isdecimal() else 500),
        int(words[2]) if len(words) > 2 else 0,
    )
    rows = {
        "repairs": lambda: repair_rows(count, first, tally),
        "pools": lambda: pool_rows(count, first, tally),
        "real-pools": lambda: real_pool_rows(Path(words[1]) if len(words) > 1 else public_problems.FOLDER, tally),
        "forged": lambda: forged_rows(tally),
    }
    if not words or words[0] not in rows:
        print(__doc__)
        return 2
    faults = 0
    for line in rows[words[0]]():
        faults += 1
        print(line, flush=True)
    print(*(f"{many:8} {kind}" for kind, many in sorted(tally.items())), sep="\n")
    print(f"{faults} faults, {time.process_time():.0f} s of CPU")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
