"""Points of the front as verified plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from memplan.capabilities.cascade.access.access_graph import AccessGraph
from memplan.capabilities.cascade.regions.regions import Cascade, Slide, macs_of, runs_of, traffic_of
from memplan.capabilities.cascade.regions.slides_check import check_slides
from memplan.capabilities.cascade.search.front import Chain
from memplan.capabilities.cascade.search.lowering import FUNCTION, problem_in_pools, problem_with, program_of
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.capabilities.cascade.search.schedule import region_of
from memplan.capabilities.cascade.search.tables import rounded_up, streamed_tensors
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.operations.operations import Operations
from memplan.solvers.kernels.tables import Rows
from memplan.solvers.portfolio.solve import solve


@dataclass(frozen=True)
class CascadePoint:
    """A cascade with its plan: `peak` is that of the placements, `estimate` what the search counted.

    `macs`, `traffic` and `runs` are counted from the ranges of the regions; `macs_ratio` is to those layer by layer.
    `slides` are the outputs that grow into dying inputs, where the peak needs it. With a fast and a slow memory,
    `peak` is that of the fast one, `used` has the bytes of both by their names, and `slow_traffic` those that are read
    and written in the slow one.
    """

    peak: int
    estimate: int
    macs: int
    macs_ratio: float
    traffic: int
    runs: int
    cascade: Cascade
    slides: tuple[Slide, ...]
    operations: Operations
    problem: Problem
    plan: Plan
    used: Mapping[str, int] = field(default_factory=dict)
    slow_traffic: int = 0

    def offsets(self) -> dict[str, int]:
        """Return the offset of each buffer by its name in the operations; in its memory, if there are several."""
        return {str(row.id).removeprefix(f"{FUNCTION}/"): row.offset for row in self.plan.placements}

    def pools(self) -> dict[str, str]:
        """Return the memory of each buffer by its name in the operations."""
        return {str(row.id).removeprefix(f"{FUNCTION}/"): row.pool for row in self.plan.placements}

    def in_one_arena(self) -> tuple[dict[str, int], int]:
        """Return offsets in one arena in which memories lie one behind the other, and its bytes."""
        base, size = dict[str, int](), 0
        for name, used in self.used.items():
            base[name], size = size, size + used
        pools = self.pools()
        offsets = {name: offset + base.get(pools[name], 0) for name, offset in self.offsets().items()}
        return offsets, size if self.used else self.peak


def cascade_of(graph: AccessGraph, options: CascadeOptions, found: Rows, chain: Chain) -> Cascade:
    """Return the regions of a chain, with their ranges and buffers."""
    regions = tuple(region_of(graph, options, found[row].tolist()) for row in chain.rows)
    return Cascade(graph, regions, streamed_tensors(graph, options))


def planned(
    graph: AccessGraph, options: CascadeOptions, found: Rows, chain: Chain, time_limit_s: float
) -> CascadePoint | None:
    """Plan a chain of regions; None where no plan was found in time."""
    cascade = cascade_of(graph, options, found, chain)
    operations = program_of(cascade, options.alignment)
    # Slides bind tensors at fixed distances, so a region that stays below the peak without one has none (decision 086).
    slides = needed_slides(cascade, [int(found[row, 2]) for row in chain.rows], chain.peak, options.alignment)
    check_slides(cascade, tuple(slides))
    problem = problem_with(operations, slides)
    plan = solve(problem, time_limit_s=time_limit_s, deterministic=True)
    if plan.peak is None:
        return None
    return CascadePoint(plan.peak, chain.peak, *_counts(cascade), cascade, tuple(slides), operations, problem, plan)


def planned_in_pools(
    graph: AccessGraph, options: CascadeOptions, found: Rows, chain: Chain, fast: int, time_limit_s: float
) -> CascadePoint | None:
    """Plan a chain of regions in `fast` bytes of the fast pool, with the least traffic of the slow one, if it fits."""
    cascade = cascade_of(graph, options, found, chain)
    operations = program_of(cascade, options.alignment)
    (first, _), slow = options.pools
    problem = problem_in_pools(operations, cascade, ((first, fast), slow))
    plan = solve(problem, time_limit_s=time_limit_s, deterministic=True)
    if plan.peak is None or plan.cost is None:
        return None
    counts = _counts(cascade)
    used_by_name = {pool.name: pool.used or 0 for pool in plan.pools}
    used = {name: used_by_name.get(name, 0) for name, _ in options.pools}
    made = CascadePoint(used[first], chain.peak, *counts, cascade, (), operations, problem, plan)
    return replace(made, used=used, slow_traffic=int(plan.cost))


def _counts(cascade: Cascade) -> tuple[int, float, int, int]:
    """Return multiplications, their ratio to those layer by layer, traffic and runs."""
    macs, once = macs_of(cascade), _macs_once(cascade.graph)
    return macs, macs / once if once else 1.0, traffic_of(cascade), runs_of(cascade)


def _macs_once(graph: AccessGraph) -> int:
    """Return the multiplications of a graph layer by layer, of operations that run again once."""
    # An operation that runs again counts once: ratios are against the model as it is given.
    first = {graph.origin(v): v for v in reversed(range(len(graph.operations)))}
    return sum(map(graph.macs_of, first.values()))


def needed_slides(cascade: Cascade, peaks: list[int], limit: int, alignment: int) -> list[Slide]:
    """Return the slides of the regions that would not stay within the limit without."""
    found = []
    for region, peak in zip(cascade.regions, peaks, strict=True):
        if region.slide is None:
            continue
        inside, out = (
            rounded_up(cascade.graph.tensors[t].bytes, alignment) for t in (region.slide.tensor, region.slide.output)
        )
        saved = inside + out - max(region.slide.down + inside, out)
        # Without its slide the region would pass the peak of the chain.
        if peak + saved > limit:
            found.append(region.slide)
    return found
