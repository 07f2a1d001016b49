"""The worth of knowing lifetimes better: one program of operations, read and planned in several ways."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import lcm
from typing import Literal, get_args

from memplan.planner.liveness import Reading
from memplan.planner.liveness.activations import CallWorkspace
from memplan.planner.liveness.analysis import pose
from memplan.planner.liveness.expansion import expand
from memplan.planner.liveness.lifetimes import Liveness, Temporaries
from memplan.planner.model.plan import Plan, Status
from memplan.planner.model.problem import Problem
from memplan.planner.operations.operations import Operations
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control

Planning = Literal["global", "local"]


@dataclass(frozen=True)
class PlannedPeak:
    """The peak that one variant needs; `lost_bytes` are those beyond usage, nested and global.

    `local` plans the temporaries of each function first, and gives each call that much in one piece. `peak` is null
    where no plan was found, `lost_bytes` where there is nothing to compare.
    """

    liveness: Liveness
    temporaries: Temporaries
    planning: Planning
    status: Status
    peak: int | None
    lower_bound: int | None
    lost_bytes: int | None = None


def compare_readings(operations: Operations, reading: Reading, control: Control) -> tuple[PlannedPeak, ...]:
    """Plan operations by usage and by scope, with temporaries nested and lifted, and function by function.

    `reading` says what is planned of inputs and outputs. Each solve has an equal part of the time that is left; what
    comes too late is `unknown`. There is nothing local where a called function has persistent buffers: they are in no
    call. Raises OperationsError.
    """
    timeline = expand(operations)
    reached = {operations.entry}
    for name, callees in reversed(operations.callees.items()):
        reached.update(callees if name in reached else ())
    called = [name for name in operations.callees if name in reached and name != operations.entry]
    # What a function keeps between its calls has no place in a workspace of one call.
    is_local = not any(row.persistent for name in called for row in operations.functions[name].buffers)
    solves = iter(range(4 + (1 + len(called)) * is_local, 0, -1))

    def solved(problem: Problem) -> Plan:
        share = control.child(1 / next(solves))
        if control.is_over:
            return Plan(status="unknown", stop_reason="time_limit")
        return solve(problem, time_limit_s=share.left_s, control=share.searching())

    peaks: list[PlannedPeak] = []
    for temporaries in get_args(Temporaries):
        for liveness in get_args(Liveness):
            variant = reading.model_copy(update={"liveness": liveness, "temporaries": temporaries})
            peaks.append(_peak(variant, "global", solved(pose(operations, timeline, variant))))
    if is_local:
        best = reading.model_copy(update={"liveness": "usage", "temporaries": "nested"})
        peaks.append(_peak(best, "local", _plan_locally(operations, called, best, solved)))
    least = peaks[0].peak
    return tuple(
        replace(row, lost_bytes=None if row.peak is None or least is None else row.peak - least) for row in peaks
    )


def _peak(reading: Reading, planning: Planning, plan: Plan) -> PlannedPeak:
    return PlannedPeak(reading.liveness, reading.temporaries, planning, plan.status, plan.peak, plan.lower_bound)


def _from_zero(problem: Problem) -> Problem:
    """Return the problem in pools that begin at address 0 and are all its own, as its workspace may lie anywhere."""
    pools = tuple(pool.model_copy(update={"base_address": 0, "reserved": ()}) for pool in problem.pools)
    return problem.model_copy(update={"pools": pools})


def _workspaces(problem: Problem, plan: Plan) -> Iterator[CallWorkspace]:
    """Yield the workspace that a planned function takes of each pool, aligned so that all buffers in it are."""
    table, placed = problem.buffers, plan.placements
    for pool in plan.pools:
        here = placed.pool == (placed.pool_names.index(pool.name) if pool.name in placed.pool_names else -1)
        if pool.used:
            yield CallWorkspace(pool.name, pool.used, lcm(*set(table.alignment[here].tolist())))


def _plan_locally(
    operations: Operations, called: list[str], reading: Reading, solved: Callable[[Problem], Plan]
) -> Plan:
    """Plan each function's own buffers with the workspaces of what it calls; the program comes last."""
    workspaces: dict[str, tuple[CallWorkspace, ...]] = {}
    own = reading.model_copy(update={"plan_inputs": False, "plan_outputs": False})
    for name in called:
        problem = _from_zero(pose(operations, expand(operations, name, workspaces=workspaces), own))
        plan = solved(problem)
        if plan.peak is None:
            return plan
        workspaces[name] = tuple(_workspaces(problem, plan))
    return solved(pose(operations, expand(operations, workspaces=workspaces), reading))
