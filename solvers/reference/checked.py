"""Plans of reference planners, which count only if they pass the verifier.

Such planners sometimes violate rules that they do not know, such as capacities or alignments of single buffers. Then
the plan is rejected with a list of violations.
"""

import time

import numpy as np

from memplan.planner.errors import OptionError, excerpt
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import total_cost
from memplan.planner.model.buffer_table import column
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Explanation, Plan, StopReason
from memplan.planner.model.problem import ADDRESS_SPACE, Problem
from memplan.planner.systems import ReferencePlanner
from memplan.planner.verify.verifier import verify
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, StoppedError, carriers
from memplan.solvers.search import to_plan
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.result import Progress, SolveResult

_NAMED = 3
"""The limit of buffers or violations that a message names."""


def reference_plan(problem: Problem, instance: Instance, planner: ReferencePlanner, search: Search) -> SolveResult:
    """Return a reference planner's verified plan with the search's bound, or status `unknown` with an explanation.

    Only the search can prove infeasibility. Raises OptionError for features that the planner does not support.
    """
    check_features(problem, instance, planner)
    if search.infeasibility_witness is not None:
        return _result_without_plan(problem, instance, search)
    try:
        placed = planner.load()(problem, search.seed, _stop_check(search))
    except StoppedError:
        message = f"{planner.name} was stopped before it had placed every buffer"
        return _result_without_plan(problem, instance, search, Explanation(message=message))
    failure = _failure_explanation(problem, planner, placed)
    if failure is not None:
        return _result_without_plan(problem, instance, search, failure)
    placements = _placement_table(problem, placed)
    broken = _rules_explanation(problem, planner, placements)
    if broken is not None:
        return _result_without_plan(problem, instance, search, broken)
    return _result_of_placements(problem, instance, planner, search, placements)


def check_features(problem: Problem, instance: Instance, planner: ReferencePlanner) -> None:
    """Raise OptionError if the problem has features that the planner does not support."""
    missing = needed_features(problem, instance) - planner.can
    if missing:
        raise OptionError(f"solver: {planner.name} does not support {', '.join(sorted(missing))}")


def needed_features(problem: Problem, instance: Instance) -> frozenset[str]:
    """Return the features that a planner must support to plan a problem.

    Holes (gaps between lifetimes) count only if a single buffer has them, not if they come from the lifetimes of its
    aliases.
    """
    has_holes = bool((np.diff(problem.buffers.first) > 1).any())
    return instance.features if has_holes else instance.features - {"holes"}


def _stop_check(search: Search) -> StopCheck:
    """Return a function that raises StoppedError once the search is over."""

    def stop_check() -> None:
        """Raise StoppedError once the search is over."""
        if search.is_over:
            raise StoppedError

    return stop_check


def _failure_explanation(problem: Problem, planner: ReferencePlanner, placed: PlannerAnswer) -> Explanation | None:
    """Return an explanation if buffers were not placed, or were placed outside of the address space, or else None."""
    ids, sizes = problem.buffers.ids, problem.buffers.size
    if placed.stuck or placed.because is not None:
        names = ", ".join(f"buffer {excerpt(ids[i])} ({sizes[i]} bytes)" for i in placed.stuck[:_NAMED])
        names += ", ..." * (len(placed.stuck) > _NAMED)
        because = placed.because or f"cannot fit {names} in any memory"
        return Explanation(message=f"{planner.name}: {because}", buffers=tuple(ids[i] for i in placed.stuck))
    for i, (pool, offset) in _places_by_position(problem, placed).items():
        if not 0 <= offset < ADDRESS_SPACE:
            where = f"offset {offset} of {excerpt(problem.pools[pool].name)}"
            message = f"{planner.name}: buffer {excerpt(ids[i])} would lie at {where}, which no memory has"
            return Explanation(message=message, pool=problem.pools[pool].name, buffers=(ids[i],))
    return None


def _places_by_position(problem: Problem, placed: PlannerAnswer) -> dict[int, tuple[int, int]]:
    placements = dict(placed.placements)
    for i, (carrier, distance) in carriers(problem).items():
        if i not in placements and carrier in placements:
            pool, offset = placements[carrier]
            placements[i] = pool, offset + distance
    return placements


def _placement_table(problem: Problem, placed: PlannerAnswer) -> PlacementTable:
    placements = sorted(_places_by_position(problem, placed).items())
    return PlacementTable(
        tuple(problem.buffers.ids[i] for i, _ in placements),
        tuple(pool.name for pool in problem.pools),
        column([pool for _, (pool, _) in placements]),
        column([offset for _, (_, offset) in placements]),
    )


def _rules_explanation(problem: Problem, planner: ReferencePlanner, placements: PlacementTable) -> Explanation | None:
    """Return an explanation that lists the rules broken by the placements, or None if no rule is broken."""
    violations = verify(problem, Plan(placements=placements))
    if not violations:
        return None
    sentences = "; ".join(violation.message for violation in violations[:_NAMED])
    more = "; ..." * (len(violations) > _NAMED)
    message = f"{planner.name} made a plan that breaks rules of the problem: {sentences}{more}"
    named = (name for violation in violations[:_NAMED] for name in (violation.first, violation.second))
    return Explanation(message=message, buffers=tuple(dict.fromkeys(name for name in named if name is not None)))


def _result_of_placements(
    problem: Problem, instance: Instance, planner: ReferencePlanner, search: Search, placements: PlacementTable
) -> SolveResult:
    """Return the result of a search for a reference planner's placements, which satisfy all rules."""
    cost = None
    if problem.objective == "cost":
        source = instance.source
        cost = total_cost(instance, placements.pool[source], placements.offset[source] // instance.unit)
    plan = to_plan.make_plan(problem, instance, search.proof, placements, planner.name, cost)
    if search.on_progress is not None:
        elapsed_s = time.monotonic() - search.started
        search.on_progress(Progress(elapsed_s, plan.peak, plan.lower_bound or 0, planner.name))
    return SolveResult(plan, stop_reason=_stop_reason(plan, search))


def _result_without_plan(
    problem: Problem, instance: Instance, search: Search, because: Explanation | None = None
) -> SolveResult:
    return SolveResult(
        to_plan.plan_without_placements(problem, instance, search.proof, because),
        None,
        search.proof,
        search.stop_reason,
    )


def _stop_reason(plan: Plan, search: Search) -> StopReason | None:
    """Return the stop reason "proved" or "accepted" if it applies to a reference planner's plan, or else None."""
    if plan.status == "optimal":
        return "proved"
    if search.accept is None:
        return None
    wanted = search.accept.gap
    return "accepted" if wanted is None or (plan.gap is not None and plan.gap <= wanted) else None
