"""Reports of cascades: for programs, and for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from memplan.planner.operations.cascade.regions import CascadeRegion, Span
from memplan.solvers.cascade.barriers import Barrier
from memplan.solvers.cascade.points import CascadePoint
from memplan.solvers.cascade.solve import CascadeResult

MOST_BARRIERS = 10


def facts(result: CascadeResult) -> dict[str, Any]:
    """Return what a program is told; sizes are in bytes, operations and tensors are positions in the graph."""
    options = result.options
    graph = result.graph
    return {
        "name": graph.name or None,
        "conventions": {
            "input": options.input,
            "output": options.output,
            "sliding": options.sliding,
            "objectives": options.objectives,
            **({"pools": [{"name": name, "size": size} for name, size in options.pools]} if options.pools else {}),
            "alignment": options.alignment,
            "weights": "not counted",
            "in_place": False,
        },
        "layers_peak": result.layers_peak,
        "layers_macs": result.graph.macs,
        "layers_traffic": result.layers.traffic,
        "tensors": [
            {"name": row.name, "bytes": row.bytes, "rows": row.rows, "columns": row.columns, "pixel": row.pixel}
            for row in graph.tensors
        ],
        "operations": [
            {"kind": row.kind, "name": row.name, "in": [read.tensor for read in row.reads], "out": row.outputs}
            for row in graph.operations
        ],
        "points": [_point(point, k in result.checked) for k, point in enumerate(result.points)],
        "barriers": [asdict(barrier) for barrier in result.barriers[:MOST_BARRIERS]],
        "exhausted": asdict(result.exhausted),
        "wall_time_s": result.wall_time_s,
    }


def _point(point: CascadePoint, is_checked: bool) -> dict[str, Any]:
    slides = {(slide.output, slide.tensor): slide.down for slide in point.slides}
    return {
        "peak": point.peak,
        "estimate": point.estimate,
        "status": point.plan.status,
        "macs": point.macs,
        "macs_ratio": round(point.macs_ratio, 6),
        "traffic": point.traffic,
        "runs": point.runs,
        "checked_by_value": is_checked,
        "slides": [{"tensor": t, "output": out, "down": down} for (out, t), down in slides.items()],
        "regions": [_region(number, region, point) for number, region in enumerate(point.cascade.regions)],
        "offsets": point.offsets(),
        **({"pools": point.pools(), "used": point.used, "slow_traffic": point.slow_traffic} if point.used else {}),
        **({"origins": point.cascade.graph.origins} if point.cascade.graph.origins else {}),
    }


def _region(number: int, region: CascadeRegion, point: CascadePoint) -> dict[str, Any]:
    graph = point.cascade.graph
    told: dict[str, Any] = {"id": f"r{number}", "ops": list(range(region.first, region.end)), "kind": region.kind}
    if region.kind == "whole":
        return {**told, "stride": None, "steps": (1, 1)}
    return {
        **told,
        "stride": region.stride,
        "steps": region.steps,
        **({"channel_steps": region.trips} if region.kind == "channels" else {}),
        "buffers": [
            {
                "tensor": tensor,
                "mode": hold.mode,
                "capacity": [hold.rows, hold.columns, hold.pixel or graph.tensors[tensor].pixel],
                "kept": hold.kept,
                "bytes": hold.bytes,
            }
            for tensor, hold in region.holds.items()
        ],
        "ranges": {
            str(v): {
                "rows": _ranges(made.rows),
                "columns": _ranges(made.columns),
                **({"channels": _ranges(made.channels)} if made.channels else {}),
            }
            for v, made in region.made.items()
        },
    }


def _said(barrier: Barrier) -> str:
    return f"{barrier.kind or 'an unknown kind'}: {barrier.reason}{'; the least peak is this' if barrier.binds else ''}"


def _ranges(spans: tuple[Span, ...]) -> dict[str, Any]:
    """Return ranges as clamp(A * y + B, 0, top) of their ends, where each begins where the one before it ends."""
    ends = [b for _, b in spans]
    top = max(ends, default=0)
    rises = [(y, b) for y, b in enumerate(ends) if 0 < b < top]
    follows = all(a == b == 0 or a == before for (a, b), before in zip(spans, [0, *ends], strict=False))
    if follows and ends == sorted(ends):
        (y0, b0), (y1, b1) = (rises[0], rises[-1]) if len(rises) > 1 else ((0, 0), (0, 0))
        if y1 > y0 and (b1 - b0) % (y1 - y0) == 0:
            a = (b1 - b0) // (y1 - y0)
            base = b0 - a * y0
            if ends == [min(max(a * y + base, 0), top) for y in range(len(ends))]:
                return {"A": a, "B": base, "top": top, "steps": len(ends)}
    return {"table": spans}


def lines(result: CascadeResult) -> Iterator[str]:
    """Yield the rows of a table for people."""
    options = result.options
    sliding = ", sliding" if options.sliding else ""
    yield f"input {options.input}, output {options.output}{sliding}, alignment {options.alignment}; weights not counted"
    yield f"layer by layer  {result.layers_peak:>14,} bytes  {result.graph.macs:>16,} MACs"
    for k, point in enumerate(result.points):
        share = result.layers_peak / point.peak if point.peak else 1.0
        slow = f", {point.slow_traffic:,} of it in {options.pools[1][0]}" if options.pools else ""
        checked = "  checked by value" if k in result.checked else ""
        yield (
            f"cascade {k:<7} {point.peak:>14,} bytes  {100 * (point.macs_ratio - 1):>+8.2f} % MACs  "
            f"{share:6.2f}x less  traffic {point.traffic:,}{slow}{checked}"
        )
        for number, region in enumerate(point.cascade.regions):
            if region.kind != "whole":
                height, width = region.stride
                size = f"rows of {height} rows" if region.kind == "rows" else f"{region.kind} of {height} x {width}"
                size = f"{height} channels a step" if region.kind == "channels" else size
                yield f"    r{number}: operations {region.first} to {region.end - 1}, {size}"
    if not result.points:
        yield "no cascade is within the bounds"
    for barrier in result.barriers[:3]:
        yield f"barrier         {barrier.bytes:>14,} bytes at operation {barrier.operation}: {_said(barrier)}"
    told = result.exhausted
    cut = f"a beam cut {told.beam_cuts:,} mixes of modes" if told.beam_cuts else "all mixes of modes"
    if told.unplanned or told.cut_chains:
        yield f"not planned     {told.unplanned:>14,} points, as time was over; {told.cut_chains:,} chains cut off"
    yield f"looked at       {told.evaluated:>14,} regions: {'all' if told.intervals else 'not all'} intervals, {cut}"
