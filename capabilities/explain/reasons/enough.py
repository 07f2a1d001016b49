"""The least size of one pool, known so far, with which a problem fits."""

from __future__ import annotations

from memplan.capabilities.explain.questions.parts import remade
from memplan.planner.model.plan import Enough
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control

_LEAST_S = 0.05


def enough(problem: Problem, pool: str | None, least: int, control: Control) -> Enough | None:
    """Return a size of the pool that would do, the others as they are; None where none was found.

    No size below `least` would, as the caller knows.
    The pool is put last and its size taken away: of the pools, the last one's end is what a plan makes least first.
    """
    if pool is None:
        return None
    mine = problem.pools[problem.pool_index[pool]]
    # The objective `peak` makes the last pool small, so this one goes last.
    others = tuple(row for row in problem.pools if row.name != pool)
    open_ended = mine.model_copy(update={"size": None})
    larger = remade(problem, {"pools": (*others, open_ended), "objective": "peak"})
    limit_s, cancelled = max(_LEAST_S, control.left_s), Control(cancelled=control.cancelled)
    plan = solve(larger, time_limit_s=limit_s, deterministic=control.counts_work, control=cancelled)
    if plan.status not in ("optimal", "feasible"):
        return None
    use = plan.pools[-1]
    return Enough(pool=pool, size=use.used or 0, proved=(use.used or 0) <= max(least, use.lower_bound or 0))
