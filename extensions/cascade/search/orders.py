"""Other orders of the operations, such as one branch after another, in which regions may save more memory.

Regions are intervals of an order. To order the regions of a chain, each region counts as one operation, and only the
tensors that are whole between regions count. Orders depth first, heads early and by lowest peak are tried as well.
"""

import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy as np

from memplan.extensions.cascade.access.access_graph import AccessGraph, reorder_operations
from memplan.extensions.cascade.core.kernels import FOUND_FROM, FOUND_PEAK, FOUND_TO
from memplan.extensions.cascade.search.options import OrderName
from memplan.extensions.cascade.search.passes import SeveralPasses, Variant
from memplan.programs.operations.graph import OperationGraph, graph_from
from memplan.programs.order.search.solve import order_operations
from memplan.programs.order.search.starts import breadth_first, depth_first, order_with_heads_early

After = Sequence[Sequence[int]]
_LIMIT_S = 5.0
_MOST_LOWER = 2
"""The maximum number of chains, besides the lowest-peak chain, that yield a new order because it lowers their peak."""


def order_graph(graph: AccessGraph, after: After, name: OrderName) -> AccessGraph:
    """Return the graph in the order `name`; `after` lists, for each operation, the operations that must precede it."""
    if name in ("several", "given"):
        return graph
    single = _operation_graph(graph, after)
    order = _min_peak_order(single) if name == "least-peak" else tuple(_ORDERS[name](single))
    return graph if list(order) == sorted(order) else reorder_operations(graph, order)


def alternative_orders(
    given: Variant, after: After, streamed: Collection[int], most: int, is_over: Callable[[], bool]
) -> Iterator[AccessGraph]:
    """Yield copies of the graph with other operation orders; nothing if only one order exists.

    `after` lists, for each operation, the operations that must precede it; it is empty if only tensors order
    operations. Only chains with at most `most` multiplications are reordered; `streamed` tensors occupy no bytes
    between operations.
    """
    graph, single = given.graph, _operation_graph(given.graph, after)
    if not _has_several_orders(single):
        return
    seen = {tuple(range(len(graph.operations)))}
    orders = itertools.chain(_region_orders(given, after, streamed, most), _operation_orders(single))
    # Each search for an order takes long, so check the time before each one.
    while not is_over() and (order := next(orders, None)) is not None:
        if order not in seen:
            seen.add(order)
            yield reorder_operations(graph, order)


def orders_of_passes(
    given: Variant, passes: SeveralPasses, streamed: Collection[int], most: int
) -> Iterator[AccessGraph]:
    """Yield graphs with second passes (repeated operations), reordered so that their chains' peaks fall."""
    seen = set[tuple[int, ...]]()
    for chain in reversed(passes.chains) if _has_several_orders(_operation_graph(given.graph, ())) else ():
        alone = passes.graph_of_chain(chain)
        if alone.graph.origins not in seen and chain.macs <= most:
            seen.add(alone.graph.origins)
            for order in _region_orders(alone, (), streamed, most):
                if list(order) != sorted(order):
                    yield reorder_operations(alone.graph, order)


def _has_several_orders(single: OperationGraph) -> bool:
    return not list(range(len(single.ops))) == list(depth_first(single)) == list(breadth_first(single))


def _region_orders(given: Variant, after: After, streamed: Collection[int], most: int) -> Iterator[tuple[int, ...]]:
    """Yield orders that lower the peaks of chains (sequences of regions); the first is for the lowest-peak chain."""
    chains = sorted((chain for chain in given.chains if chain.macs <= most), key=lambda chain: (chain.peak, chain.macs))
    lower = 0
    for k, chain in enumerate(chains):
        regions = [tuple(range(*map(int, given.found[row, [FOUND_FROM, FOUND_TO]]))) for row in chain.rows]
        peaks = [int(given.found[row, FOUND_PEAK]) for row in chain.rows]
        # The same orders must be found on every machine, so limit the effort by counted work and not by the clock.
        placed = order_operations(
            _region_graph(given.graph, after, regions, peaks, streamed), time_limit_s=_LIMIT_S, deterministic=True
        )
        if k == 0 or placed.peak < chain.peak:
            yield tuple(v for region in placed.order for v in regions[region])
            lower += k > 0
        if lower == _MOST_LOWER:
            return


def _operation_orders(single: OperationGraph) -> Iterator[tuple[int, ...]]:
    # Rows stay in memory until the outputs that read them are computed, so compute outputs as early as possible.
    yield tuple(order_with_heads_early(single))
    yield tuple(depth_first(single))
    yield _min_peak_order(single)


def _min_peak_order(single: OperationGraph) -> tuple[int, ...]:
    return order_operations(single, time_limit_s=_LIMIT_S, deterministic=True).order


_ORDERS = {"breadth-first": breadth_first, "depth-first": depth_first, "heads-early": order_with_heads_early}


def _operation_graph(graph: AccessGraph, after: After) -> OperationGraph:
    ops: list[dict[str, Any]] = [
        {"in": [read.tensor for read in row.reads], "out": list(row.outputs), "work": row.work}
        for row in graph.operations
    ]
    for row, earlier in zip(ops, after, strict=False):
        row["after"] = list(earlier)
    return graph_from({"size": [row.bytes for row in graph.tensors], "kept": list(graph.kept), "ops": ops})


def _region_graph(
    graph: AccessGraph, after: After, regions: list[tuple[int, ...]], peaks: list[int], streamed: Collection[int]
) -> OperationGraph:
    """Return a graph whose operations are the regions; bytes kept inside a region count as working memory."""
    sizes = [0 if t in streamed else row.bytes for t, row in enumerate(graph.tensors)]
    region_of = {v: k for k, region in enumerate(regions) for v in region}
    maker = np.array([-1 if v is None else v for v in graph.maker], dtype=np.int64)
    last = np.array(graph.last_users, dtype=np.int64)
    ops: list[dict[str, Any]] = []
    for k, region in enumerate(regions):
        made = [t for v in region for t in graph.operations[v].outputs if graph.last_users[t] > region[-1]]
        read = {one.tensor for v in region for one in graph.operations[v].reads}
        outside = [t for t in read if graph.maker[t] is None or (graph.maker[t] or 0) < region[0]]
        # A whole tensor is alive in a region if it is written before the region's end and used in or after the region.
        is_alive = (maker < region[0]) & (last >= region[0]) | (maker <= region[-1]) & (last > region[-1])
        alive = sum(sizes[t] for t in np.flatnonzero(is_alive).tolist())
        ops.append({"in": sorted(outside), "out": sorted(set(made)), "work": max(0, peaks[k] - alive)})
        if after:
            ops[-1]["after"] = sorted({region_of[u] for v in region for u in after[v]} - {k})
    return graph_from({"size": sizes, "kept": list(graph.kept), "ops": ops})
