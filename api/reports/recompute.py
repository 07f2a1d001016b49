"""Reports of a frontier of recompute: for programs, and for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from memplan.planner.operations.graph import OperationGraph
from memplan.solvers.order.recompute.frontier import RecomputeFrontier


def facts(graph: OperationGraph, frontier: RecomputeFrontier) -> dict[str, Any]:
    """Return what a program is told: the last point is the answer; operations are positions, sizes are in bytes."""
    last = frontier.points[-1]
    more = {"regions": [asdict(region) for region in frontier.regions]} if frontier.regions else {}
    return {
        "name": graph.name,
        "status": last.status,
        "peak": last.peak,
        "lower_bound": last.lower_bound,
        "extra_cost": last.extra_cost,
        "given_peak": frontier.given_peak,
        "cost": frontier.cost,
        "is_within": frontier.is_within,
        "wall_time_s": frontier.wall_time_s,
        "order": last.order,
        "points": [
            {
                "peak": point.peak,
                "live_peak": point.live_peak,
                "lower_bound": point.lower_bound,
                "status": point.status,
                "extra_cost": point.extra_cost,
                "clones": point.clones,
                "order": point.order,
            }
            for point in frontier.points
        ],
        **more,
    }


def lines(graph: OperationGraph, frontier: RecomputeFrontier) -> Iterator[str]:
    """Yield the rows of a table for people."""
    yield f"operations   {len(graph.ops):>20,}"
    yield f"given peak   {frontier.given_peak:>20,} bytes"
    yield f"cost         {frontier.cost:>20,}"
    yield f"{'peak, bytes':>20}  {'of first':>8}  {'extra cost':>20}  {'of all':>8}  {'clones':>8}  status"
    first = frontier.points[0].peak
    for point in frontier.points:
        share = f"{100 * point.peak / first:.1f} %" if first else ""
        part = f"{100 * point.extra_cost / frontier.cost:.2f} %" if frontier.cost else ""
        sizes = f"{point.peak:>20,}  {share:>8}  {point.extra_cost:>20,}  {part:>8}"
        yield f"{sizes}  {len(point.clones):>8,}  {point.status}"
    if not frontier.is_within:
        yield "nothing was found within the budget; the last point is the nearest"
