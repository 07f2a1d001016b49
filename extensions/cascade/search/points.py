"""The plan of a chain (sequence of regions): a region is a loop with one time step for each of its operations.

A buffer used only within a loop step is alive there from its first write to its last read. A buffer that is kept
between loop steps, or whole and used in a loop, is alive for the whole loop.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.answer import CascadePoint, PlacedPoint
from memplan.extensions.cascade.regions.counts import bytes_by_tensor, check_slides, macs_of, runs_of, traffic_of
from memplan.extensions.cascade.regions.regions import (
    Cascade,
    CascadeRegion,
    Slide,
    accumulator_bytes,
    region_buffer_name,
    sums_name,
    whole_name,
)
from memplan.extensions.cascade.search.front import Chain
from memplan.extensions.cascade.search.options import CascadeOptions
from memplan.extensions.cascade.search.steps import RegionSteps
from memplan.extensions.cascade.search.tables import round_up
from memplan.planner.model.problem import Problem
from memplan.planner.model.problem_fields import Pool
from memplan.solvers.core.tables import Rows
from memplan.solvers.portfolio.solve import solve


def plan_chain(
    steps: RegionSteps, found: Rows, chain: Chain, time_limit_s: float, fast: int | None = None
) -> CascadePoint | None:
    """Plan a chain (sequence of regions); return it as a point, or None if no plan was found in time.

    `fast` is the size in bytes of the fast memory, if there is a slow one as well. Whole tensors may then be in either
    memory, with the least traffic to the slow one, and the buffers inside regions are in the fast one.
    """
    graph, options = steps.graph, steps.options
    rows = [found[row].tolist() for row in chain.rows]
    regions = tuple(steps.region(row, number) for number, row in enumerate(rows))
    cascade = Cascade(graph, regions, steps.streamed)
    # Each slide fixes the distance of two tensors (decision 084), so use only the slides that the peak needs.
    slides = tuple(needed_slides(cascade, [row[2] for row in rows], chain.peak, options.alignment))
    check_slides(cascade, slides)
    problem = _Lifetimes(cascade, options.alignment).problem(slides, _pools_of_plan(options, fast))
    plan = solve(problem, time_limit_s=time_limit_s, deterministic=True)
    if plan.peak is None or (fast is not None and plan.cost is None):
        return None
    used = {pool.name: pool.used or 0 for pool in plan.pools}
    macs, once = macs_of(cascade), _macs_of_original(graph)
    others: dict[str, Any] = {}
    if fast is not None:
        others["used"] = {name: used.get(name, 0) for name, _ in options.pools}
        others["pools"] = {str(row.id): row.pool for row in plan.placements}
        others["slow_traffic"] = int(plan.cost or 0)
    if graph.origins:
        others["origins"], others["tensor_origins"] = graph.origins, graph.tensor_origins
        others["reads"] = tuple(tuple(read.tensor for read in row.reads) for row in graph.operations)
        others["makes"] = tuple(row.outputs for row in graph.operations)
    return CascadePoint(
        peak=plan.peak if fast is None else used.get(options.pools[0][0], 0),
        estimate=chain.peak,
        status=plan.status,
        macs=macs,
        macs_ratio=round(macs / once, 6) if once else 1.0,
        traffic=traffic_of(cascade),
        runs=runs_of(cascade),
        slides=slides,
        regions=regions,
        offsets={str(row.id): row.offset for row in plan.placements},
        placed=PlacedPoint(cascade, problem, plan),
        **others,
    )


def _pools_of_plan(options: CascadeOptions, fast: int | None) -> list[Pool]:
    if fast is None:
        return []
    (first, _), (second, size) = options.pools
    return [Pool(name=first, size=fast, cost=0), Pool(name=second, size=size, cost=1)]


def _macs_of_original(graph: AccessGraph) -> int:
    # Ratios compare a point with the given model, so count repeated operations only once.
    first = {graph.origin(v): v for v in reversed(range(len(graph.operations)))}
    return sum(map(graph.macs_of, first.values()))


def needed_slides(cascade: Cascade, peaks: list[int], limit: int, alignment: int) -> Iterator[Slide]:
    """Yield the slides (outputs that grow into dying inputs) that keep each region's peak within `limit`."""
    for region, peak in zip(cascade.regions, peaks, strict=True):
        if region.slide is None:
            continue
        inside, out = (
            round_up(cascade.graph.tensors[t].bytes, alignment) for t in (region.slide.tensor, region.slide.output)
        )
        saved = inside + out - max(region.slide.down + inside, out)
        # Without its slide, a region needs `saved` more bytes, so keep the slide if the region would exceed the limit.
        if peak + saved > limit:
            yield region.slide


