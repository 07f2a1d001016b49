"""Profiles of several pools: two searches, the second with no more of the last pool than the first one says.

For `balanced`, the first search finds the least peak of the last pool. For `speed`, it says how much of it is fair:
what filling the pools in their order takes, the largest buffers first, as Cadence's planners do. The second search
looks for the least cost. For `size` there is the first search only.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace

from memplan.planner.errors import OptionError
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.plan import Plan, PoolUse
from memplan.planner.model.problem import Problem, Profile, with_profile
from memplan.solvers.portfolio.one_search import Solve
from memplan.solvers.portfolio.options import SolveControl, SolveOptions
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.search.result import SolveResult
from memplan.solvers.search.to_plan import gap_of

_IN_ORDER = (
    "reference:cadence-greedy-by-size-with-hierarchy",
    "reference:cadence-position-based-greedy-with-hierarchy",
)
_FILLED_AT_MOST = 2000
"""The most buffers that Cadence's planners, which compare every two of them, get to place."""


@dataclass(frozen=True, eq=False)
class ProfileSearch:
    """One search of a profile: a problem, options, a plan to start from, and its part of the time that is left."""

    problem: Problem
    options: SolveOptions
    start: Plan | None = None
    share: float = 1.0


Steps = Generator[ProfileSearch, SolveResult, SolveResult]


def solve_profile(problem: Problem, options: SolveOptions, control: SolveControl, profile: Profile) -> SolveResult:
    """Solve as a profile says, in the time of one solve; raises OptionError."""
    is_free = options.deterministic and control.deadline is None
    deadline = None if is_free else control.deadline or Deadline.after(options.time_limit_s)
    began = time.monotonic()
    steps = steps_of(problem, options, profile, control.start)
    step = next(steps)
    while True:
        until = None if deadline is None else deadline.within(max(0.0, step.share * deadline.left_s))
        steered = replace(control, deadline=until, start=step.start)
        try:
            try:
                found = Solve(step.problem, step.options, steered).finish()
            except OptionError as error:
                step = steps.throw(error)
            else:
                step = steps.send(found)
        except StopIteration as end:
            result: SolveResult = end.value
            return replace(result, elapsed_s=time.monotonic() - began)


def steps_of(problem: Problem, options: SolveOptions, profile: Profile, start: Plan | None = None) -> Steps:
    """Yield the searches of a profile, each of which is to be answered by its result; return the profile's result."""
    options = options.model_copy(update={"profile": None})
    if profile == "speed":
        return (yield from _speed(problem, options))
    half = options.model_copy(update={"time_limit_s": options.time_limit_s / 2}) if options.deterministic else options
    least = with_profile(problem, "size")
    is_last = profile == "size" or options.accept == "fit" or not _has_choice(problem)
    # Nothing but the last pool counts in the first of two searches.
    wanted = options if is_last else half.model_copy(update={"accept": options.accept or 0.0})
    first = yield ProfileSearch(least, wanted, start, 1.0 if is_last else 0.5)
    if is_last or first.plan.status == "infeasible":
        return _of_one_search(problem, profile, first)
    plan = first.plan
    second = yield ProfileSearch(_capped(problem, profile, plan), half, plan if plan.placements else start)
    return _of_two_searches(problem, profile, first, second)


def _speed(problem: Problem, options: SolveOptions) -> Steps:
    """Fill the pools in their order for a start, then look for the least cost with no more of the last pool."""
    filled: list[Plan] = []
    for step in _fillings(problem, options):
        try:
            found = yield step
        except OptionError:  # which a planner raises that cannot express the problem
            continue
        if found.plan.status == "infeasible" or options.accept == "fit":
            return _of_one_search(problem, "speed", found)
        filled += [found.plan] if found.plan.placements else []
    best = min(filled, key=lambda plan: (plan.cost or 0.0, plan.pools[-1].used or 0), default=None)
    second = yield ProfileSearch(_capped(problem, "speed", best), options, best)
    return _of_two_searches(problem, "speed", None, second)


