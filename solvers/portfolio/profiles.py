"""Profiles for several pools. A profile determines in which order the ends of the pools and the cost are minimized.

For `balanced`, a first search minimizes the end of the last pool, and a second one the cost. For `size`, there is only
the first search. For `speed`, there is only the second one, without a limit on the last pool. It starts from the best
plan that fills the pools in order, the largest buffers first, as Cadence's planners do.
"""

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from memplan.planner.errors import OptionError
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.plan import Plan, PoolUse
from memplan.planner.model.problem import Problem, Profile, replace_profile
from memplan.planner.model.problem_fields import PEAK_THEN_COST
from memplan.solvers.portfolio.one_search import MOST_OF_FIRST, OneSearch, answer_time_s
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.trade_offs import OPEN_AT_MOST, WeightedEnds
from memplan.solvers.search.control import Control, Deadline, ignore_report
from memplan.solvers.search.result import SolveResult
from memplan.solvers.search.to_plan import gap_of

_IN_ORDER = (
    "reference:cadence-greedy-by-size-with-hierarchy",
    "reference:cadence-position-based-greedy-with-hierarchy",
)
_FILLED_AT_MOST = 2000
"""The limit of buffers for Cadence's planners, which compare all pairs."""


@dataclass(frozen=True, eq=False)
class ProfileSearch:
    """One of the searches of a profile: its problem, options and starting plan, and its share of the remaining time."""

    problem: Problem
    options: SolveOptions
    start: Plan | None = None
    share: float = 1.0


Steps = Generator[ProfileSearch, SolveResult, SolveResult]


def solve_profile(
    problem: Problem,
    options: SolveOptions,
    control: Control,
    profile: Profile,
    start: Plan | None = None,
    is_quick: bool = False,
    watch: Callable[[Callable[[], SolveResult | None]], object] = ignore_report,
) -> SolveResult:
    """Solve a problem by a profile within one time limit, and return the result.

    `watch` is called once per search, with a function that returns the search's best result so far. Raises OptionError
    for options that do not suit the problem.
    """
    deadline = control.deadline
    if not control.has_deadline and not options.deterministic:
        deadline = Deadline.from_limit(options.time_limit_s)
    began = time.monotonic()
    steps = steps_of(problem, options, profile, start)
    step = next(steps)
    while True:
        steered = replace(control, deadline=deadline.limit_to(max(0.0, step.share * deadline.remaining_s)))
        try:
            try:
                search = OneSearch(step.problem, step.options, steered, start=step.start, is_quick=is_quick)
                watch(search.interim_result)
                search_result = search.finish()
            except OptionError as error:
                step = steps.throw(error)
            else:
                # A further search of many buffers would end after the deadline; one of few gives a bound at once.
                is_late = len(problem.buffers) > MOST_OF_FIRST and deadline.remaining_s <= answer_time_s(problem)
                if search_result.plan.placements and is_late:
                    best = interim_result(problem, profile, search_result)
                    return replace(best, stop_reason="time_limit", elapsed_s=time.monotonic() - began)
                step = steps.send(search_result)
        except StopIteration as end:
            result: SolveResult = end.value
            return replace(result, elapsed_s=time.monotonic() - began)


def steps_of(problem: Problem, options: SolveOptions, profile: Profile, start: Plan | None = None) -> Steps:
    """Yield the searches of a profile one by one, get each result by `send`, and return the profile's result."""
    weights, percent = options.weights, options.max_slowdown
    options = options.model_copy(update={"profile": None})
    if weights is not None:
        return (yield from _search_weighted(problem, options, weights))
    if percent is not None:
        return (yield from _search_slowdown(problem, options, percent, start))
    if profile == "speed":
        return (yield from _search_speed(problem, options, start))
    half = options.model_copy(update={"time_limit_s": options.time_limit_s / 2}) if options.deterministic else options
    if problem.objective == PEAK_THEN_COST:
        return (yield from _search_balanced(problem, half, start))
    least = replace_profile(problem, "size")
    is_last = profile == "size" or not _has_costs(problem)
    is_whole = is_last or options.accept == "fit"
    # The first of two searches counts only the last pool, so it may end once that pool's end is proved least.
    wanted = options if is_whole else half.model_copy(update={"accept": options.accept or 0.0})
    first = yield ProfileSearch(least, wanted, start, 1.0 if is_whole else 0.5)
    if is_last or first.plan.status == "infeasible":
        return _profile_result(problem, profile, first)
    if is_whole:
        reason = "accepted" if first.stop_reason == "proved" else first.stop_reason
        return replace(interim_result(problem, profile, first), stop_reason=reason)
    plan = first.plan
    second = yield ProfileSearch(
        _limit_last_pool(problem, _pool_ends(problem, plan)[-1])
        if plan.placements
        else replace_profile(problem, "balanced"),
        half,
        plan if plan.placements else start,
    )
    if plan.placements and second.plan.placements and _last_end(second.plan) > _last_end(plan):
        return replace(interim_result(problem, profile, first), stop_reason="work_limit")
    return _balanced_result(problem, first, second)


