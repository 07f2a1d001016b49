"""The gate: one way in, one stopwatch, one verifier."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from planner import __version__
from planner.canonical import problem_hash
from planner.compiling import compile_problem, lift
from planner.errors import InvalidPlanError, OptionError, shown
from planner.instance import Instance
from planner.objective import total_cost
from planner.plan import Plan, PoolUse, Proof, Status
from planner.problem import Problem
from planner.verify import verify
from solvers import portfolio, registry
from solvers.explanation import explain
from solvers.search import Accept, Assignment, Progress, Shared

_LOG = logging.getLogger("memplan")

DEFAULT_TIME_LIMIT_S = 10.0
MAX_TIME_LIMIT_S = 7 * 24 * 3600.0
_WORK_PER_S = 50_000
"""Work units that a deterministic search may spend for each second of its limit; see Search.work_limit."""
_LOOK_EVERY_S = 0.05
"""How often a running search is asked whether it was cancelled."""
_VERIFY_S = 4e-6
"""What verifying and writing one placement takes, kept back from the search's time."""


def solve(
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
) -> Plan:
    """Plan a problem: the best plan found in time, verified, with a proof or an honest gap.

    Returns within `time_limit_s` plus half a second of `started` (a time.monotonic() value; now, by default). `accept`
    ends the search early: "fit" at any plan that fits, "5%" or 5 within that many percent above the bound.
    `deterministic` gives the same plan on any machine. `cancelled` ends the search when it is set; what was best then
    is returned. Raises OptionError for a wrong option or a solver that cannot do what the problem asks.
    """
    started = time.monotonic() if started is None else started
    target = _checked(time_limit_s, accept, seed)
    instance = compile_problem(problem)
    ladder = portfolio.rungs(instance, solver)
    search = Shared(
        instance,
        deadline=started + max(0.0, time_limit_s - _VERIFY_S * len(problem.buffers)),
        seed=seed,
        deterministic=deterministic,
        work_limit=max(1, int(time_limit_s * _WORK_PER_S)) if deterministic else 2**62,
        accept=Accept() if problem.objective == "fit" and target is None else target,
        on_progress=on_progress,
        trusted=frozenset(row.name for row in registry.SOLVERS if row.is_trusted),
        started=started,
    )
    with _watched(search, cancelled):
        if len(instance) == 0 and not instance.homeless:
            search.offer(instance.pin, instance.pin, "empty")
        for failure in portfolio.climb(instance, search, ladder):
            _LOG.warning("%s", failure)
        search.stop("work_limit")
    plan = _plan(problem, instance, search)
    return plan if deterministic else plan.model_copy(update={"wall_time_s": round(time.monotonic() - started, 6)})


def _checked(time_limit_s: float, accept: str | float | None, seed: int) -> Accept | None:
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


@contextmanager
def _watched(search: Shared, cancelled: threading.Event | None) -> Iterator[None]:
    """Stop the search at its deadline, or when it is cancelled, whatever it is doing."""
    done = threading.Event()

    def look() -> None:
        if cancelled is not None and cancelled.is_set():
            search.stop("cancelled")

    def watch() -> None:
        while not done.wait(min(_LOOK_EVERY_S, search.remaining_s)):
            look()
            if search.is_over:
                return

    look()  # what is cancelled before it starts does nothing at all
    watcher = threading.Thread(target=watch, name="memplan-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()


def _plan(problem: Problem, instance: Instance, search: Shared) -> Plan:
    """Make the plan of the best assignment that the verifier lets through."""
    rejected: list[str] = []
    for assignment in sorted(search.offers.values(), key=lambda offer: offer.score):
        search.best = assignment
        plan = _found(problem, instance, search, assignment)
        violations = verify(problem, plan)
        if not violations:
            # Behind a rejected one, the reason why the search stopped may be that which was wrong.
            return plan.model_copy(update={"stop_reason": None}) if rejected else plan
        rejected.append(assignment.by)
        _LOG.error("a plan of %s did not pass the verifier: %s", assignment.by, violations[0].rule)
    if rejected:
        raise InvalidPlanError(f"no plan passed the verifier; there were some of {', '.join(rejected)}")
    return _nothing(problem, instance, search)


def _found(problem: Problem, instance: Instance, search: Shared, assignment: Assignment) -> Plan:
    placements = lift(problem, instance, assignment.pool, assignment.offset)
    names = [pool.name for pool in problem.pools]
    ends = np.where(problem.buffers.size > 0, placements.offset + problem.buffers.size, 0)
    used = [int(ends[placements.pool == q].max(initial=0)) for q in range(len(names))]
    is_best = assignment.score <= search.bound
    bounds = _pool_bounds(instance, search, assignment, used)
    total = sum(used) if is_best else search.progress().lower_bound
    status: Status = "optimal" if is_best else "feasible"
    return Plan(
        status=status,
        stop_reason=search.stop_reason,
        peak=sum(used),
        lower_bound=total,
        gap=None if total == 0 < sum(used) else sum(used) / total - 1 if total else 0.0,
        cost=total_cost(instance, assignment.pool) if problem.objective == "cost" else None,
        pools=tuple(
            PoolUse(name=pool.name, used=u, lower_bound=b, size=pool.size)
            for pool, u, b in zip(problem.pools, used, bounds, strict=True)
        ),
        placements=placements,
        solver=assignment.by,
        proof=_proof(problem, instance, search) if is_best else None,
        problem_hash=problem_hash(problem, instance),
        version=__version__,
    )


def _pool_bounds(instance: Instance, search: Shared, assignment: Assignment, used: list[int]) -> list[int | None]:
    """Return each pool's bound where it is proved: a pool's holds only where all later ones are at theirs."""
    p = len(instance.memories)
    bounds: list[int | None] = [None] * p
    for k, (mine, bound) in enumerate(zip(assignment.score[-p:], search.bound[-p:], strict=True)):
        q = p - 1 - k
        bounds[q] = used[q] if mine == bound else int(bound) * instance.unit
        if mine != bound:
            break
    return bounds


def _proof(problem: Problem, instance: Instance, search: Shared) -> Proof:
    witness = search.proof.witness
    buffers = tuple(problem.buffers.ids[int(instance.source[i])] for i in witness.buffers)
    return Proof(kind=witness.kind, time=witness.time, buffers=buffers, by=witness.by)


def _nothing(problem: Problem, instance: Instance, search: Shared) -> Plan:
    """Make the answer where nothing fits, or nothing that fits was found."""
    return Plan(
        status="unknown" if search.infeasible is None else "infeasible",
        stop_reason=search.stop_reason,
        pools=tuple(PoolUse(name=pool.name, size=pool.size) for pool in problem.pools),
        explanation=explain(problem, instance, search),
        problem_hash=problem_hash(problem, instance),
        version=__version__,
    )
