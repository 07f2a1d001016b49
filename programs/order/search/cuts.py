"""Lower bounds by minimum cuts: the fewest live bytes, over all states, while a macro (merged operations) runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memplan.planner.model.buffer_table import I64
from memplan.programs.order.core.kernels import CUT, Network, close_cheaply
from memplan.programs.order.search.macros import MacroGraph
from memplan.programs.order.search.parts import OrderPart, flatten_lists
from memplan.solvers.core.tables import Reference

ENDLESS = 2**62
_MOST_CHOICES = 3
"""The maximum number of overwritable inputs of a step that have other readers; for more, no cut is computed."""
_Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Cut:
    """A lower bound on the live bytes while `macro` runs; it is exact if only the macros in `done` have run before."""

    bound: int
    done: list[int]
    macro: int


class FlowArcs:
    """The arcs (from, to, capacity) of a flow network of n nodes, each with a reverse arc of capacity 0.

    After a flow has been sent, the capacity of arc `backward[k]` is the flow on arc k.
    """

    def __init__(self, n: int, arcs: Sequence[tuple[int, int, int]]) -> None:
        """Build the arcs between n nodes from (from, to, capacity), each with its reverse arc."""
        out: list[list[int]] = [[] for _ in range(n)]
        for k, (a, b, _) in enumerate(arcs):
            out[a].append(2 * k)
            out[b].append(2 * k + 1)
        self._first, sorted_arcs = flatten_lists(out)
        place = np.empty(2 * len(arcs), dtype=np.int64)
        place[sorted_arcs] = np.arange(2 * len(arcs))
        rows = np.array(arcs, dtype=np.int64).reshape(-1, 3)
        ends = rows[:, 1::-1].ravel()
        self._to, self._back = ends[sorted_arcs], place[sorted_arcs ^ 1]
        self._rest = np.where(sorted_arcs % 2 == 0, rows[sorted_arcs // 2, 2], 0)
        self.backward = place[1::2]

    def network(self, gain: I64, price: I64, is_open: _Bools, flag: I64) -> Network:
        """Return the flow network with the given gains and prices of its nodes; only nodes with `is_open` count."""
        return Network(
            first=self._first,
            to=self._to,
            back=self._back,
            rest=self._rest.copy(),
            gain=gain,
            price=price,
            is_open=is_open,
            level=np.zeros(len(is_open), dtype=np.int64),
            flag=flag,
        )


class Cuts:
    """The minimum cuts of a part: the sets of macros, closed under predecessors, that leave the fewest bytes alive.

    The price of a macro is the bytes that it adds, its gain the bytes that it frees. A tensor is a gain once all its
    readers have run. Each set contains the predecessors of the running macro and excludes its successors. The members
    of the part are consecutive in the graph.
    """

    def __init__(self, graph: MacroGraph, part: OrderPart, flag: I64) -> None:
        """Prepare the flow network of a part; setting flag[0] stops all later computations."""
        self.part, self._graph = part, graph
        moves = part.forward.table
        self.n, self._flag = len(part.members), flag
        step_macro = np.repeat(np.arange(self.n), np.diff(moves.step_first))
        self._net = np.zeros(self.n, dtype=np.int64)
        np.add.at(self._net, step_macro, moves.net)
        self._size, self._moves = moves.size, moves
        arcs = [(v, u, ENDLESS) for v, row in enumerate(part.before) for u in row]
        tensor = np.repeat(np.arange(len(moves.size)), np.diff(moves.reader_first))
        arcs += [(self.n + int(t), int(v), ENDLESS) for t, v in zip(tensor, moves.reader, strict=True)]
        self._arcs = FlowArcs(self.n + len(moves.size), arcs)

    def cut(self, macro: int, step: int) -> Cut | None:
        """Return the minimum cut for a step of a macro; None if the flag was set, or for too many overwritable inputs.

        If outputs may overwrite inputs, it is the lowest cut over all sets of inputs that this macro reads last.
        """
        inputs = self._overwritable_tensors(int(self._moves.step_first[macro]) + step)
        if len(inputs) > _MOST_CHOICES:
            return None
        best: Cut | None = None
        # The order determines which inputs the macro is the last to read, so compute one flow for each set of inputs.
        for bits in range(1 << len(inputs)):
            read = {tensor for b, tensor in enumerate(inputs) if bits >> b & 1}
            others = {int(v) for tensor in read for v in self._readers(tensor) if v != macro}
            cut = self._cut_after(macro, step, others)
            if cut is None:
                return None
            if cut.macro >= 0 and (best is None or cut.bound < best.bound):
                best = cut
        return best

    def _overwritable_tensors(self, j: int) -> list[int]:
        first = self._moves.input_first[self._moves.over_first[j : j + 2]]
        inputs: list[int] = self._moves.over[first[0] : first[1]].tolist()
        return inputs

    def _readers(self, tensor: int) -> I64:
        return self._moves.reader[self._moves.reader_first[tensor] : self._moves.reader_first[tensor + 1]]

    def _cut_after(self, macro: int, step: int, others: set[int]) -> Cut | None:
        """Return the minimum cut over the states in which all macros in `others` have run; None if the flag was set.

        If a macro in `others` must run after `macro`, no such state exists, and the returned cut has the macro -1.
        """
        n, moves = self.n, self._moves
        base = self.part.members[0]
        needed, later = self._graph.ancestors[base + macro], self._graph.descendants[base + macro]
        for other in others:
            needed |= self._graph.ancestors[base + other] | 1 << (base + other)
        # No order runs a macro both before and after the running macro, so return the cut of an impossible condition.
        if needed & (later | 1 << (base + macro)):
            return Cut(0, [], -1)
        bought, barred = _bit_array(needed, base, n), _bit_array(later, base, n)
        is_open = np.ones(n + len(self._size), dtype=np.bool_)
        is_open[:n] = ~(bought | barred)
        is_open[macro] = False
        if len(self._size):
            is_open[n:] = ~np.logical_or.reduceat(barred[moves.reader], moves.reader_first[:-1])
        first = int(moves.step_first[macro])
        unread = moves.free[moves.free_first[first + step] : moves.free_first[moves.step_first[macro + 1]]]
        is_open[n + unread] = False
        # Macros that free bytes are gains and macros that add bytes are prices, so the cut is the cheapest closed set.
        gain = np.concatenate((np.maximum(-self._net, 0), self._size))
        price = np.concatenate((np.maximum(self._net, 0), np.zeros(len(self._size), dtype=np.int64)))
        network = self._arcs.network(gain, price, is_open, self._flag)
        if close_cheaply(Reference(network)) != CUT:
            return None
        done = bought | ((network.level[:n] >= 0) & is_open[:n])
        return Cut(self._live_bytes_during(done, macro, step), np.flatnonzero(done).tolist(), macro)

    def _live_bytes_during(self, done: _Bools, macro: int, step: int) -> int:
        """Return the live bytes while a step of a macro runs, if exactly the macros in `done` have run before."""
        moves = self._moves
        has_read = np.append(done, True)
        has_read[macro] = False
        live = self.part.start + int(self._net[done].sum())
        if len(self._size):
            live -= int(self._size[np.logical_and.reduceat(has_read[moves.reader], moves.reader_first[:-1])].sum())
        has_read[macro] = True
        first = int(moves.step_first[macro])
        for j in range(first, first + step):
            live += int(moves.net[j])
            for tensor in moves.free[moves.free_first[j] : moves.free_first[j + 1]].tolist():
                readers = moves.reader[moves.reader_first[tensor] : moves.reader_first[tensor + 1]]
                live -= int(self._size[tensor]) if has_read[readers].all() else 0
        inputs = self._overwritable_tensors(first + step)
        readers_left = {tensor: int((~has_read[self._readers(tensor)]).sum()) + 1 for tensor in inputs}
        less = self.part.saved_bytes(first + step, readers_left) if inputs else 0
        return live + int(moves.hill[first + step]) - less


def _bit_array(bits: int, first: int, count: int) -> _Bools:
    part = (bits >> first) & ((1 << count) - 1)
    packed = np.frombuffer(part.to_bytes(count // 8 + 1, "little"), dtype=np.uint8)
    return np.unpackbits(packed, count=count, bitorder="little").astype(np.bool_)