def _last_end(plan: Plan) -> int:
    return plan.pools[-1].used or 0


def _search_speed(problem: Problem, options: SolveOptions, start: Plan | None) -> Steps:
    """Minimize the cost, starting from `start` or a better plan that fills the pools in order; yield each search."""
    filled: list[Plan] = []
    for step in _filling_searches(problem, options, start):
        try:
            step_result = yield step
        except OptionError:  # The planner refuses this problem, so try the next one.
            continue
        if step_result.plan.status == "infeasible" or options.accept == "fit":
            return _profile_result(problem, "speed", step_result)
        filled += [step_result.plan] if step_result.plan.placements else []
    best = min(filled, key=lambda plan: (plan.cost or 0.0, plan.pools[-1].used or 0), default=start)
    second = yield ProfileSearch(replace_profile(problem, "speed"), options, best)
    result, plan = _profile_result(problem, "speed", second), second.plan
    if plan.status != "optimal" or _ends_are_least(plan.pools):
        return result
    gap = gap_of((row.used or 0, row.lower_bound) for row in reversed(plan.pools))
    open_plan = result.plan.model_copy(update={"status": "feasible", "proof": None, "gap": gap})
    return replace(result, plan=open_plan, stop_reason="work_limit")


def _filling_searches(problem: Problem, options: SolveOptions, start: Plan | None) -> Iterator[ProfileSearch]:
    """Yield searches whose planners fill the pools in order: Cadence's planners, or greedy orders for large problems.

    If a starting plan is given, the first search only computes its cost.
    """
    wanted = replace_profile(problem, "speed")
    usual = options.model_copy(update={"accept": None})
    is_small = len(problem.buffers) <= _FILLED_AT_MOST and options.accept != "fit"
    if start is not None or not is_small:
        yield ProfileSearch(wanted, usual.model_copy(update={"accept": "fit"}), start, share=0.25)
    if is_small:
        for name in _IN_ORDER:
            yield ProfileSearch(wanted, usual.model_copy(update={"solver": name}), share=0.25)


def _search_weighted(problem: Problem, options: SolveOptions, weights: Mapping[str, float]) -> Steps:
    """Minimize the weighted sum of the pools' ends. Each search covers one region of possible ends."""
    search, target = WeightedEnds.from_problem(problem, weights), options.target()
    each = options if target is not None and target.gap is None else options.model_copy(update={"accept": None})
    last: SolveResult | None = None
    has_failures, limit_s = False, options.time_limit_s
    for box, low, high in search.boxes():
        if options.deterministic:
            limit_s /= 2
            each = each.model_copy(update={"time_limit_s": limit_s})
        last = yield ProfileSearch(box, each, search.best, share=0.5)
        search.take(last.plan, low, high)
        has_failures |= last.has_failures
        if last.stop_reason == "cancelled" or (target is not None and search.is_within(target.gap)):
            break
    assert last is not None, "all plans are in the first region"
    plan = search.plan(problem)
    if plan is None:
        return _profile_result(problem, "size", last)
    reason = "proved" if plan.status == "optimal" else last.stop_reason
    result = SolveResult(plan, stop_reason=reason, has_failures=has_failures)
    return _profile_result(problem, "size", result)


