"""Networks on a target: the graph to schedule, the best schedule, the Pareto front, and lower bounds."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from memplan.extensions.cascade.access.access_graph import AccessGraph, AccessOperation, driving_tensor
from memplan.extensions.cascade.access.from_graph import access_graph, split_apart
from memplan.extensions.cascade.regions.regions import CascadeRegion, Stripes
from memplan.extensions.cascade.timing.target import Target
from memplan.extensions.schedule.answer import EPSILON, Objective, ScheduleAnswer, ScheduleTransfer, point_of
from memplan.extensions.schedule.search.network_search import PASSES, NetworkRun, NetworkSearch
from memplan.extensions.schedule.search.pads import merge_pads, renumber
from memplan.extensions.schedule.search.placement import items_of
from memplan.planner.errors import ProblemError
from memplan.programs.operations.graph import OperationGraph
from memplan.solvers.search.control import Control

_BEFORE_FRONT, _STEPS, _FRONT = 0.5, 0.85, 0.95
"""The fractions of the time after which the search of steps ends (with a front, without), and the front's search."""
_LAST_PASS = 0.1
"""The minimum fraction of the time that a pass needs after its regions were simulated."""
Axis = NDArray[np.bool_]
"""The type of a mask of a tensor's rows or columns, True for those that are needed."""
FRONT_SIZES = 12
"""The number of sizes of the fast memory to try for a front; they are in a geometric series."""


def network_of(graph: OperationGraph) -> AccessGraph:
    """Return a network as the graph to schedule: with access maps, and with pads merged into convolutions."""
    graph_given = split_apart(graph)
    access = merge_pads(access_graph(graph_given), graph_given)
    if not access.operations:
        raise ProblemError("problem: must have operations")
    operations = tuple(_split_channels(access, row) for row in access.operations)
    return replace(access, operations=operations, is_coarse=True)


def _split_channels(graph: AccessGraph, row: AccessOperation) -> AccessOperation:
    out = graph.tensors[row.outputs[0]] if row.outputs else None
    is_dense = row.role == "barrier" and row.kind == "fully_connected" and len(row.reads) == len(row.outputs) == 1
    if out is None or not is_dense or out.sizes != (1, 1) or not out.channels or row.work:
        return row
    return replace(row, role="striped")


def schedule_network(
    graph: OperationGraph, target: Target, objective: Objective, running: Control, *, wants_front: bool = False
) -> ScheduleAnswer:
    """Return the best schedule found for a network on a target; raises ProblemError if there is none.

    A schedule of single operations is found first and reported as a preliminary answer.
    """
    if target.engine.rate is None:
        raise ProblemError(
            "target.engine.rate: is required, as operations of a network have multiplications instead of times"
        )
    access, given_s = network_of(graph), running.remaining_s
    goal: Objective = "latency" if objective == "peak" else objective
    search = NetworkSearch(access, target, goal)
    least, stuck = search.min_memory()
    capacity = least if objective == "peak" else target.capacity
    if least > target.capacity:
        raise ProblemError(
            f"capacity: must hold the {least} bytes that {_memory_sentence(access, stuck)}; got {target.capacity}"
        )
    bound = bound_of(access, target, objective)

    def is_over(share: float) -> bool:
        return running.is_over or running.remaining_s < (1 - share) * given_s

    def report_answer(best: NetworkRun, front: Sequence[NetworkRun]) -> ScheduleAnswer:
        running.report({objective: round(float(getattr(best, objective)), 3)})
        return network_answer(access, best, front, bound, target, objective)

    search.choose_homes(capacity, lambda: is_over(_BEFORE_FRONT))
    network_runs, until = list[NetworkRun](), _BEFORE_FRONT if wants_front else _STEPS
    for ranges, states in PASSES:
        search.add_regions(ranges, lambda: is_over(until - _LAST_PASS))
        schedule = search.search_within(capacity, (lambda: is_over(until)) if network_runs else (lambda: False), states)
        if schedule is None:
            if not network_runs and search.far != (everything := frozenset(items_of(access).values())):
                search.far = everything
                continue
            break
        is_better = not network_runs or getattr(schedule, goal) < min(getattr(one, goal) for one in network_runs)
        network_runs.append(schedule)
        if is_better and running.note is not None:
            running.note(report_answer(schedule, ()))
        if is_over(until):
            break
    if not network_runs:
        name = target.memories[1].name
        raise ProblemError(f"capacity: {name} must have room for the pieces in transfer to {target.memories[0].name}")
    if wants_front:
        second: Objective = "traffic" if goal == "latency" else "latency"
        other = NetworkSearch(access, target, second, search.regions, search.far)
        sizes = np.geomspace(target.capacity, least, FRONT_SIZES).astype(np.int64).tolist()
        for size in dict.fromkeys(sizes):
            runs = (one.search_within(max(size, least), lambda: is_over(_FRONT)) for one in (search, other))
            network_runs += [one for one in runs if one is not None]
    best = min(network_runs, key=lambda one: (getattr(one, objective), one.latency, one.traffic, one.peak))
    return report_answer(best, _undominated_runs(network_runs) if wants_front else ())


def _memory_sentence(graph: AccessGraph, v: int) -> str:
    row = graph.operations[v]
    words = row.kind, next((graph.tensors[t].name for t in row.outputs), row.name)
    why = f", as {row.reason}" if row.reason else ""
    return f"operation {graph.origin(v)} ({' '.join(filter(None, words))}) needs in its smallest tiles{why}"


