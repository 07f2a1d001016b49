"""The latency of a cascade on a target: what its arena has not goes over the target's first link."""

from __future__ import annotations

from collections.abc import Collection

from memplan.capabilities.cascade.answer import CascadePoint
from memplan.capabilities.cascade.regions.regions import Cascade, whole_name
from memplan.capabilities.cascade.timing.figures import Run
from memplan.capabilities.cascade.timing.network_run import NetworkStep, run_step
from memplan.capabilities.cascade.timing.target import Target


def latency_of_point(point: CascadePoint, target: Target | None) -> float | None:
    """Return the time of a point on a target; None without one, and where the point does not fit its fast memory."""
    if target is None or point.peak > target.capacity:
        return None
    slow_name = list(point.used or ())[-1:]
    slow = {name for name, pool in (point.pools or {}).items() if [pool] == slow_name}
    tensors = [t for t in range(len(point.cascade.graph.tensors)) if whole_name(t) in slow]
    return round(latency_of(point.cascade, target, tensors), 6)


def latency_of(cascade: Cascade, target: Target, slow: Collection[int] = ()) -> float:
    """Return the time of a cascade whose arena lies in the fast memory, and of which tensors are in the `slow` one.

    These, inputs and outputs that come and go in pieces, and the constants of each run go over the link, as they take
    no bytes of the arena that would hold them. A streamed input that no region takes in pieces is loaded beforehand.
    """
    graph, over = cascade.graph, cascade.streamed.union(slow)
    in_pieces = {tensor for region in cascade.regions for tensor in region.pieces}
    figures = []
    for region in cascade.regions:
        rows = [graph.operations[v] for v in region.ops]
        used = {t for row in rows for t in (*row.outputs, *(read.tensor for read in row.reads))}
        step = NetworkStep(region, tuple(used - over))
        figures.append(run_step(graph, step, frozenset(), target, keeps=False))
    whole = (graph.tensors[t].bytes for t in graph.inputs if t in cascade.streamed - in_pieces)
    return Run(figures).latency + float(sum(map(target.link.time, whole)))
