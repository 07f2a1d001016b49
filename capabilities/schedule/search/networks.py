"""Networks on a target: their operations, the best schedule, the front of peak, time and traffic, and bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memplan.capabilities.cascade.access.access_graph import AccessGraph, AccessOperation
from memplan.capabilities.cascade.access.from_graph import access_graph, split_apart
from memplan.capabilities.schedule.model.network_needs import least_needs
from memplan.capabilities.schedule.model.target import Target
from memplan.capabilities.schedule.search.costs import Objective
from memplan.capabilities.schedule.search.downsets import EPSILON
from memplan.capabilities.schedule.search.network_search import NetworkSchedule, NetworkSearch
from memplan.planner.errors import ProblemError
from memplan.planner.operations.graph import OperationGraph

_REGIONS, _STEPS = 0.5, 0.85
"""The parts of the time after which no more regions are looked at, and no more steps are searched."""
FRONT_SIZES = 12
"""The sizes of the fast memory that are tried for a front, each a constant part of the one before."""


@dataclass(frozen=True)
class FoundOnTarget:
    """The best schedule of a network for an objective, the front of those found, and what none is below."""

    graph: AccessGraph
    best: NetworkSchedule
    front: tuple[NetworkSchedule, ...]
    lower_bound: float


def network_of(graph: OperationGraph) -> AccessGraph:
    """Return the operations that are scheduled of a network, with their access maps."""
    access = access_graph(split_apart(graph))
    if not access.operations:
        raise ProblemError("problem: must have operations")
    operations = tuple(_with_channels(access, row) for row in access.operations)
    return replace(access, operations=operations, is_coarse=True)


def _with_channels(graph: AccessGraph, row: AccessOperation) -> AccessOperation:
    """Return a dense layer of all rows and columns as one whose channels are made one by one; others as they are."""
    out = graph.tensors[row.outputs[0]] if row.outputs else None
    is_dense = row.role == "barrier" and row.kind == "fully_connected" and len(row.reads) == len(row.outputs) == 1
    if out is None or not is_dense or out.sizes != (1, 1) or not out.channels or row.work:
        return row
    return replace(row, role="striped")


def schedule_network(
    graph: OperationGraph,
    target: Target,
    objective: Objective,
    is_over: Callable[[float], bool] = lambda _: False,
    hear: Callable[[FoundOnTarget], None] = lambda _: None,
    *,
    wants_front: bool = False,
) -> FoundOnTarget:
    """Return the best schedule of a network on a target that is found; raises ProblemError where there is none.

    Operations alone come first, and are heard of; `is_over` says whether a part of the time is.
    """
    if target.engine.rate is None:
        raise ProblemError("target.engine.rate: is required, as operations of a network have multiplications, no times")
    access = network_of(graph)
    goal: Objective = "latency" if objective == "peak" else objective
    search = NetworkSearch(access, target, goal)
    least = search.least_memory()
    capacity = least if objective == "peak" else target.capacity
    if least > target.capacity:
        raise ProblemError(f"capacity: must hold what each operation needs in its least tiles, {least}, got {capacity}")
    bound = bound_of(access, target, objective)
    found = [one for one in [search.within(capacity)] if one is not None]
    hear(FoundOnTarget(access, found[0], (), bound))
    search.add_regions(lambda: is_over(_REGIONS))
    wanted = [(search, capacity)]
    if wants_front:
        other = NetworkSearch(access, target, "traffic" if goal == "latency" else "latency", search.regions)
        sizes = np.geomspace(target.capacity, least, FRONT_SIZES).astype(np.int64).tolist()
        wanted += [(one, max(size, least)) for size in dict.fromkeys(sizes) for one in (search, other)]
    for one, size in wanted:
        if (schedule := one.within(size, lambda: is_over(_STEPS))) is not None:
            found.append(schedule)
    best = min(found, key=lambda one: (getattr(one, objective), one.latency, one.traffic, one.peak))
    return FoundOnTarget(access, best, tuple(_front(found)) if wants_front else (), bound)


def _front(found: Sequence[NetworkSchedule]) -> list[NetworkSchedule]:
    """Return by falling peak the schedules of which no other is as good in peak, time and traffic."""
    front: list[NetworkSchedule] = []
    for one in sorted(found, key=lambda one: (one.peak, one.latency, one.traffic)):
        if not any(other.latency <= one.latency * (1 + EPSILON) and other.traffic <= one.traffic for other in front):
            front.append(one)
    return front[::-1]


def bound_of(graph: AccessGraph, target: Target, objective: Objective) -> float:
    """Return what no schedule is below: what is read or kept is made once, and moved once with all constants."""
    work, moved = least_needs(graph)
    if objective == "latency":
        return max(work / (target.engine.rate or 1.0), float(target.link.time(moved)))
    return float(moved) if objective == "traffic" else 0.0
