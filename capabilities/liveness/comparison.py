"""The worth of knowing lifetimes better: one program of operations, read and planned in several ways."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from graphlib import TopologicalSorter
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
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control
from memplan.solvers.search.deadline import Deadline

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


def compare_readings(
    operations: Operations,
    reading: Reading | None = None,
    *,
    deadline: Deadline | None = None,
    cancelled: threading.Event | None = None,
) -> tuple[PlannedPeak, ...]:
    """Plan operations by usage and by scope, with temporaries nested and lifted, and function by function.

    `reading` says what is planned of inputs and outputs. Each solve has an equal part of the time that is left; what
    comes too late is `unknown`. There is nothing local where a called function has persistent buffers: they are in no
    call. Raises OperationsError.
    """
    shared_time = _SharedTime(
        deadline or Deadline.after(DEFAULT_TIME_LIMIT_S), Control(cancelled=cancelled or threading.Event())
    )
    reading = reading or Reading()
    timeline = expand(operations)
    called = [name for name in _called(operations) if name != operations.entry]
    # What a function keeps between its calls has no place in a workspace of one call.
    is_local = not any(row.persistent for name in called for row in operations.functions[name].buffers)
    shared_time.solves = 4 + (1 + len(called)) * is_local
    found: list[PlannedPeak] = []
    for temporaries in get_args(Temporaries):
        for liveness in get_args(Liveness):
            variant = reading.model_copy(update={"liveness": liveness, "temporaries": temporaries})
            found.append(_peak(variant, "global", shared_time.solve(pose(operations, timeline, variant))))
    if is_local:
        best = reading.model_copy(update={"liveness": "usage", "temporaries": "nested"})
        found.append(_peak(best, "local", _plan_locally(operations, called, best, shared_time)))
    least = found[0].peak
    return tuple(
        replace(row, lost_bytes=None if row.peak is None or least is None else row.peak - least) for row in found
    )


@dataclass
class _SharedTime:
    """Shares the time that is left among the solves that are to come."""

    deadline: Deadline
    control: Control
    solves: int = 0

    def solve(self, problem: Problem) -> Plan:
        left = self.deadline.left_s
        share = left / max(1, self.solves)
        self.solves -= 1
        if left <= 0:
            return Plan(status="unknown", stop_reason="time_limit")
        return solve(problem, time_limit_s=share, control=self.control)


def _peak(reading: Reading, planning: Planning, plan: Plan) -> PlannedPeak:
    return PlannedPeak(reading.liveness, reading.temporaries, planning, plan.status, plan.peak, plan.lower_bound)


def _called(operations: Operations) -> list[str]:
    """Return the functions that the program calls, callees first, itself last."""
    calls: dict[str, set[str]] = {}
    waiting = [operations.entry]
    while waiting:
        name = waiting.pop()
        if name not in calls:
            calls[name] = {callee for _, callee in operations.calls(name)}
            waiting += calls[name]
    return list(TopologicalSorter(calls).static_order())


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


def _plan_locally(operations: Operations, called: list[str], reading: Reading, shared_time: _SharedTime) -> Plan:
    """Plan each function's own buffers with the workspaces of what it calls; the program comes last."""
    workspaces: dict[str, tuple[CallWorkspace, ...]] = {}
    own = reading.model_copy(update={"plan_inputs": False, "plan_outputs": False})
    for name in called:
        problem = _from_zero(pose(operations, expand(operations, name, workspaces=workspaces), own))
        plan = shared_time.solve(problem)
        if plan.peak is None:
            shared_time.solves -= len(called) - len(workspaces)
            return plan
        workspaces[name] = tuple(_workspaces(problem, plan))
    return shared_time.solve(pose(operations, expand(operations, workspaces=workspaces), reading))
