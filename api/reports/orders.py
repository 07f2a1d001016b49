"""Reports of an order of operations: for programs, and for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.in_place import written_over_along
from memplan.solvers.order.placement.joint import PlacedOrder
from memplan.solvers.order.solve import OrderResult


def placed_facts(graph: OperationGraph, placed: PlacedOrder) -> dict[str, Any]:
    """Return what a program is told of an order and its plan, see `facts`."""
    over = sorted(written_over_along(graph, placed.result.order).items())
    told = facts(graph, placed.result)
    sources = [graph.ops[operation].source for operation in placed.result.order]
    more: dict[str, Any] = {"sources": sources} if any(sources) else {}
    if placed.result.regions:
        more["regions"] = [asdict(region) for region in placed.result.regions]
    return {**told, "placed_peak": placed.placed_peak, "placed_status": placed.status, "written_over": over, **more}


def facts(graph: OperationGraph, result: OrderResult) -> dict[str, Any]:
    """Return what a program is told: `order` holds positions of operations as in the input; sizes are in bytes."""
    return {
        "name": graph.name,
        "status": result.status,
        "peak": result.peak,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "given_peak": result.given_peak,
        "saved_bytes": result.given_peak - result.peak,
        "moves": result.moves,
        "wall_time_s": result.wall_time_s,
        "order": result.order,
        "witness": asdict(result.witness),
    }


def lines(graph: OperationGraph, placed: PlacedOrder) -> Iterator[str]:
    """Yield the rows of a table for people."""
    result = placed.result
    saved = result.given_peak - result.peak
    share = f" ({100 * saved / result.given_peak:.1f} %)" if result.given_peak else ""
    gap = "unknown" if result.gap is None else f"{100 * result.gap:.2f} %"
    proof = {"state": "a state that every order has", "cut": "a minimum cut", "exhaustion": "a complete search"}
    yield f"operations   {len(graph.ops):>20,}"
    yield f"given peak   {result.given_peak:>20,} bytes"
    yield f"best peak    {result.peak:>20,} bytes, {result.status}"
    yield f"lower bound  {result.lower_bound:>20,} bytes, by {proof[result.witness.kind]}; gap {gap}"
    if placed.placed_peak is None:
        yield f"placed peak  {'-':>20} no plan within the time"
    else:
        yield f"placed peak  {placed.placed_peak:>20,} bytes, {placed.status}"
    yield f"saved        {saved:>20,} bytes{share}"
    yield f"moves        {result.moves:>20,} operations are moved"
