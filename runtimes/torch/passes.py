"""Passes for torch.fx that return a new graph module in another order, or with recomputation.

The new module computes the same results: each of its nodes is a copy of a given node and reads copies of that node's
inputs, and each given node has at least one copy.
"""

from collections.abc import Collection, Sequence
from typing import Any

from memplan.planner.errors import OperationsError
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.answer import RecomputedPoint
from memplan.programs.order.options import TIME_LIMIT_S
from memplan.programs.order.search.solve import order_operations
from memplan.runtimes.torch.fx import is_getitem
from memplan.runtimes.torch.graphs import SAME_STORAGE, ModuleGraph, graph_of


def reordered(
    module: Any,
    *,
    resident: Collection[str] | None = None,
    looking: frozenset[str] = SAME_STORAGE,
    time_limit_s: float = TIME_LIMIT_S,
    deterministic: bool = False,
) -> Any:
    """Return a torch.fx.GraphModule that computes the same results in the order with the least peak.

    Nodes must store their values in `meta["val"]`, as after torch.export or make_fx with fake tensors. If no better
    order is found, the module itself is returned. `resident` and `looking` have the meaning that they have in
    `graph_of`. Raises FormatError for a graph that cannot be read.
    """
    graph_and_nodes = graph_of(module, resident=resident, looking=looking)
    result = order_operations(graph_and_nodes.graph, time_limit_s=time_limit_s, deterministic=deterministic)
    return module if result.peak >= result.given_peak else reorder_module(graph_and_nodes, result.order)


def reorder_module(found: ModuleGraph, order: Sequence[int]) -> Any:
    """Return the module with its operations in the given order; raises OperationsError for an illegal order."""
    peak_of(found.graph, order)
    return _write_runs(found, order)


def clone_operations(found: ModuleGraph, point: RecomputedPoint) -> Any:
    """Return a module that runs operations in a recomputation point's order, which may repeat operations.

    A point is one choice of a frontier, on which lower peaks cost more. Raises OperationsError for a point that omits
    operations or uses a link.
    """
    if len(point.order) < len(found.nodes):
        raise OperationsError(f"point: must run all {len(found.nodes)} operations of the graph, got {len(point.order)}")
    if point.steps:
        raise OperationsError("point: must not use a link, got tensors that are sent over one")
    return _write_runs(found, point.order)


def _write_runs(found: ModuleGraph, runs: Sequence[int]) -> Any:
    """Return a module whose nodes run in the given order, with repetitions; readers use the latest copies."""
    from torch.fx import Graph, GraphModule

    graph = Graph()
    copies: dict[Any, Any] = {}
    looking: dict[Any, list[Any]] = {}
    for node in found.module.graph.nodes:
        if node.op == "placeholder":
            copies[node] = graph.node_copy(node)
        elif node in found.views:
            for source in node.all_input_nodes:
                looking.setdefault(source, []).append(node)
    copy = _Copies(graph, copies)
    for v in runs:
        node = found.nodes[v]
        made = graph.node_copy(node, copy.copy_of)
        copies[node] = made
        _discard_views(node, looking, copies)
        for item in filter(is_getitem, looking.get(node, ())):
            # A tuple whose items are taken late would keep all its tensors alive, so copy the items at once.
            copy.copy_of(item)
    for node in found.module.graph.nodes:
        if node.op == "output":
            graph.node_copy(node, copy.copy_of)
    graph.set_codegen(found.module.graph._codegen)
    graph.lint()
    return GraphModule(found.module, graph, class_name=type(found.module).__name__)


class _Copies:
    """The copies of nodes in a new graph; views and attributes are copied when a node first reads them."""

    def __init__(self, graph: Any, copies: dict[Any, Any]) -> None:
        self._graph, self._copies = graph, copies

    def copy_of(self, node: Any) -> Any:
        """Return the latest copy of a node; if the node has none, copy it now."""
        missing = [node] if node not in self._copies else []
        while missing:
            last = missing[-1]
            waits = [source for source in last.all_input_nodes if source not in self._copies]
            missing += waits
            if not waits:
                missing.pop()
                if last not in self._copies:
                    self._copies[last] = self._graph.node_copy(last, self._copies.__getitem__)
        return self._copies[node]


def _discard_views(node: Any, looking: dict[Any, list[Any]], copies: dict[Any, Any]) -> None:
    stack = list(looking.get(node, ()))
    while stack:
        view = stack.pop()
        if copies.pop(view, None) is not None:
            stack += looking.get(view, ())
