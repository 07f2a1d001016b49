"""Starting orders, breadth first and depth first as in PyTorch's inductor (`torch/_inductor/memory.py`)."""

from collections.abc import Callable
from heapq import heapify, heappop, heappush

from memplan.programs.operations.graph import OperationGraph
from memplan.programs.order.search.macros import reversed_lists

LONGEST_HEAD = 8
"""The maximum number of operations on a path to an output for which the path runs as early as possible."""


def breadth_first(graph: OperationGraph) -> list[int]:
    """Return the breadth-first order: the next operation is always the one whose predecessors ran earliest."""
    rank = [0] * len(graph.ops)
    return _order_by_key(graph, lambda v: tuple(sorted(rank[u] for u in graph.predecessors[v])), rank)


def depth_first(graph: OperationGraph) -> list[int]:
    """Return the depth-first order: an operation's missing predecessors run directly before it, the smallest first."""
    weight = [
        (sum(graph.working_bytes[tensor] for tensor in (*graph.new_tensors[v], *row.inputs)), v)
        for v, row in enumerate(graph.ops)
    ]
    is_seen = [False] * len(graph.ops)
    order: list[int] = []
    for _, root in sorted(weight):
        stack = [] if is_seen[root] else [root]
        while stack:
            v = stack.pop()
            if v < 0:
                order.append(~v)
            elif not is_seen[v]:
                is_seen[v] = True
                # Operation v must run after its predecessors, so push ~v below them and run v when ~v is popped.
                stack.append(~v)
                needs = (u for u in graph.predecessors[v] if not is_seen[u])
                stack += sorted(needs, key=weight.__getitem__, reverse=True)
    return order


def order_with_heads_early(graph: OperationGraph) -> list[int]:
    """Return an order with short paths to outputs as early as possible; other operations keep their order."""
    n, following = len(graph.ops), reversed_lists(graph.predecessors)
    length = [n] * n
    for v in reversed(range(n)):
        ways = 1 + sum(length[w] for w in following[v])
        length[v] = ways if ways <= LONGEST_HEAD else n
    return _order_by_key(graph, lambda v: (length[v],), [0] * n)


def _order_by_key(graph: OperationGraph, key: Callable[[int], tuple[int, ...]], rank: list[int]) -> list[int]:
    """Return the order that always runs the ready operation of lowest key next; `rank` receives the positions."""
    waits, following = [len(row) for row in graph.predecessors], reversed_lists(graph.predecessors)
    ready = [(key(v), v) for v, count in enumerate(waits) if count == 0]
    heapify(ready)
    order: list[int] = []
    while ready:
        _, v = heappop(ready)
        rank[v] = len(order)
        order.append(v)
        for w in following[v]:
            waits[w] -= 1
            if waits[w] == 0:
                heappush(ready, (key(w), w))
    return order
