"""The gate: one way in, one stopwatch, one verifier."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Generator, Iterator
from functools import wraps
from typing import ParamSpec

from memplan.planner.errors import InvalidPlanError, OptionError, shown
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import Instance
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio import registry, stages
from memplan.solvers.portfolio.warm_start import assignment_of
from memplan.solvers.portfolio.watchdog import watched
from memplan.solvers.reference import gate, table
from memplan.solvers.search import to_plan
from memplan.solvers.search.explanation import explain
from memplan.solvers.search.incumbent import Accept, Assignment, Progress, SearchState

_LOG = logging.getLogger("memplan")

_P = ParamSpec("_P")
Steps = Generator[None, None, Plan]
"""A solve that pauses now and then; it returns the plan."""

DEFAULT_TIME_LIMIT_S = 10.0
MAX_TIME_LIMIT_S = 7 * 24 * 3600.0
_WORK_PER_S = 50_000
"""Work units that a deterministic search may spend for each second of its limit; see Search.work_limit."""
_VERIFY_S = 3e-6
"""What verifying and writing one placement takes, kept back from the search's time."""
_VERIFY_CONFLICT_S = 1e-6
"""The same for an explicit conflict."""


def finish(solving: Steps) -> Plan:
    """Do what is left of a solve, in any thread; return the plan."""
    while (plan := advance(solving)) is None:
        pass
    return plan


def advance(solving: Steps) -> Plan | None:
    """Do the next step of a solve; return the plan if that was the last one."""
    try:
        next(solving)
    except StopIteration as end:
        plan: Plan = end.value
        return plan
    return None


def steps(
    problem: Problem,
    *,
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
    solver: str = "auto",
    accept: str | float | None = None,
    deterministic: bool = False,
    seed: int = 0,
    on_progress: Callable[[Progress], None] | None = None,
    cancelled: threading.Event | None = None,
    started: float | None = None,
    start: Plan | None = None,
    quick_s: float | None = None,
    instance: Instance | None = None,
    on_start: Callable[[Callable[[], Plan | None]], None] | None = None,
) -> Steps:
    """Plan a problem: the best plan found in time, verified, with a proof or an honest gap.

    Pauses where the quick orders are done and longer work begins, so that a caller can do the one here and the other
    elsewhere; time goes on meanwhile. Does nothing before its first step. `solve` takes the same and does not pause.

    Returns within `time_limit_s` plus half a second of `started` (a time.monotonic() value; now, by default). `accept`
    ends the search early: "fit" at any plan that fits, "5%" or 5 within that many percent above the bound.
    `deterministic` gives the same plan on any machine. `cancelled` ends the search when it is set; what was best then
    is returned. `start` is a plan that is known already: where it is one of this problem, what is returned is no worse.
    With `quick_s` it only tries for so long, without engines; what it leaves undone has the stop reason "time_limit".
    `instance` is the problem compiled, where somebody has done that already.
    `on_start` is given, before the search begins, what returns the best plan so far, verified, to any thread.
    Raises OptionError for a wrong option or a solver that cannot do what the problem asks.
    """
    started = time.monotonic() if started is None else started
    target = read_target(time_limit_s, accept, seed)
    instance = compile_problem(problem) if instance is None else instance
    planner = table.find(solver)
    ladder = stages.rungs(instance, solver) if planner is None else []
    lasts_s = time_limit_s if quick_s is None else min(time_limit_s, quick_s)
    answer_s = _VERIFY_S * len(problem.buffers) + _VERIFY_CONFLICT_S * len(problem.conflicts)
    search = SearchState(
        instance,
        deadline=started + max(0.0, lasts_s - answer_s),
        seed=seed,
        deterministic=deterministic,
        work_limit=max(1, int(time_limit_s * _WORK_PER_S)) if deterministic else 2**62,
        accept=Accept() if problem.objective == "fit" and target is None else target,
        on_progress=on_progress,
        trusted=frozenset(row.name for row in registry.SOLVERS if row.is_trusted),
        started=started,
    )
    if on_start is not None:
        on_start(lambda: _plan_so_far(problem, instance, search))
    if start is not None and planner is None:
        _offer_known(problem, instance, search, start)
    if planner is not None:
        with watched(search, cancelled):
            plan = gate.plan_by_reference(problem, instance, planner, search)
    else:
        with watched(search, cancelled):
            yield from _climb(instance, search, ladder, is_quick=quick_s is not None)
        plan = _plan(problem, instance, search)
    return plan if deterministic else plan.model_copy(update={"wall_time_s": round(time.monotonic() - started, 6)})


