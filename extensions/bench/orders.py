"""Benchmarks of operation orders: memplan's search for an order, and the graph's given order as a baseline.

Each order is checked, and its live peak is recomputed from the graph and the order alone.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memplan.planner.errors import InputError
from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.core import LIBRARY
from memplan.programs.order.search.solve import order_operations


def load() -> None:
    """Load the compiled library of memplan's order search now, so that a measured run does not include loading."""
    _ = LIBRARY.handle


def _memplan_order_facts(graph: OperationGraph, time_limit_s: float) -> dict[str, Any]:
    result = order_operations(graph, time_limit_s=time_limit_s)
    facts = judge_order(result.ordered or graph, result.order)
    return {**facts, "lower_bound": result.lower_bound, "status": result.status}


def judge_order(graph: OperationGraph, order: Sequence[int]) -> dict[str, Any]:
    """Return the fields of a Result for an order: its live peak in bytes or, for an invalid order, the error."""
    facts: dict[str, Any] = {"buffers": len(graph.ops), "lower_bound": 0}
    try:
        return {"outcome": "plan", "peak": peak_of(graph, order), "status": "feasible", **facts}
    except InputError as error:
        return {"outcome": "invalid", "message": str(error), **facts}


ORDERERS: Mapping[str, Callable[[OperationGraph, float], dict[str, Any]]] = {
    "order": _memplan_order_facts,
    "given-order": lambda graph, _: judge_order(graph, range(len(graph.ops))),
}
"""Maps a solver name to a function that orders a graph within a time limit and returns the fields of a Result."""