@dataclass
class _Lifetimes:
    """The lifetimes of a cascade's buffers: `alive` maps a buffer to (bytes, first time step, end)."""

    cascade: Cascade
    alignment: int
    time: int = 0
    alive: dict[str, tuple[int, int, int]] = field(default_factory=dict)

    def problem(self, slides: Iterable[Slide], pools: list[Pool]) -> Problem:
        """Return the problem of placing all buffers; a slide (output that grows into its input) is a fixed distance."""
        cascade, graph = self.cascade, self.cascade.graph
        for number, region in enumerate(cascade.regions):
            if region.kind == "whole":
                self._add_whole(region.first_operation, region.alternative)
            else:
                self._add_steps(number, region)
        held = {tensor for region in cascade.regions for tensor in region.pieces}
        for tensor in graph.inputs:
            if tensor not in held:
                self._extend_lifetime(whole_name(tensor), graph.tensors[tensor].bytes, -1, 0)
        for tensor in graph.kept:
            if tensor not in cascade.streamed:
                self._extend_lifetime(whole_name(tensor), graph.tensors[tensor].bytes, self.time, self.time + 1)
        others: dict[str, dict[str, Any]] = {name: {} for name in self.alive}
        for slide in slides:
            # All solvers support fixed distances between buffers, so express a slide as a fixed distance.
            relative = {"to": whole_name(slide.output), "offset": slide.down}
            others[whole_name(slide.tensor)]["relative"] = relative
        if pools:
            moved = {whole_name(tensor): bytes_ for tensor, bytes_ in bytes_by_tensor(cascade).items()}
            for name, more in others.items():
                more |= {"traffic": moved[name]} if name in moved else {"pools": (pools[0].name,)}
        buffers = [
            {"id": name, "size": size, "start": start, "end": end, "alignment": self.alignment, **others[name]}
            for name, (size, start, end) in self.alive.items()
        ]
        more = {"pools": pools, "objective": "cost"} if pools else {}
        return Problem(name=graph.name or None, buffers=buffers, **more)

    def _extend_lifetime(self, name: str, size: int, start: int, end: int) -> None:
        _, first, last = self.alive.get(name, (0, start, end))
        self.alive[name] = round_up(size, self.alignment), min(first, start), max(last, end)

    def _add_whole(self, v: int, way: int) -> None:
        graph, row = self.cascade.graph, self.cascade.graph.operations[v]
        _, work = graph.cost_of_alternative(v, way)
        for tensor in (*(read.tensor for read in row.reads), *row.outputs):
            self._extend_lifetime(whole_name(tensor), graph.tensors[tensor].bytes, self.time, self.time + 1)
        if work:
            self._extend_lifetime(f"work_{v}", work, self.time, self.time + 1)
        self.time += 1

    def _add_steps(self, number: int, region: CascadeRegion) -> None:
        """Add the time steps of a region's loop body: one for each input piece, and one for each operation."""
        graph, begin = self.cascade.graph, self.time
        end = begin + len(region.pieces) + len(region.ops)
        steps: list[tuple[int, ...]] = [(tensor,) for tensor in region.pieces]
        is_summed = accumulator_bytes(graph, region)
        for v in region.ops:
            row = graph.operations[v]
            made = () if is_summed and v == region.ops[-1] else row.outputs
            steps.append((*dict.fromkeys(read.tensor for read in row.reads), *made))
        for time, tensors in enumerate(steps, begin):
            for tensor in tensors:
                hold = region.buffer_by_tensor.get(tensor)
                is_whole = hold is None or hold.mode == "whole"
                name = whole_name(tensor) if is_whole else region_buffer_name(number, tensor)
                size = graph.tensors[tensor].bytes if hold is None or is_whole else hold.bytes
                is_kept = (is_whole or hold is None or hold.kept) and region.n_steps > 1
                self._extend_lifetime(name, size, begin if is_kept else time, end if is_kept else time + 1)
        for time, v in enumerate(region.ops, end - len(region.ops)):
            if work := graph.operations[v].work:
                self._extend_lifetime(f"work_{v}", work, time, time + 1)
        self.time = end
        if is_summed:
            sink = graph.operations[region.ops[-1]].outputs[0]
            first = begin if region.n_steps > 1 else end - 1
            self._extend_lifetime(sums_name(number, sink), is_summed, first, end + 1)
            self._extend_lifetime(whole_name(sink), graph.tensors[sink].bytes, end, end + 1)
            self.time += 1
