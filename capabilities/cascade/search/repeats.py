"""Regions that start earlier than their cut: operations run again, instead of keeping what they made for a late reader.

A tensor that is read before and behind a global pool (squeeze-and-excite) must be whole in between. Its operations,
back to a smaller tensor, are run again in front of the late reader; the search then cuts the two runs apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from memplan.capabilities.cascade.access.access_graph import AccessGraph
from memplan.capabilities.cascade.access.repeated import repeated
from memplan.capabilities.cascade.kernels.found import FOUND_FROM, FOUND_PEAK, FOUND_TO
from memplan.capabilities.cascade.search.front import Chain, front
from memplan.capabilities.cascade.search.options import WORST, CascadeOptions
from memplan.capabilities.cascade.search.passes import MOST_OPERATIONS, Variant, several_passes
from memplan.capabilities.cascade.search.search import RegionSearch
from memplan.capabilities.cascade.search.windows import Windows

MOST_ROUNDS = 8
_MOST_TENSORS, _MOST_DEPTHS = 2, 3


def variant_of(graph: AccessGraph, search: RegionSearch, is_over: Callable[[], bool]) -> Variant:
    """Return the regions that a search finds, and the front of their chains."""
    found = search.run(is_over)
    return Variant(graph, found, front(found, len(graph.operations)) if graph.operations else [])


def with_repeats(
    given: Variant, options: CascadeOptions, windows: Windows, is_over: Callable[[], bool]
) -> Iterator[Variant]:
    """Yield graphs in which operations run again: all second passes, then more, as long as that lowers the least peak.

    `windows` are those of the search of the graph that is given.
    """
    most = min(options.most_macs(given.graph.macs), int(given.graph.macs * WORST))
    current = given
    if is_over():
        return
    # The given graph has a chain of the fewest multiplications, above whose peak only traffic can be less.
    highest = given.chains[0].peak if given.chains and "traffic" not in options.objectives else 2**62
    passes = several_passes(given, lambda graph: RegionSearch(graph, options, windows=windows).run(is_over), highest)
    least = None if passes is None or not passes.is_new else passes.least(most)
    if passes is not None and least is not None:
        yield passes
        graph = passes.alone(least).graph
        current = variant_of(graph, RegionSearch(graph, options, windows=windows), is_over)
    for _ in range(MOST_ROUNDS):
        best: Variant | None = None
        least = current.least(most)
        for graph in _candidates(current, least):
            if is_over():
                return
            if graph.macs > most:
                continue
            variant = variant_of(graph, RegionSearch(graph, options, windows=windows), is_over)
            reached = variant.least(most)
            # Only a lower peak counts: the same peak for more multiplications is worth nothing.
            if reached is not None and least is not None and (reached.peak, reached.macs) < (least.peak, 0):
                best, least = variant, reached
        if best is None:
            return
        yield best
        current = best


def _candidates(variant: Variant, least: Chain | None) -> Iterator[AccessGraph]:
    """Yield graphs in which a tensor that is alive at the peak is made again for its late readers."""
    if least is None:
        return
    graph, found = variant.graph, variant.found
    peaks = [row for row in least.rows if found[row, FOUND_PEAK] == least.peak]
    alive: dict[int, None] = {}
    for row in peaks:
        first, end = int(found[row, FOUND_FROM]), int(found[row, FOUND_TO])
        for tensor, maker in enumerate(graph.maker):
            if maker is not None and maker < end and graph.last[tensor] >= first:
                alive[tensor] = None
    forked = [t for t in alive if len(graph.readers[t]) > 1 and graph.last[t] < len(graph.operations)]
    for tensor in sorted(forked, key=lambda t: (-graph.tensors[t].bytes, t))[:_MOST_TENSORS]:
        readers = graph.readers[tensor]
        gaps = [(late - early, late) for early, late in pairwise(readers)]
        # The longest wait between two readers is where not keeping it saves most.
        late = max(gaps)[1]
        for operations in _depths(graph, tensor):
            yield repeated(graph, {late: operations})


def _depths(graph: AccessGraph, tensor: int) -> Iterator[frozenset[int]]:
    """Yield sets of operations that make a tensor again, each from fewer bytes than the one before."""
    chosen: set[int] = set()
    wanted, least, count = graph.maker[tensor], graph.tensors[tensor].bytes, 0
    while wanted is not None and len(chosen) < MOST_OPERATIONS and count < _MOST_DEPTHS:
        if graph.operations[wanted].role != "striped":
            return
        chosen.add(wanted)
        outside = {
            read.tensor for v in chosen for read in graph.operations[v].reads if graph.maker[read.tensor] not in chosen
        }
        bytes_ = sum(graph.tensors[t].bytes for t in outside)
        # Going further back pays only where fewer bytes are kept in its place.
        if bytes_ < least:
            least, count = bytes_, count + 1
            yield frozenset(chosen)
        inner = [t for t in outside if graph.maker[t] is not None and _is_striped(graph, t)]
        wanted = graph.maker[max(inner, key=lambda t: (graph.tensors[t].bytes, t))] if inner else None


def _is_striped(graph: AccessGraph, tensor: int) -> bool:
    maker = graph.maker[tensor]
    return maker is not None and graph.operations[maker].role == "striped"
