"""Compare the lowest offsets and peaks that `verify` reports with the verifier: `python -m lab.places 60 [SEED]`.

It draws problems with all constraint kinds, and loose plans for them. The lowest offset that `verify` reports for a
buffer must be the least offset that the verifier accepts with all other buffers fixed. For each pool, the largest end
and the live bytes with and without each buffer are recounted step by step. `tests/planner/verify/test_tie_rules.py`
runs some of the cases.
"""

import random
import sys
from collections import Counter
from collections.abc import Iterable, Iterator

from lab.support.cases import run_cases
from memplan import Plan, Problem, Verdict, solve
from memplan.planner.instance.audit import verify
from memplan.questions.verify.verify import verdict_on
from tests.support.families import families
from tests.support.tied_problems import draw_tied_problem

Offsets = dict[int | str, tuple[str, int]]
MOST = 12
"""The maximum number of buffers in a random problem."""
_RAISED = 30
_SOLVE_S = 0.3


def faults(seed: int, tally: Counter[str]) -> Iterator[str]:
    """Yield a line for each fault in the answer of `verify` about a loose plan of a random problem."""
    problem, plan = loose_plan(seed)
    if plan is None:
        return
    said = verdict_on(problem, plan)
    assert said.places is not None
    tally["buffers"] += len(problem.buffers)
    tally["could lie lower"] += sum(
        low < row.offset for low, row in zip(said.places.lowest, plan.placements, strict=True)
    )
    yield from differences(problem, plan, said)


def loose_plan(seed: int) -> tuple[Problem, Plan | None]:
    """Return (random problem, valid plan whose buffers are raised above their lowest offsets); the plan may be None."""
    rng = random.Random(seed)
    problem = draw_tied_problem(rng, MOST)
    best = solve(problem, time_limit_s=_SOLVE_S)
    if not len(best.placements):
        return problem, None
    rows: Offsets = {row.id: (row.pool, row.offset) for row in best.placements}
    for i in 2 * roots(problem):
        higher = move_buffer(problem, rows, i, rows[problem.buffers.ids[i]][1] + rng.randint(1, _RAISED))
        if not verify(problem, plan_of(higher)):
            rows = higher
    return problem, plan_of(rows)


def roots(problem: Problem) -> list[int]:
    return [i for i in range(len(problem.buffers)) if i not in problem.buffers.aliases]


def move_buffer(problem: Problem, rows: Offsets, i: int, offset: int) -> Offsets:
    """Return a copy of the placements in which buffer i and its aliases are moved to another offset in their pool."""
    ids = problem.buffers.ids
    pool, own = rows[ids[i]]
    inside = [j for j in range(len(ids)) if problem.roots.get(j, (j, 0))[0] == i]
    return rows | {ids[j]: (pool, rows[ids[j]][1] - own + offset) for j in inside}


def plan_of(rows: Offsets) -> Plan:
    """Return a plan with the given placements, which makes no claim about its peak or its optimality."""
    placements = [{"id": name, "pool": pool, "offset": offset} for name, (pool, offset) in rows.items()]
    return Plan.model_validate({"status": "feasible", "placements": placements})


def differences(problem: Problem, plan: Plan, said: Verdict) -> Iterator[str]:
    """Yield a line for each number in a verdict that the verifier or a recount refutes."""
    rows: Offsets = {row.id: (row.pool, row.offset) for row in plan.placements}
    ids = problem.buffers.ids
    if said.places is None or not said.valid:
        yield "no places of a valid plan"
        return
    for i in roots(problem):
        own = rows[ids[i]][1]
        least = next(low for low in range(own + 1) if not verify(problem, plan_of(move_buffer(problem, rows, i, low))))
        if said.places.lowest[i] != least:
            yield f"buffer {ids[i]} at {own} could lie at {least}, got {said.places.lowest[i]}"
    for pool in said.pools:
        heads = [(family.members[0][1].id, family) for family in families(problem) if family.size > 0]
        here = {name: family for name, family in heads if rows[name][0] == pool.name}
        used = max((rows[name][1] + family.size for name, family in here.items()), default=0)
        if pool.used != used:
            yield f"pool {pool.name}: {used} are used, got {pool.used}"
        times = sorted({start for family in here.values() for start, _ in family.intervals})
        live = [{name for name, family in here.items() if lives(family.intervals, time)} for time in times]
        most = max((sum(here[name].size for name in names) for names in live), default=0)
        if pool.live != most:
            yield f"pool {pool.name}: {most} are alive, got {pool.live}"
        for gone, left in pool.without:
            most = max((sum(here[name].size for name in names - {gone}) for names in live), default=0)
            if left != most:
                yield f"pool {pool.name}: {most} are alive without {gone}, got {left}"


def lives(intervals: Iterable[tuple[int, int]], time: int) -> bool:
    """Return True if one of the half-open intervals contains the time."""
    return any(start <= time < end for start, end in intervals)


if __name__ == "__main__":
    sys.exit(run_cases("places", faults))
