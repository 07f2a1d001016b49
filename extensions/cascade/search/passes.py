"""Second passes: operations that run again after a global sum, so that no large tensor is kept across the sum.

A tensor that is read before and after a global pool (squeeze-and-excite) must be whole in between, and so must a
shortcut around the pool. If the operations that compute these tensors run again right before the late reader, only the
inputs of these operations must be whole. Graphs with second passes share all cuts outside of the passes with the given
graph. So the best chain through all of these graphs decides whether, and from where, operations run again. After that,
other tensors that are alive at the lowest peak are recomputed for their late readers, one by one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from memplan.extensions.cascade.access.access_graph import MOST_BYTES, MOST_MACS, AccessGraph, repeat_operations
from memplan.extensions.cascade.core.kernels import FOUND_FROM, FOUND_PEAK, FOUND_TO
from memplan.extensions.cascade.search.front import Chain, pareto_front
from memplan.extensions.cascade.search.options import LONGEST, WORST, CascadeOptions
from memplan.extensions.cascade.search.search import RegionSearch, Windows
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Rows

MOST_OPERATIONS = 24
"""The maximum number of operations in one second pass."""
_MOST_DEPTHS, _MOST_ALONE, _MOST_TENSORS = 3, 2, 2
MOST_ROUNDS = 8


class Pass(NamedTuple):
    """A second pass: operations that run again directly before operation `late`; `first` is the earliest one."""

    first: int
    late: int
    operations: frozenset[int]


@dataclass(frozen=True)
class Variant:
    """A graph, the regions found in it, and the Pareto front of the chains (sequences) of these regions."""

    graph: AccessGraph
    found: Rows
    chains: list[Chain]

    @property
    def cuts(self) -> int:
        """The number of the last cut (cuts are the places between operations), which is after all operations."""
        return len(self.graph.operations)

    def min_peak_chain(self, most: int) -> Chain | None:
        """Return the lowest-peak chain (sequence of regions) of at most `most` multiplications; None without one."""
        within = [chain for chain in self.chains if chain.macs <= most]
        return min(within, key=lambda chain: (chain.peak, chain.macs), default=None)

    @property
    def lengths(self) -> I64:
        """The number of operations of each region."""
        return self.found[:, FOUND_TO] - self.found[:, FOUND_FROM]

    def limit_lengths(self, longest: int) -> Self:
        """Return a variant with only the regions of at most `longest` operations, and their chains' Pareto front."""
        shorter = self._keep_rows(self.lengths <= longest) if longest < LONGEST else self
        return (
            shorter
            if shorter is self
            else replace(shorter, chains=pareto_front(shorter.found, shorter.cuts) if shorter.cuts else [])
        )

    def _keep_rows(self, is_kept: NDArray[np.bool_]) -> Self:
        return replace(self, found=self.found[is_kept])

    def graph_of_chain(self, chain: Chain) -> "Variant":
        """Return a variant of the graph whose front consists of the given chain alone."""
        return Variant(self.graph, self.found, [chain])