def _search_slowdown(problem: Problem, options: SolveOptions, percent: float, start: Plan | None) -> Steps:
    """Minimize the last pool's end at a cost within a percentage of the least cost, and then minimize the cost.

    A smaller last pool never reduces the cost, so bisection finds the end.
    """
    quick = options.model_copy(update={"time_limit_s": options.time_limit_s / 8}) if options.deterministic else options
    fast = yield from _search_speed(problem, quick, start)
    best = fast
    if not fast.plan.placements or fast.plan.cost is None or options.accept == "fit":
        return _profile_result(problem, "balanced", fast)
    limit = fast.plan.cost * (1 + percent / 100)
    only_last = quick.model_copy(update={"accept": options.accept or 0.0})
    least = yield ProfileSearch(replace_profile(problem, "size"), only_last, fast.plan, share=0.25)
    step, n_open = compile_problem(problem).unit, 0
    proved = low = least.plan.pools[-1].lower_bound or 0
    end = least.plan.pools[-1].used or 0
    while low < (high := best.plan.pools[-1].used or 0) and n_open < OPEN_AT_MOST:
        step_result = yield ProfileSearch(_limit_last_pool(problem, min(end, high - step)), quick, best.plan, share=0.5)
        tried, cost = min(end, high - step), step_result.plan.cost_lower_bound
        if step_result.plan.cost is not None and step_result.plan.cost <= limit:
            best = step_result
        else:
            is_proved = step_result.plan.status == "infeasible" or (cost is not None and cost > limit)
            n_open += not is_proved
            proved = tried + step if is_proved and n_open == 0 else proved
            low = tried + step
        end = low + ((best.plan.pools[-1].used or 0) - low) // (2 * step) * step
    pools = (*least.plan.pools[:-1], least.plan.pools[-1].model_copy(update={"lower_bound": proved}))
    first = replace(least, plan=least.plan.model_copy(update={"pools": pools}), stop_reason=best.stop_reason)
    result = _balanced_result(problem, first, best)
    changes: dict[str, object] = {"cost_limit": limit}
    # The limit on the cost comes from a cost that is not proved least, so the plan proves nothing.
    if fast.plan.cost != fast.plan.cost_lower_bound:
        changes |= {"status": "feasible", "proof": None, "lower_bound": None, "gap": None}
    return replace(result, plan=result.plan.model_copy(update=changes))


def _search_balanced(problem: Problem, options: SolveOptions, start: Plan | None) -> Steps:
    """Minimize the peak, and then the cost among plans that use no more bytes of any pool than the first plan."""
    first = yield ProfileSearch(problem.model_copy(update={"objective": "peak"}), options, start, 0.5)
    named: dict[str, object] = {"problem_hash": problem_hash(problem)}
    if not first.plan.placements:
        return replace(first, plan=first.plan.model_copy(update=named), assignment=None, bound=None)
    sizes = _pool_ends(problem, first.plan)
    limited = tuple(pool.model_copy(update={"size": size}) for pool, size in zip(problem.pools, sizes, strict=True))
    priced = problem.model_copy(update={"objective": "cost", "pools": limited})
    second = yield ProfileSearch(priced, options, first.plan)
    plan, least = second.plan, first.plan
    if not plan.placements or any(
        (mine.used or 0) > (use.used or 0) for mine, use in zip(plan.pools, least.pools, strict=True)
    ):
        open_cost = {"status": "feasible", "proof": None, "gap": None}
        found = first if first.stop_reason not in ("proved", "accepted") else replace(first, stop_reason="work_limit")
        return replace(found, plan=least.model_copy(update=named | open_cost), assignment=None, bound=None)
    is_best = least.status == plan.status == "optimal"
    # If the least peak is not proved, the second plan may have a lower peak, so report the values of the second plan.
    pools = tuple(
        row.model_copy(update={"lower_bound": use.lower_bound, "size": pool.size})
        for pool, row, use in zip(problem.pools, plan.pools, least.pools, strict=True)
    )
    # The cost bound holds only for plans of least peak, so report it only if that peak is proved.
    cost_bound = plan.cost_lower_bound if least.status == "optimal" else None
    ends = [(row.used or 0, row.lower_bound) for row in reversed(pools)]
    named |= {
        "status": "optimal" if is_best else "feasible",
        "lower_bound": least.lower_bound,
        "cost_lower_bound": cost_bound,
        "gap": 0.0 if is_best else gap_of([*ends, (plan.cost or 0.0, cost_bound)]),
        "pools": pools,
        "proof": least.proof if is_best else None,
    }
    ended = first.stop_reason if first.stop_reason not in ("proved", "accepted") else second.stop_reason
    has_failures = first.has_failures or second.has_failures
    return SolveResult(plan.model_copy(update=named), stop_reason=ended, has_failures=has_failures)


