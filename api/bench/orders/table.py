"""The table of what orders graphs: our own search, and peers, each a function of a graph and a time limit.

A peer returns an order, or None where it found none in time. What it returns is checked, and its bytes are counted from
the graph and the order alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
_INDUCTOR = "memplan.api.bench.orders.inductor"
PEERS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "given-order": ("memplan.api.bench.orders.table:given_order", ()),
    "inductor-lpmf": (f"{_INDUCTOR}:least_peak_first", ("torch",)),
    "inductor-bfs": (f"{_INDUCTOR}:breadth_first", ("torch",)),
    "inductor-dfs": (f"{_INDUCTOR}:depth_first", ("torch",)),
}
"""From a peer's name to its function, and the packages that it needs."""
ORDERERS = (OURS, *PEERS)


def given_order(graph: OperationGraph, _: float) -> Sequence[int]:
    """Return the given order."""
    return range(len(graph.ops))


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
    """Return what orders a graph and says what came of it, as a Result has it, imported and warm.

    Raises OptionError where what a peer needs is not installed.
    """
    if solver == OURS:
        load_kernels(ORDER)
        return _ours
    where, packages = PEERS[solver]
    require(f"solver: {solver}", packages)
    peer = cast(OrderPeer, imported(where))
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