@dataclass(frozen=True)
class SeveralPasses(Variant):
    """Graphs with second passes (repeated operations), joined at shared cuts (places between operations).

    `sources` has, for each region, the number of its graph and its ends there. `passes` has the second passes of each
    graph. The first graph is the original one, without second passes.
    """

    passes: Sequence[Sequence[Pass]] = ()
    sources: I64 = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    n_cuts: int = 0

    @property
    def cuts(self) -> int:
        """The number of the last cut, in the shared numbering of the cuts of all graphs."""
        return self.n_cuts

    @property
    def lengths(self) -> I64:
        """The number of operations of each region, counted in the region's own graph."""
        return self.sources[:, 2] - self.sources[:, 1]

    def _keep_rows(self, is_kept: NDArray[np.bool_]) -> Self:
        return replace(self, found=self.found[is_kept], sources=self.sources[is_kept])

    @property
    def is_new(self) -> bool:
        """True if any chain (sequence of regions) of the front uses a second pass."""
        return any(self.sources[list(chain.rows), 0].any() for chain in self.chains)

    def graph_of_chain(self, chain: Chain) -> Variant:
        """Return a variant with only the second passes (repetitions) that a chain uses, and with its regions."""
        chosen: dict[Pass, None] = {}
        for which, first, end in self.sources[list(chain.rows)].tolist():
            shift = 0
            for one in self.passes[which]:
                # A chain uses a second pass if one of its regions has an operation from the pass's first to its last.
                if first <= one.late + shift + len(one.operations) and end > one.first + shift:
                    chosen[one] = None
                shift += len(one.operations)
        graph = add_passes(self.graph, sorted(chosen, key=lambda one: one.late))
        chain_rows, at = self.found[list(chain.rows)].copy(), 0
        for row, (_, first, end) in zip(chain_rows, self.sources[list(chain.rows)].tolist(), strict=True):
            row[FOUND_FROM], row[FOUND_TO] = at, at + end - first
            at += end - first
        rows = tuple(range(len(chain_rows)))
        return Variant(graph, chain_rows, [Chain(rows, chain.peak, chain.macs, chain.traffic)])


def add_passes(graph: AccessGraph, passes: Sequence[Pass]) -> AccessGraph:
    """Return a copy of the graph in which the operations of the given second passes run again."""
    return repeat_operations(graph, {one.late: one.operations for one in passes})


def chains_with_passes(given: Variant, search: Callable[[AccessGraph], Rows]) -> SeveralPasses | None:
    """Return the Pareto front of chains (sequences of regions), some with second passes.

    The chains are searched in the graph, and in its copies with second passes (repeated operations). Returns None if no
    second pass is possible, or if the graph is too large.
    """
    sets = list(_pass_sets(given.graph))
    # Second passes may double the multiplications and bytes beyond the limits of `AccessGraph`, so skip large graphs.
    is_large = 2 * given.graph.macs > MOST_MACS or 2 * sum(row.bytes for row in given.graph.tensors) > MOST_BYTES
    if not sets or is_large:
        return None
    every: list[Sequence[Pass]] = [(), *sets]
    founds = [given.found, *(search(add_passes(given.graph, passes)) for passes in sets)]
    numbers, count = _number_cuts(given.graph, every)
    rows, sources = [], []
    for which, rows_of_pass in enumerate(founds):
        ends = rows_of_pass[:, [FOUND_FROM, FOUND_TO]]
        own = rows_of_pass.copy()
        own[:, [FOUND_FROM, FOUND_TO]] = numbers[which][ends]
        if which:
            # The original graph already has the regions without second passes, so keep only regions with second passes.
            upto = np.concatenate([[0], np.cumsum(_cuts_in_passes(given.graph, every[which]))])
            inside = upto[ends[:, 1] + 1] > upto[ends[:, 0]]
            own, ends = own[inside], ends[inside]
        rows.append(own)
        sources.append(np.column_stack([np.full(len(ends), which), ends]))
    joined, source = np.concatenate(rows), np.concatenate(sources)
    order = np.lexsort((joined[:, FOUND_FROM], joined[:, FOUND_TO]))
    joined, source = np.ascontiguousarray(joined[order]), source[order]
    return SeveralPasses(given.graph, joined, pareto_front(joined, count), every, source, count)


def _cuts_in_passes(graph: AccessGraph, passes: Sequence[Pass]) -> I64:
    total = len(graph.operations) + sum(len(one.operations) for one in passes)
    apart, shift = np.zeros(total + 1, np.int64), 0
    for one in passes:
        apart[one.first + shift + 1 : one.late + shift + len(one.operations) + 1] = 1
        shift += len(one.operations)
    return apart