def _fillings(problem: Problem, options: SolveOptions) -> Iterator[ProfileSearch]:
    """Yield searches that only fill pools in their order: Cadence's planners, or the quick orders of large problems."""
    wanted = with_profile(problem, "speed")
    usual = options.model_copy(update={"accept": None})
    if len(problem.buffers) <= _FILLED_AT_MOST and options.accept != "fit":
        for name in _IN_ORDER:
            yield ProfileSearch(wanted, usual.model_copy(update={"solver": name}), share=0.25)
    else:
        yield ProfileSearch(wanted, usual.model_copy(update={"accept": "fit"}), share=0.25)


def _has_choice(problem: Problem) -> bool:
    """Return True if there may be a buffer that may lie in more than one pool."""
    table = problem.buffers
    return bool(table.forbidden) or any(
        len(table.pool_choices[choice]) != 1 for choice in set(table.pool_choice.tolist())
    )


def _capped(problem: Problem, profile: Profile, plan: Plan | None) -> Problem:
    """Return the problem of the least cost, in which the last pool ends where a plan does."""
    wanted = with_profile(problem, profile)
    if plan is None or not plan.placements:
        return wanted
    last = wanted.pools[-1].model_copy(update={"size": plan.pools[-1].used})
    return wanted.model_copy(update={"pools": (*wanted.pools[:-1], last)})


def _of_one_search(problem: Problem, profile: Profile, found: SolveResult) -> SolveResult:
    """Return the result of one search as that of a profile: what it says of costs counts for `speed` only."""
    named = {"profile": profile, "problem_hash": problem_hash(problem)}
    return replace(found, plan=found.plan.model_copy(update=named), assignment=None, bound=None)


def _of_two_searches(problem: Problem, profile: Profile, first: SolveResult | None, second: SolveResult) -> SolveResult:
    """Return the result of two searches: the last pool's bound from the first, costs and theirs from the second."""
    plan = second.plan
    if not plan.placements:
        return _of_one_search(problem, profile, second if first is None else first)
    ended = None if first is None or first.stop_reason in ("proved", "accepted") else first.stop_reason
    least = _least_of_last(plan, first)
    is_cheapest = plan.cost is not None and plan.cost == plan.cost_lower_bound
    is_least = profile == "speed" or plan.pools[-1].used == least
    is_best = plan.status == "optimal" and is_least
    bounds = [row.lower_bound if is_cheapest and is_least else None for row in plan.pools[:-1]] + [least]
    pools = tuple(
        PoolUse.model_construct(name=pool.name, used=row.used, lower_bound=bound, size=pool.size)
        for pool, row, bound in zip(problem.pools, plan.pools, bounds, strict=True)
    )
    ends = [(row.used or 0, row.lower_bound) for row in reversed(pools)]
    cost = [(plan.cost or 0.0, plan.cost_lower_bound)]
    goals = [*ends[:1], *cost, *ends[1:]] if profile == "balanced" else [*cost, *ends]
    total = None if first is None else first.plan.lower_bound
    said = {
        "status": "optimal" if is_best else "feasible",
        "lower_bound": plan.peak if is_best else None if total is None else min(total, plan.peak or 0),
        "gap": 0.0 if is_best else gap_of(goals),
        "pools": pools,
        "profile": profile,
        "proof": plan.proof if is_best else None,
        "problem_hash": problem_hash(problem),
    }
    has_failures = second.has_failures or (first is not None and first.has_failures)
    return SolveResult(plan.model_copy(update=said), stop_reason=ended or second.stop_reason, has_failures=has_failures)


def _least_of_last(plan: Plan, first: SolveResult | None) -> int | None:
    """Return the least peak of the last pool that is known; for `speed`, where no plan costs less."""
    if first is not None:
        return first.plan.pools[-1].lower_bound
    return plan.pools[-1].lower_bound if plan.cost == plan.cost_lower_bound else None
