"""Orders of graphs in benchmarks: memplan's search, and the given order.

An order is checked, and its bytes are counted from the graph and the order alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memplan.extensions.networks.operations.graph import OperationGraph
from memplan.extensions.networks.operations.order_check import peak_of
from memplan.extensions.networks.order.core import LIBRARY
from memplan.extensions.networks.order.search.solve import order_operations
from memplan.planner.errors import InputError


def load() -> None:
    """Load everything that memplan's search needs, before the measurement."""
    _ = LIBRARY.handle


def _measure_memplan(graph: OperationGraph, time_limit_s: float) -> dict[str, Any]:
    result = order_operations(graph, time_limit_s=time_limit_s)
    facts = judge_order(result.ordered or graph, result.order)
    return {**facts, "lower_bound": result.lower_bound, "status": result.status}


def judge_order(graph: OperationGraph, order: Sequence[int]) -> dict[str, Any]:
    """Return the checked figures of an order as fields of a Result."""
    facts: dict[str, Any] = {"buffers": len(graph.ops), "lower_bound": 0}
    try:
        return {"outcome": "plan", "peak": peak_of(graph, order), "status": "feasible", **facts}
    except InputError as error:
        return {"outcome": "invalid", "message": str(error), **facts}


ORDERERS: Mapping[str, Callable[[OperationGraph, float], dict[str, Any]]] = {
    "order": _measure_memplan,
    "given-order": lambda graph, _: judge_order(graph, range(len(graph.ops))),
}
"""Functions that order a graph within a time limit, by their names as solvers."""