def _without_pauses(steps: Callable[_P, Steps]) -> Callable[_P, Plan]:
    @wraps(steps, assigned=("__module__", "__doc__"))
    def solve(*args: _P.args, **options: _P.kwargs) -> Plan:
        return finish(steps(*args, **options))

    return solve


solve = _without_pauses(steps)


def _climb(instance: Instance, search: SearchState, ladder: list[list[registry.Row]], is_quick: bool) -> Iterator[None]:
    """Climb the ladder until the search is over, with a pause after the first rung.

    A quick search takes the first of each rung, and no engine.
    """
    if len(instance) == 0 and not instance.unplaceable:
        search.offer(instance.pin, instance.pin, "empty")
    # Side by side, the others of a rung would have no turn in that time, and would cost one for their threads.
    at_hand = [[row for row in rung if not row.is_isolated][:1] for rung in ladder] if is_quick else ladder
    failures = stages.climb(instance, search, at_hand[:1])
    if not search.is_over:
        yield
        failures += stages.climb(instance, search, at_hand[1:])
    for failure in failures:
        _LOG.warning("%s", failure)
    search.stop("work_limit" if at_hand == ladder else "time_limit")


def _offer_known(problem: Problem, instance: Instance, search: SearchState, plan: Plan) -> None:
    """Offer the placements of a plan, if they are right for this problem."""
    if search.infeasible is not None or verify(problem, Plan(placements=plan.placements)):
        return
    known = assignment_of(problem, instance, plan.placements, search.flag)
    if known is not None:
        search.offer(*known, plan.solver or "start")


def read_target(time_limit_s: float, accept: str | float | None, seed: int) -> Accept | None:
    """Return when a plan is good enough, None where only a proof is; raises OptionError for any of the three."""
    if not 0 <= seed < 2**63:
        raise OptionError(f"seed: must be at least 0 and below 2^63, got {shown(seed)}")
    if not 0 < time_limit_s <= MAX_TIME_LIMIT_S:
        raise OptionError(
            f"time_limit_s: must be above 0 and at most {MAX_TIME_LIMIT_S:.0f}, got {shown(time_limit_s)}"
        )
    if accept is None:
        return None
    if accept == "fit":
        return Accept()
    try:
        percent = float(accept.removesuffix("%") if isinstance(accept, str) else accept)
    except (ValueError, OverflowError):
        percent = -1.0
    if not 0 <= percent < float("inf"):
        raise OptionError(f"accept: must be fit or a percentage such as 5%, got {shown(accept)}")
    return Accept(percent / 100)


def _plan(problem: Problem, instance: Instance, search: SearchState) -> Plan:
    """Make the plan of the best assignment that the verifier lets through."""
    rejected: list[str] = []
    for assignment in sorted(search.offers.values(), key=lambda offer: offer.score):
        search.best = assignment
        plan = _planned(problem, instance, search, assignment)
        violations = verify(problem, plan)
        if not violations:
            # Behind a rejected one, the reason why the search stopped may be that which was wrong.
            return plan.model_copy(update={"stop_reason": None}) if rejected else plan
        rejected.append(assignment.by)
        _LOG.error("a plan of %s did not pass the verifier: %s", assignment.by, violations[0].rule)
    if rejected:
        raise InvalidPlanError(f"no plan passed the verifier; there were some of {', '.join(rejected)}")
    return to_plan.nothing(problem, instance, search, explain(problem, instance, search))


def _plan_so_far(problem: Problem, instance: Instance, search: SearchState) -> Plan | None:
    """Make the plan of the best assignment of a search that goes on; None where there is none that is right."""
    if search.best is None:
        return None
    plan = _planned(problem, instance, search, search.best)
    return None if verify(problem, plan) else plan


def _planned(problem: Problem, instance: Instance, search: SearchState, assignment: Assignment) -> Plan:
    placements = lift(problem, instance, assignment.pool, assignment.offset)
    cost = assignment.score[0] if problem.objective == "cost" else None
    return to_plan.found(problem, instance, search, placements, assignment.by, cost)