def _number_cuts(graph: AccessGraph, every: Sequence[Sequence[Pass]]) -> tuple[list[I64], int]:
    """Return each graph's cut numbers as an array, and the largest number.

    Cuts are the places between operations. They are numbered consecutively; a cut that graphs share has one number.
    """
    n = len(graph.operations)
    keys: list[list[tuple[int, int, int]]] = []
    for which, passes in enumerate(every):
        apart, row = _cuts_in_passes(graph, passes), []
        ends = [
            (one.late + sum(len(p.operations) for p in passes[:k]), len(one.operations)) for k, one in enumerate(passes)
        ]
        shift, k, since = 0, 0, 0
        for cut, is_apart in enumerate(apart.tolist()):
            while k < len(ends) and cut > sum(ends[k]):
                shift, k = shift + ends[k][1], k + 1
            since = since if is_apart else cut - shift
            # A cut in a second pass must sort after the last cut before the pass, so its key begins with that cut.
            row.append((since, which if is_apart else 0, cut if is_apart else 0))
        keys.append(row)
    numbers = {key: number for number, key in enumerate(sorted({key for row in keys for key in row}))}
    return [np.array([numbers[key] for key in row], np.int64) for row in keys], len(numbers) - 1 if n else 0


def _pass_sets(graph: AccessGraph) -> Iterator[tuple[Pass, ...]]:
    """Yield sets of disjoint second passes: each full set, then every other pass of the set, from both starts.

    A second pass consists of operations that run again.
    """
    # After one second pass, a region may do better without the next second pass, so also try every other pass.
    every = (chosen[start::step] for chosen in _disjoint_sets(graph) for start, step in ((0, 1), (0, 2), (1, 2)))
    yield from dict.fromkeys(filter(None, every))


def _disjoint_sets(graph: AccessGraph) -> Iterator[tuple[Pass, ...]]:
    """Yield sets of second passes that do not overlap; every possible second pass is in one of the sets."""
    kinds: dict[tuple[int, int], dict[Pass, None]] = {}
    for position, row in enumerate(graph.operations):
        if row.role == "sum":
            for k, crossing in enumerate(_crossing_tensors(graph, position)):
                for depth, one in enumerate(_passes_at(graph, position, crossing)):
                    kinds.setdefault((depth, k), {})[one] = None
    for _, passes in sorted(kinds.items()):
        waiting = sorted(passes, key=lambda one: (one.late, one.first))
        while waiting:
            chosen: list[Pass] = []
            rest: list[Pass] = []
            for one in waiting:
                overlaps = bool(chosen) and one.first <= chosen[-1].late
                (rest if overlaps else chosen).append(one)
            yield tuple(chosen)
            waiting = rest


def _crossing_tensors(graph: AccessGraph, position: int) -> list[list[int]]:
    crossing = [
        t
        for t, (maker, last) in enumerate(zip(graph.maker, graph.last_users, strict=True))
        if maker is not None and maker < position < last < len(graph.operations) and _is_image(graph, t)
    ]
    crossing.sort(key=lambda t: (-graph.tensors[t].bytes, t))
    return [crossing, *([t] for t in crossing[:_MOST_ALONE] if len(crossing) > 1)] if crossing else []


def _passes_at(graph: AccessGraph, position: int, crossing: list[int]) -> Iterator[Pass]:
    """Yield second passes that recompute the tensors `crossing` after a sum; each reads fewer bytes than the last."""
    late = min(reader for t in crossing for reader in graph.readers[t] if reader > position)
    least, count = sum(graph.tensors[t].bytes for t in crossing), 0
    wanted, again = set(crossing), set[int]()
    for first in range(position - 1, max(-1, position - 1 - 2 * MOST_OPERATIONS), -1):
        row = graph.operations[first]
        if not wanted.intersection(row.outputs):
            continue
        if row.role != "striped" or len(again) == MOST_OPERATIONS or count == _MOST_DEPTHS:
            return
        again.add(first)
        # Tensors of one pixel, such as the output of a sum, are small, so keep them rather than recompute them.
        wanted = {t for t in wanted.union(read.tensor for read in row.reads) if _is_image(graph, t)} - set(row.outputs)
        bytes_ = sum(graph.tensors[t].bytes for t in wanted)
        if bytes_ < least:
            least, count = bytes_, count + 1
            yield Pass(first, late, frozenset(again))