def _has_costs(problem: Problem) -> bool:
    table = problem.buffers
    return bool(
        problem.reuse or table.rules["forbid_pools"] or any(use.weight is not None for use in problem.bank)
    ) or any(len(table.pool_choices[choice]) != 1 for choice in set(table.pool_choice.tolist()))


def _pool_ends(problem: Problem, plan: Plan) -> list[int | None]:
    rooms, of_pool = [row.used for row in plan.pools], problem.pool_index
    empty = {row.id for row in problem.buffers if row.size == 0} if (problem.buffers.size == 0).any() else set()
    for row in plan.placements if empty else ():
        if row.id in empty:
            rooms[of_pool[row.pool]] = max(rooms[of_pool[row.pool]] or 0, row.offset)
    return rooms


def _limit_last_pool(problem: Problem, end: int | None) -> Problem:
    """Return the problem of minimizing the cost while the last pool ends at or below `end` bytes (None: no limit)."""
    wanted = replace_profile(problem, "balanced")
    last = wanted.pools[-1].model_copy(update={"size": end})
    return wanted.model_copy(update={"pools": (*wanted.pools[:-1], last)})


def _profile_result(problem: Problem, profile: Profile, found: SolveResult) -> SolveResult:
    named = {"profile": profile, "problem_hash": problem_hash(problem)}
    return replace(found, plan=found.plan.model_copy(update=named), assignment=None, bound=None)


def interim_result(problem: Problem, profile: Profile, found: SolveResult) -> SolveResult:
    """Return one search's plan as an interim result of the profile, without bounds, costs and proofs."""
    if not found.plan.placements:
        return _profile_result(problem, profile, found)
    pools = tuple(
        PoolUse.model_construct(name=pool.name, used=row.used, lower_bound=None, size=pool.size)
        for pool, row in zip(problem.pools, found.plan.pools, strict=True)
    )
    unknown = dict.fromkeys(("lower_bound", "gap", "cost", "cost_lower_bound", "proof"))
    fields = {"status": "feasible", "pools": pools, "profile": profile, "problem_hash": problem_hash(problem)}
    return replace(found, plan=found.plan.model_copy(update=unknown | fields), assignment=None, bound=None)


def _ends_are_least(pools: Iterable[PoolUse]) -> bool:
    return all(row.used == row.lower_bound for row in pools)


def _balanced_result(problem: Problem, first: SolveResult, second: SolveResult) -> SolveResult:
    """Return the result of `balanced`: the last pool's bound from the first search, all else from the second."""
    plan = second.plan
    if not plan.placements:
        return replace(interim_result(problem, "balanced", first), stop_reason=second.stop_reason)
    ended = None if first.stop_reason in ("proved", "accepted") else first.stop_reason
    least = first.plan.pools[-1].lower_bound
    is_least = plan.pools[-1].used == least
    is_cheapest = plan.cost is not None and plan.cost == plan.cost_lower_bound
    is_best = plan.status == "optimal" and is_least and _ends_are_least(plan.pools[:-1])
    bounds = [row.lower_bound if is_cheapest and is_least else None for row in plan.pools[:-1]] + [least]
    pools = tuple(
        PoolUse.model_construct(name=pool.name, used=row.used, lower_bound=bound, size=pool.size)
        for pool, row, bound in zip(problem.pools, plan.pools, bounds, strict=True)
    )
    ends = [(row.used or 0, row.lower_bound) for row in reversed(pools)]
    total = first.plan.lower_bound
    fields = {
        "status": "optimal" if is_best else "feasible",
        "lower_bound": None if total is None else min(total, plan.peak or 0),
        "gap": 0.0 if is_best else gap_of([*ends[:1], (plan.cost or 0.0, plan.cost_lower_bound), *ends[1:]]),
        "pools": pools,
        "profile": "balanced",
        "proof": plan.proof if is_best else None,
        "problem_hash": problem_hash(problem),
    }
    has_failures = second.has_failures or first.has_failures
    ended = ended or ("work_limit" if second.stop_reason == "proved" and not is_best else second.stop_reason)
    return SolveResult(plan.model_copy(update=fields), stop_reason=ended, has_failures=has_failures)
