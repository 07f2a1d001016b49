"""Brute force for pools of equal use: the minimum use over all offsets of up to five buffers."""

import memplan
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Placement
from tests.support import oracle
from tests.support.families import families

_MOST_TRIES = 1_500


class TooManyError(Exception):
    """Raised if there are too many plans to enumerate."""


def min_use(problem: Problem) -> int | None:
    """Return the minimum common end of all pools under `same_offset`; None if nothing fits.

    Raises TooManyError if there are too many plans.
    """
    rows = list(problem.buffers)
    tie = {row.id: row.id for row in rows}
    for names in problem.same_offset:
        for name in names:
            tie[name] = names[0]
    reserved = max((low + n for pool in problem.pools for low, n in pool.reserved), default=0)
    most = reserved + sum(row.size for row in rows) + 8 * len(rows) + max((row.offset or 0 for row in rows), default=0)
    best = most + 1
    places: dict[int | str, Placement] = {}
    home: dict[int | str, str] = {}
    for family in families(problem):  # each family is in one pool
        (home_of_all,) = {pool.name for pool in problem.pools if family.may_live_in(pool)} or {problem.pools[0].name}
        home |= dict.fromkeys(family.ids, home_of_all)

    tries = 0

    def go(k: int, end: int) -> None:
        nonlocal best, tries
        if k == len(rows):
            best = min(best, end)
            return
        row = rows[k]
        pool = home[row.id]
        fixed = next((at.offset for name, at in places.items() if tie[name] == tie[row.id]), None)
        for offset in range(most) if fixed is None else (fixed,):
            if max(end, offset + row.size if row.size else 0) >= best:
                break
            if (tries := tries + 1) > _MOST_TRIES:
                raise TooManyError
            places[row.id] = Placement(id=row.id, pool=pool, offset=offset)
            if not any(not line.startswith("missing") for line in oracle.check(problem, list(places.values()))):
                go(k + 1, max(end, offset + row.size if row.size else 0))
            del places[row.id]

    go(0, 0)
    return best if best <= most else None


def faults_of_plan(problem: Problem, plan: Plan) -> list[str]:
    """Return a line for each false statement of a plan for pools of equal use."""
    said = memplan.verify(problem, plan).violations if plan.peak is not None else ()
    found = [violation.message for violation in said]
    if problem.objective != "peak":
        return found
    try:
        least = min_use(problem)
    except TooManyError:
        return found
    used = max((use.used or 0 for use in plan.pools), default=0)
    if plan.status == "infeasible" and least is not None:
        found.append(f"infeasible, where {least} is enough")
    if plan.status == "optimal" and used != least:
        found.append(f"optimal with {used}, where {least} is the least")
    bounds = [use.lower_bound for use in plan.pools if use.lower_bound is not None]
    if least is not None and any(bound > least for bound in bounds):
        found.append(f"bounds {bounds}, where {least} is the least")
    return found