def _is_image(graph: AccessGraph, tensor: int) -> bool:
    row = graph.tensors[tensor]
    return row.rows * row.columns > 1


def variant_of(graph: AccessGraph, search: RegionSearch, is_over: Callable[[], bool]) -> Variant:
    """Search a graph's regions; return the graph with them and with the Pareto front of their chains (sequences)."""
    rows = search.run(is_over)
    return Variant(graph, rows, pareto_front(rows, len(graph.operations)) if graph.operations else [])


def repeated_variants(
    given: Variant, options: CascadeOptions, windows: Windows, is_over: Callable[[], bool]
) -> Iterator[Variant]:
    """Yield variants with repeated operations: first with second passes, then with more repeats while the peak falls.

    `windows` is the cache of regions from the search of the original graph.
    """
    most = min(options.max_macs(given.graph.macs), int(given.graph.macs * WORST))
    current = given
    if is_over():
        return
    passes = chains_with_passes(given, lambda graph: RegionSearch(graph, options, windows=windows).run(is_over))
    least = None if passes is None or not passes.is_new else passes.min_peak_chain(most)
    if passes is not None and least is not None:
        yield passes
        graph = passes.graph_of_chain(least).graph
        current = variant_of(graph, RegionSearch(graph, options, windows=windows), is_over)
    for _ in range(MOST_ROUNDS):
        best: Variant | None = None
        least = current.min_peak_chain(most)
        for graph in _recomputing_graphs(current, least):
            if is_over():
                return
            if graph.macs > most:
                continue
            variant = variant_of(graph, RegionSearch(graph, options, windows=windows), is_over)
            reached = variant.min_peak_chain(most)
            # A repeat that does not lower the peak only adds multiplications, so require a lower peak.
            if reached is not None and least is not None and (reached.peak, reached.macs) < (least.peak, 0):
                best, least = variant, reached
        if best is None:
            return
        yield best
        current = best


def _recomputing_graphs(variant: Variant, least: Chain | None) -> Iterator[AccessGraph]:
    """Yield graphs that each recompute one tensor after the longest gap between its readers.

    The tensors are alive at the peak of the chain (sequence of regions) `least`.
    """
    if least is None:
        return
    graph, rows = variant.graph, variant.found
    peaks = [row for row in least.rows if rows[row, FOUND_PEAK] == least.peak]
    alive: dict[int, None] = {}
    for row in peaks:
        first, end = int(rows[row, FOUND_FROM]), int(rows[row, FOUND_TO])
        for tensor, maker in enumerate(graph.maker):
            if maker is not None and maker < end and graph.last_users[tensor] >= first:
                alive[tensor] = None
    forked = [t for t in alive if len(graph.readers[t]) > 1 and graph.last_users[t] < len(graph.operations)]
    for tensor in sorted(forked, key=lambda t: (-graph.tensors[t].bytes, t))[:_MOST_TENSORS]:
        readers = graph.readers[tensor]
        gaps = [(late - early, late) for early, late in pairwise(readers)]
        # The longest gap between two readers saves bytes for the longest time, so recompute after this gap.
        late = max(gaps)[1]
        for operations in _recomputing_sets(graph, tensor):
            yield repeat_operations(graph, {late: operations})


def _recomputing_sets(graph: AccessGraph, tensor: int) -> Iterator[frozenset[int]]:
    """Yield sets of operations that recompute a tensor; each reads fewer input bytes than the previous set."""
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
        # A larger set of operations reads other inputs, so yield the set only if these inputs have fewer bytes.
        if bytes_ < least:
            least, count = bytes_, count + 1
            yield frozenset(chosen)
        inner = [t for t in outside if graph.maker[t] is not None and _is_striped(graph, t)]
        wanted = graph.maker[max(inner, key=lambda t: (graph.tensors[t].bytes, t))] if inner else None


def _is_striped(graph: AccessGraph, tensor: int) -> bool:
    maker = graph.maker[tensor]
    return maker is not None and graph.operations[maker].role == "striped"
