"""An operation alone that has no parts: whole, or a sum over stripes of what it reads."""

from __future__ import annotations

import numpy as np

from memplan.capabilities.cascade.access.access_graph import AccessGraph
from memplan.capabilities.cascade.regions.regions import sums_of
from memplan.capabilities.schedule.model.target import Target
from memplan.capabilities.schedule.search.costs import Objective
from memplan.capabilities.schedule.search.layers import TIE, LayerFront, layer_step, tried


def whole_front(graph: AccessGraph, v: int, fast: frozenset[int], target: Target, objective: Objective) -> LayerFront:
    """Return the tilings of an operation that has no parts: whole, or a sum over stripes of what it reads."""
    row, tensors, link = graph.operations[v], graph.tensors, target.link
    rate = target.engine.rate or 1.0
    read = [tensors[read.tensor].bytes for read in row.reads if read.tensor not in fast]
    written = [tensors[t].bytes for t in row.outputs if t not in fast]
    others = [size for size in (*written, row.weights, row.work) if size]
    traffic, work = sum(read) + sum(written) + row.weights, graph.macs_of(v) / rate
    time = max(work, float(link.time(traffic)))
    found = [(sum(map(target.rounded, (*read, *others))), traffic, time, 0)]
    for size in tried(tensors[row.reads[0].tensor].rows) if row.role == "sum" and read else ():
        source, step = tensors[row.reads[0].tensor], layer_step(graph, v, (size, 0, 0, 0), ())
        loads = np.array([(b - a) * source.columns * source.pixel for a, b in step.region.ranges[v].rows], np.float64)
        share = loads / loads.sum()
        copies = target.engine.copies if len(loads) > 1 else 1
        slots = copies * target.rounded(int(loads.max())) + target.rounded(sums_of(graph, step.region))
        loads[0] += row.weights
        loads[-1] += sum(written)
        times = np.maximum(share * row.macs / rate, link.time(loads))
        found.append((slots + sum(map(target.rounded, others)), traffic, float(times.sum()), size))
    front = list[tuple[int, float, int]]()
    for bytes_, moved, time, size in sorted(found):
        cost = moved + TIE * time if objective == "traffic" else time + TIE / link.bandwidth * moved
        if not front or cost < front[-1][1]:
            front.append((bytes_, cost, size))
    sizes = np.array([[size, 0, 0, 0] for _, _, size in front], np.int64)
    return LayerFront(np.array([b for b, _, _ in front]), np.array([c for _, c, _ in front]), sizes)
