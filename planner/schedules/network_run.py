"""Networks on a target: a cascade in two memories, gone through step by step, with its time and traffic.

It counts anew what searches and plans claim, and shares with them nothing but access maps, regions and targets.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memplan.planner.operations.access.access_graph import AccessGraph
from memplan.planner.operations.access.window import Window
from memplan.planner.operations.cascade.regions import Cascade, CascadeRegion, Span
from memplan.planner.schedules.target import Target

Counts = NDArray[Any]


@dataclass(frozen=True)
class RegionFigures:
    """The time of a region, the bytes of tensors that it moves over the link, and those of constants."""

    latency: float
    tensors: int
    constants: int

    @property
    def traffic(self) -> int:
        """All bytes over the link."""
        return self.tensors + self.constants


def run_network(cascade: Cascade, slow: Collection[int], target: Target) -> tuple[RegionFigures, ...]:
    """Run each region of a cascade whose whole tensors `slow` lie in the slow memory, as constants do.

    A step takes the larger one of its arithmetic, in native tiles of pixels, and its transfers.
    """
    return tuple(_run(cascade.graph, region, slow, target) for region in cascade.regions)


def least_work(graph: AccessGraph) -> int:
    """Return multiplications that no cascade of a graph does without: those of what is read or kept, once."""
    needed = [[np.zeros(size, np.bool_) for size in tensor.sizes] for tensor in graph.tensors]
    for tensor in graph.kept:
        for axis in needed[tensor]:
            axis[:] = True
    work = 0
    for v in reversed(range(len(graph.operations))):
        row = graph.operations[v]
        rows, columns = needed[row.outputs[0]] if row.outputs else (np.zeros(0), np.zeros(0))
        is_striped = row.role == "striped"
        work += row.macs * int(rows.sum()) * int(columns.sum()) if is_striped else row.macs
        for read in row.reads:
            for made, window, axis in zip((rows, columns), read.windows, needed[read.tensor], strict=True):
                spans = [window.source(k, k + 1, len(axis)) for k in np.flatnonzero(made).tolist()]
                for first, end in spans if is_striped else [(0, len(axis))]:
                    axis[first:end] = True
    return work


def _run(graph: AccessGraph, region: CascadeRegion, slow: Collection[int], target: Target) -> RegionFigures:
    held = {tensor for tensor, hold in region.holds.items() if hold.mode != "whole"}
    elsewhere = set(slow) - held
    count = _all_at_once if region.kind in ("whole", "channels") else _step_by_step
    work, tensors, constants = count(graph, region, elsewhere, target)
    link, moved = target.link, tensors + constants
    transfers = np.where(moved > 0, link.latency + moved / link.bandwidth, 0.0)
    # Where all steps are alike, one stands for them.
    alike = region.trips / work.size
    return RegionFigures(
        alike * fsum(np.maximum(work / (target.engine.rate or 1.0), transfers).ravel().tolist()),
        round(alike * float(tensors.sum())),
        round(alike * float(constants.sum())),
    )


def _all_at_once(
    graph: AccessGraph, region: CascadeRegion, elsewhere: set[int], target: Target
) -> tuple[Counts, Counts, Counts]:
    """Return the work, the bytes of tensors and those of constants of one step, where each has an equal share."""
    work = tensors = constants = 0
    made = {t for v in range(region.first, region.end) for t in graph.operations[v].outputs}
    for v in range(region.first, region.end):
        row = graph.operations[v]
        area = 1
        if row.role == "striped":
            out = graph.tensors[row.outputs[0]]
            area = int(_in_tiles(out.rows, target.engine.height) * _in_tiles(out.columns, target.engine.width))
        work += row.macs * area
        constants += row.weights
        tensors += sum(graph.tensors[t].bytes for t in row.outputs if t in elsewhere)
        for read in row.reads:
            if read.tensor in elsewhere:
                is_again = read.channels == "all" and read.tensor not in made
                tensors += graph.tensors[read.tensor].bytes * (region.trips if is_again else 1)
    trips = region.trips
    return np.array([work / trips]), np.array([tensors / trips]), np.array([constants / trips])


def _step_by_step(
    graph: AccessGraph, region: CascadeRegion, elsewhere: set[int], target: Target
) -> tuple[Counts, Counts, Counts]:
    """Return the work, the bytes of tensors and those of constants of each step, rows first."""
    work, tensors, constants = (np.zeros(region.steps, np.int64) for _ in range(3))
    engine = target.engine
    for v in range(region.first, region.end):
        row, made = graph.operations[v], region.made[v]
        out = graph.tensors[row.outputs[0]]
        rows, columns = _lengths(made.rows), _lengths(made.columns)
        area = np.outer(rows, columns)
        if row.role == "striped":
            work += row.macs * np.outer(_in_tiles(rows, engine.height), _in_tiles(columns, engine.width))
        else:
            work += row.macs * area // max(1, int(area.sum()))
        constants += row.weights * (area > 0)
        if row.outputs[0] in elsewhere and row.role == "striped":
            tensors += area * out.pixel
        elif row.outputs[0] in elsewhere:
            tensors[-1, -1] += out.bytes
        for read in row.reads:
            if read.tensor in elsewhere:
                source = graph.tensors[read.tensor]
                if row.role == "striped":
                    read_rows = _lengths(made.rows, read.rows, source.rows)
                    area = np.outer(read_rows, _lengths(made.columns, read.columns, source.columns))
                tensors += area * source.pixel
    return work, tensors, constants


def _lengths(spans: tuple[Span, ...], window: Window | None = None, size: int = 0) -> Counts:
    """Return the length of each range, or of what it reads of an input of a size."""
    if window is not None:
        spans = tuple(window.source(a, b, size) if b > a else (0, 0) for a, b in spans)
    return np.array([b - a for a, b in spans], np.int64)


def _in_tiles(length: Counts | int, native: int) -> Counts:
    return -(-np.asarray(length, np.int64) // native) * native
