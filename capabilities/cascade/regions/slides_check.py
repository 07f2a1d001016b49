"""A check of slides by their ranges of rows: what an output has written lies below all input rows still to be read."""

from __future__ import annotations

from memplan.capabilities.cascade.regions.regions import Cascade, CascadeRegion, Slide, Span
from memplan.planner.errors import InvalidPlanError


def check_slides(cascade: Cascade, slides: tuple[Slide, ...]) -> int:
    """Check slides of a cascade against the ranges that its regions make; return how many steps were looked at.

    Rows are counted in bytes, as tensors lie row by row. Raises InvalidPlanError for the first step in which an output
    reaches into rows that are read in that step or behind it.
    """
    looked = 0
    for number, region in enumerate(cascade.regions):
        if region.slide is not None and region.slide in slides:
            looked += _check(cascade, number, region, region.slide)
    return looked


def _check(cascade: Cascade, number: int, region: CascadeRegion, slide: Slide) -> int:
    graph = cascade.graph
    inside, out = graph.tensors[slide.tensor], graph.tensors[slide.output]
    written = region.made[region.end - 1].rows
    reads: list[list[Span]] = []
    for v in range(region.first, region.end):
        for read in graph.operations[v].reads:
            if read.tensor == slide.tensor:
                spans = region.made[v].rows
                reads.append([read.rows.source(a, b, inside.rows) if a < b else (0, 0) for a, b in spans])
    needed = inside.rows
    for step in reversed(range(len(written))):
        needed = min([needed, *(spans[step][0] for spans in reads if spans[step][1] > spans[step][0])])
        most = max((b for a, b in written[: step + 1] if b > a), default=0)
        reached, free = most * out.columns * out.pixel, slide.down + needed * inside.columns * inside.pixel
        if reached > free:
            raise InvalidPlanError(
                f"region {number}, step {step}: {out.name} must end below byte {free} while {inside.name} is read, "
                f"got {reached}"
            )
    return len(written)
