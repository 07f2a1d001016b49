"""Networks on a target: cascades in its two memories, each run step by step, and the best of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum

from memplan.planner.errors import InvalidPlanError, ProblemError
from memplan.planner.operations.access.access_graph import AccessGraph
from memplan.planner.operations.access.from_graph import access_graph
from memplan.planner.operations.access.splits import split_apart
from memplan.planner.operations.cascade.regions import whole_name
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.schedules.network_run import RegionFigures, least_work, run_network
from memplan.planner.schedules.target import Target
from memplan.solvers.cascade.options import CascadeOptions
from memplan.solvers.cascade.points import CascadePoint
from memplan.solvers.cascade.solve import cascade
from memplan.solvers.cascade.tables import rounded_up
from memplan.solvers.schedules.costs import Objective
from memplan.solvers.schedules.downsets import EPSILON


@dataclass(frozen=True)
class NetworkSchedule:
    """A cascade in two memories, and the figures of its regions on a target."""

    point: CascadePoint
    regions: tuple[RegionFigures, ...]

    @cached_property
    def latency(self) -> float:
        """The time of all regions."""
        return fsum(region.latency for region in self.regions)

    @property
    def traffic(self) -> int:
        """The bytes over the link."""
        return sum(region.traffic for region in self.regions)

    @property
    def peak(self) -> int:
        """The bytes that are used of the fast memory."""
        return self.point.peak

    def retained(self, memory: str) -> tuple[tuple[int, ...], ...]:
        """Return for each region the tensors that stay whole in a memory behind it, for others that read them."""
        graph, pools = self.point.cascade.graph, self.point.pools()
        there = [t for t in range(len(graph.tensors)) if pools.get(whole_name(t)) == memory and graph.readers[t]]
        ends = [region.end for region in self.point.cascade.regions]
        return tuple(tuple(t for t in there if (graph.maker[t] or 0) < end <= graph.readers[t][-1]) for end in ends)


@dataclass(frozen=True)
class FoundOnTarget:
    """The best schedule of a network for an objective, the front of those found, and what none is below."""

    best: NetworkSchedule
    front: tuple[NetworkSchedule, ...]
    lower_bound: float


def schedule_network(
    graph: OperationGraph,
    target: Target,
    objective: Objective,
    time_limit_s: float,
    cancelled: threading.Event,
    report: Callable[[float], None] = lambda _: None,
) -> FoundOnTarget:
    """Return the best cascade of a network on a target that is found; raises ProblemError where there is none."""
    if target.engine.rate is None:
        raise ProblemError("target.engine.rate: is required, as operations of a network have multiplications, no times")
    access = access_graph(split_apart(graph))
    if not access.operations:
        raise ProblemError("problem: must have operations")
    room = sum(rounded_up(tensor.bytes, target.alignment) for tensor in access.tensors)
    fast, slow = target.memories
    pools = ((fast.name, target.capacity), (slow.name, room))
    options = CascadeOptions(alignment=target.alignment, pools=pools, moves_constants=True)
    found: list[NetworkSchedule] = []

    def hear(point: CascadePoint | None, _: object) -> None:
        if point is not None:
            found.append(_run(point, target))
            report(min(getattr(one, objective) for one in found))

    cascade(access, options, time_limit_s=time_limit_s, cancelled=cancelled, on_point=hear)
    if not found:
        raise ProblemError(f"capacity: must hold what operations need beside their tensors, got {target.capacity}")
    best = min(found, key=lambda one: (getattr(one, objective), one.latency, one.traffic, one.peak))
    return FoundOnTarget(best, tuple(_front(found, objective)), _bound(access, target, objective))


def _run(point: CascadePoint, target: Target) -> NetworkSchedule:
    """Run a point; raises InvalidPlanError where its steps do not move the bytes that its plan says."""
    pools, slow = point.pools(), target.memories[1].name
    elsewhere = [t for t in range(len(point.cascade.graph.tensors)) if pools.get(whole_name(t)) == slow]
    found = NetworkSchedule(point, run_network(point.cascade, elsewhere, target))
    moved = sum(region.tensors for region in found.regions)
    if moved != point.slow_traffic:
        raise InvalidPlanError(f"traffic: must be what the plan says, {point.slow_traffic}, got {moved}")
    return found


def _front(found: Sequence[NetworkSchedule], objective: Objective) -> list[NetworkSchedule]:
    """Return by falling peak the schedules of which no other is as good with a peak as low."""
    goal: Objective = "latency" if objective == "peak" else objective
    front: list[NetworkSchedule] = []
    for one in sorted(found, key=lambda one: (one.peak, getattr(one, goal))):
        if not front or getattr(one, goal) < getattr(front[-1], goal) * (1 - EPSILON):
            front.append(one)
    return front[::-1]


def _bound(graph: AccessGraph, target: Target, objective: Objective) -> float:
    """Return what no schedule is below: all constants are moved once, and all that is read or kept is made once."""
    constants = sum(row.weights for row in graph.operations)
    if objective == "latency":
        return max(least_work(graph) / (target.engine.rate or 1.0), target.transfer_time(constants))
    return float(constants) if objective == "traffic" else 0.0