def network_answer(
    graph: AccessGraph,
    best: NetworkRun,
    front: Sequence[NetworkRun],
    bound: float,
    target: Target,
    objective: Objective,
) -> ScheduleAnswer:
    """Return the answer with a network's best schedule and the Pareto front of schedules."""
    value, regions = float(getattr(best, objective)), [step.region for step in best.steps]
    is_least = value <= bound * (1 + EPSILON)
    answer = ScheduleAnswer.from_run(
        *(best, target, objective, bound, "bound" if is_least else None),
        subgraphs=tuple(tuple(map(graph.origin, region.ops)) for region in regions),
        granularities=tuple(_stripe_of(graph, region) for region in regions),
        tensors_to_retain=tuple(step.retained for step in best.steps),
        traversal_orders=(None,) * len(best.steps),
        channels_outermost=tuple(k for k, step in enumerate(best.steps) if step.channels_outermost),
        slots=best.slots,
        transfers=tuple(_transfers(best, [memory.name for memory in target.memories])),
        far=tuple(sorted(item if item >= 0 else -1 - graph.origin(-1 - item) for item in best.far)),
        second_slots=tuple(best.second_slots),
        frontier=tuple(map(point_of, front)),
        alternatives=_used_alternatives(graph, regions),
        regions=tuple(
            renumber(region.model_copy(update={"id": f"r{number}"}), graph.origin)
            for number, region in enumerate(regions)
        ),
    )
    # A value above the bound by rounding alone is optimal, so set its gap to 0.
    return answer.model_copy(update={"gap": 0.0}) if is_least else answer


def _used_alternatives(graph: AccessGraph, regions: Sequence[CascadeRegion]) -> tuple[tuple[int, ...], ...]:
    if not any(row.alternatives for row in graph.operations):
        return ()
    return tuple((region.alternative,) * len(region.ops) for region in regions)


def _transfers(run: NetworkRun, names: Sequence[str]) -> Iterator[ScheduleTransfer]:
    for k, step in enumerate(run.figures):
        for kind, tensor, is_far, bytes_, count in step.transfers:
            near, away = names[is_far : is_far + 2]
            ends = (near, away) if kind == "output" else (away, near)
            row = {"kind": kind, "tensor": tensor, "source": ends[0], "target": ends[1]}
            yield ScheduleTransfer.model_validate({"step": k, **row, "bytes": bytes_, "count": count})


def _stripe_of(graph: AccessGraph, region: CascadeRegion) -> tuple[int, int, int]:
    last = region.end - 1
    if not graph.operations[last].outputs:
        return 1, 1, 1
    tensor, made = driving_tensor(graph, last), region.ranges.get(last, Stripes(rows=(), columns=()))
    axes = (made.columns, tensor.columns), (made.rows, tensor.rows), (made.channels, max(1, tensor.channels))
    columns, rows, channels = (max((b - a for a, b in spans), default=size) for spans, size in axes)
    return columns, rows, channels


def _undominated_runs(found: Sequence[NetworkRun]) -> list[NetworkRun]:
    front: list[NetworkRun] = []
    for one in sorted(found, key=lambda one: (one.peak, one.latency, one.traffic)):
        if not any(other.latency <= one.latency * (1 + EPSILON) and other.traffic <= one.traffic for other in front):
            front.append(one)
    return front[::-1]


def bound_of(graph: AccessGraph, target: Target, objective: Objective) -> float:
    """Return a lower bound on the objective. It counts needed data computed once, inputs and constants moved once."""
    work, moved = min_needs(graph, target)
    if objective == "latency":
        return max(work, float(target.link.time(moved)))
    return float(moved) if objective == "traffic" else 0.0


def min_needs(graph: AccessGraph, target: Target) -> tuple[float, int]:
    """Return (time, bytes): lower bounds for every schedule on its arithmetic time and its transferred bytes."""
    needed = {t: tuple(np.ones(size, np.bool_) for size in graph.tensors[t].sizes) for t in graph.kept}
    work, moved = 0.0, sum(graph.tensors[t].bytes for t in graph.kept if graph.maker[t] is not None)
    for v in reversed(range(len(graph.operations))):
        row, is_striped = graph.operations[v], graph.operations[v].role == "striped"
        made = needed.get(row.outputs[0]) if row.outputs else None
        if is_striped and made is None:
            continue  # No later operation needs this output, so skip the operation.
        area = int(made[0].sum()) * int(made[1].sum()) if made is not None and is_striped else 1
        macs = min(graph.choose_alternative(v, way).operations[v].macs for way in range(1 + len(row.alternatives)))
        work += macs * area / target.engine.rate_of(row.kind)
        moved += row.weights
        for read in row.reads:
            axes = [np.ones(size, np.bool_) for size in graph.tensors[read.tensor].sizes]
            for axis, window, seen in zip(axes, read.windows, made or (), strict=False) if is_striped else ():
                axis[:] = False
                for k in np.flatnonzero(seen).tolist():
                    first, end = window.input_range(k, k + 1, len(axis))
                    axis[first:end] = True
            if axes[0].any() and axes[1].any():
                needed[read.tensor] = _join_needs(needed.get(read.tensor), (axes[0], axes[1]))
    for t in graph.inputs:
        if t in needed and graph.readers[t]:
            moved += int(needed[t][0].sum()) * int(needed[t][1].sum()) * graph.tensors[t].pixel
    return work, moved


def _join_needs(one: tuple[Axis, ...] | None, other: tuple[Axis, ...]) -> tuple[Axis, ...]:
    """Return the union of two readers' needs if they agree on an axis, else the larger need.

    A need is a mask of rows and a mask of columns.
    """
    if one is None:
        return other
    if any((mine == theirs).all() for mine, theirs in zip(one, other, strict=True)):
        return tuple(mine | theirs for mine, theirs in zip(one, other, strict=True))
    return max(one, other, key=lambda axes: int(axes[0].sum()) * int(axes[1].sum()))
