"""A simple reference for the search kernels: costs of a region counted from its ranges and buffers."""

from collections.abc import Sequence
from dataclasses import replace

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.access.from_graph import access_graph
from memplan.extensions.cascade.regions.counts import macs_of, runs_of, traffic_of
from memplan.extensions.cascade.regions.regions import Cascade, CascadeRegion, accumulator_bytes, is_accumulated
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.extensions.cascade.search.steps import RegionSteps
from memplan.extensions.cascade.search.tables import last_uses, round_up, streamed_tensors
from memplan.programs.operations.graph import OperationGraph


def coarse(graph: OperationGraph) -> AccessGraph:
    """Return the access graph of an operation graph for regions of rows or tiles, not cut along channels."""
    return replace(access_graph(graph), is_coarse=True)


def region_of(graph: AccessGraph, options: CascadeOptions, row: Sequence[int]) -> CascadeRegion:
    return RegionSteps(graph, options).region(row)


def peak_of_region(graph: AccessGraph, options: CascadeOptions, row: Sequence[int]) -> tuple[int, tuple[int, int, int]]:
    """Return the peak of a region, and its multiplications, traffic and runs."""
    region = region_of(graph, options, row)
    cascade = Cascade(graph, (region,), streamed_tensors(graph, options))
    costs = macs_of(cascade), traffic_of(cascade), runs_of(cascade)
    return _peak(graph, options, region), costs


def _peak(graph: AccessGraph, options: CascadeOptions, region: CascadeRegion) -> int:
    last, first, end = last_uses(graph, options), region.first_operation, region.end
    whole = [round_up(tensor.bytes, options.alignment) for tensor in graph.tensors]
    before = {t for t, made in enumerate(graph.maker) if (made is None or made < first) and last[t] >= first}
    if region.kind == "whole":
        made = {t for t in graph.operations[first].outputs if graph.maker[t] == first}
        return sum(whole[t] for t in before | made) + graph.operations[first].work
    alive = before - set(region.pieces)
    alive |= {t for t, hold in region.buffer_by_tensor.items() if hold.mode == "whole"}
    total = sum(whole[t] for t in alive)
    total += sum(hold.bytes for hold in region.buffer_by_tensor.values() if hold.mode != "whole" and hold.kept)
    sink = graph.operations[end - 1]
    sums = round_up(accumulator_bytes(graph, region), options.alignment)
    total += sums
    if is_accumulated(graph, region) and not sums:
        total += whole[sink.outputs[0]]
    within = 0
    for v in range(first, end):
        running = 0
        for tensor, hold in region.buffer_by_tensor.items():
            if hold.mode == "whole" or hold.kept:
                continue
            readers = [u for u in graph.readers[tensor] if first <= u < end]
            maker = graph.maker[tensor]
            start = first if maker is None else maker
            if start <= v <= max([start, *readers]):
                running += hold.bytes
        within = max(within, running)
    peak = total + within
    if sums:
        behind = {t for t, made in enumerate(graph.maker) if (made is None or made < end) and last[t] >= end}
        peak = max(peak, sum(whole[t] for t in behind | {sink.outputs[0]}) + sums)
    return peak
