"""The table of what orders graphs: our own search, and peers, each a function of a graph and a time limit.

A peer returns an order, or None where it found none in time. What it returns is checked, and its bytes are counted from
the graph and the order alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from memplan.capabilities.order.kernels import GROUP as ORDER
from memplan.capabilities.order.search.solve import order_operations
from memplan.planner.errors import FormatError, InputError
from memplan.planner.errors.extras import imported, require
from memplan.planner.operations.graph import OperationGraph, read_graph
from memplan.planner.operations.order_check import peak_of
from memplan.solvers.kernels.kernel import load_kernels

OrderPeer = Callable[[OperationGraph, float], Sequence[int] | None]
OURS = "order"


@dataclass(frozen=True)
class Orderer:
    """A row of the table: `where` is `module:function`, in a package that it needs; our own search has neither."""

    name: str
    summary: str
    where: str | None = None
    package: str | None = None

    def load(self) -> OrderPeer:
        """Import the peer's function; raises OptionError where what it needs is not installed."""
        require(f"solver: {self.name}", () if self.package is None else (self.package,))
        return cast(OrderPeer, imported(f"memplan.api.bench.orders.{self.where}"))


ORDERERS = {
    row.name: row
    for row in (
        Orderer(OURS, "our own search"),
        Orderer("given-order", "the order as it is", "simple:given_order"),
        Orderer("inductor-lpmf", "torch's inductor: least peak memory first", "inductor:least_peak_first", "torch"),
        Orderer("inductor-bfs", "torch's inductor: breadth first", "inductor:breadth_first", "torch"),
        Orderer("inductor-dfs", "torch's inductor: depth first", "inductor:depth_first", "torch"),
        Orderer("downsets", "dynamic programming over all states, as SERENITY does", "simple:downsets"),
        Orderer("order-cp-sat", "constraint programming: a place for each operation", "cp_sat:places", "ortools"),
    )
}


def read_instance(name: str) -> OperationGraph:
    """Read the graph in a file of a suite; raises InputError with the name of the file."""
    path = Path(name)
    try:
        return read_graph(path.read_bytes())
    except OSError as error:
        raise FormatError(f"{path}: {error.strerror}") from error
    except InputError as error:
        raise type(error)(*(f"{path}: {sentence}" for sentence in error.sentences)) from error


def prepared(solver: str) -> Callable[[OperationGraph, float], dict[str, Any]]:
    """Return what orders a graph and says what came of it, as a Result has it, imported and warm."""
    if solver == OURS:
        load_kernels(ORDER)
        return _ours
    peer = ORDERERS[solver].load()
    peer(OperationGraph(), 1.0)
    return lambda graph, time_limit_s: _judged(graph, peer(graph, time_limit_s))


def _ours(graph: OperationGraph, time_limit_s: float) -> dict[str, Any]:
    result = order_operations(graph, time_limit_s=time_limit_s)
    return {**_judged(result.graph, result.order), "lower_bound": result.lower_bound, "status": result.status}


def _judged(graph: OperationGraph, order: Sequence[int] | None) -> dict[str, Any]:
    """Check an order and count its bytes anew."""
    facts: dict[str, Any] = {"buffers": len(graph.ops), "lower_bound": 0}
    if order is None:
        return {"outcome": "none", "message": "no order in time", **facts}
    try:
        return {"outcome": "plan", "peak": peak_of(graph, order), "status": "feasible", **facts}
    except InputError as error:
        return {"outcome": "invalid", "message": str(error), **facts}
