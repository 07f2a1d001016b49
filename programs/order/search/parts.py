"""Parts of a graph that are ordered separately; between them are macros (merged operations) in a fixed place."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.programs.order.core.kernels import Moves
from memplan.programs.order.search.macros import MacroGraph
from memplan.solvers.core.tables import Reference

_CODE_SEED = 20261121


@dataclass(frozen=True, eq=False)
class OrderPart:
    """A part of a graph: consecutive macros that run after exactly the earlier macros of the graph.

    `members` are positions in the macro graph, in a valid order; the number of a macro in the part is its index in this
    list. `start` and `end` are the bytes alive before and after the part.
    """

    members: list[int]
    before: list[list[int]]
    forward: Reference[Moves]
    backward: Reference[Moves]
    start: int
    end: int

    def moves(self, is_forward: bool) -> Reference[Moves]:
        """Return the table of the part's macros for one direction of search."""
        return self.forward if is_forward else self.backward

    def first_live(self, is_forward: bool) -> int:
        """Return the bytes alive before the first macro that a search in the given direction runs."""
        return self.start if is_forward else self.end

    def peaks(self, order: Sequence[int]) -> list[tuple[int, int, int]]:
        """Return (macro, step, live bytes) for each step of an order, with macros numbered as in the part."""
        moves, (step_first, free_first, hill, net, free, size) = self.forward.table, self._column_lists
        counts = np.diff(moves.reader_first).tolist()
        live, peaks = self.start, []
        for v in order:
            for j in range(step_first[v], step_first[v + 1]):
                less = self.saved_bytes(j, counts) if self.overwrites else 0
                peaks.append((v, j - step_first[v], live + hill[j] - less))
                live += net[j]
                for tensor in free[free_first[j] : free_first[j + 1]]:
                    counts[tensor] -= 1
                    if counts[tensor] == 0:
                        live -= size[tensor]
        return peaks

    @property
    def overwrites(self) -> bool:
        """True if the order of the macros determines whether an output may overwrite an input."""
        return len(self.forward.table.over) > 0

    def saved_bytes(self, step: int, left: Sequence[int] | Mapping[int, int]) -> int:
        """Return the bytes that a step saves by overwriting inputs; `left` counts each tensor's remaining readers."""
        moves = self.forward.table
        total = 0
        for choice in range(int(moves.over_first[step]), int(moves.over_first[step + 1])):
            inputs = moves.over[moves.input_first[choice] : moves.input_first[choice + 1]].tolist()
            bits = sum(1 << b for b, tensor in enumerate(inputs) if left[tensor] == 1)
            total += int(moves.gain[moves.gain_first[choice] + bits])
        return total

    def profile(self, order: Sequence[int]) -> list[tuple[int, int]]:
        """Return (live bytes before the macro, peak while it runs) for each macro of an order of the part."""
        hill, step_first = self.forward.table.hill, self.forward.table.step_first
        steps: list[tuple[int, int]] = []
        for v, j, bytes_ in self.peaks(order):
            if j == 0:
                steps.append((bytes_ - int(hill[step_first[v]]), bytes_))
            else:
                steps[-1] = (steps[-1][0], max(steps[-1][1], bytes_))
        return steps

    @cached_property
    def _column_lists(self) -> tuple[list[int], list[int], list[int], list[int], list[int], list[int]]:
        """The columns of the macros' table as lists, which Python reads faster than arrays."""
        moves = self.forward.table
        return (
            moves.step_first.tolist(),
            moves.free_first.tolist(),
            moves.hill.tolist(),
            moves.net.tolist(),
            moves.free.tolist(),
            moves.size.tolist(),
        )

    def peak(self, order: Sequence[int]) -> int:
        """Return the peak, in bytes, of an order of the part's macros."""
        return max((bytes_ for _, _, bytes_ in self.peaks(order)), default=self.start)


def flatten_lists(lists: Iterable[Sequence[int]]) -> tuple[I64, I64]:
    """Return lists of numbers as two arrays: the start index of each list, and all numbers concatenated."""
    rows = list(lists)
    first = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum([len(row) for row in rows], out=first[1:])
    return first, np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=int(first[-1]))


def part_of(graph: MacroGraph, members: list[int], is_later: Callable[[int], bool], start: int) -> OrderPart:
    """Return the part with macros `members`; `is_later` finds macros of later parts, `start` bytes are alive before."""
    number = {v: k for k, v in enumerate(members)}
    before = [[number[u] for u in graph.before[v] if u in number] for v in members]
    after: list[list[int]] = [[number[w] for w in graph.after[v] if w in number] for v in members]
    tensors: dict[int, int] = {}
    frees: list[list[int]] = []
    hill, net, n_steps = [], [], []
    for v in members:
        macro = graph.macros[v]
        rows: list[list[int]] = [[] for _ in macro.net]
        for tensor, step in macro.frees.items():
            # A tensor that a later part reads stays alive in every order of this part, so no macro here frees it.
            if not any(map(is_later, graph.readers[tensor])):
                rows[step].append(tensors.setdefault(tensor, len(tensors)))
        frees += rows
        hill += macro.hill
        net += macro.net
        n_steps.append(len(macro.net))
    readers: list[list[int]] = [[] for _ in tensors]
    for tensor, k in tensors.items():
        readers[k] = [number[v] for v in graph.readers[tensor] if v in number]
    size = np.array([graph.size[tensor] for tensor in tensors], dtype=np.int64)
    step_first = np.zeros(len(members) + 1, dtype=np.int64)
    np.cumsum(n_steps, out=step_first[1:])
    free_first, free = flatten_lists(frees)
    reader_first, reader = flatten_lists(readers)
    after_first, after_rows = flatten_lists(after)
    before_first, before_rows = flatten_lists(before)
    over_first, input_first, over, gain_first, gain = _overwriting_columns(graph, members, tensors)
    random = np.random.default_rng(_CODE_SEED)
    forward = Moves(
        step_first=step_first,
        hill=np.array(hill, dtype=np.int64),
        net=np.array(net, dtype=np.int64),
        free_first=free_first,
        free=free,
        size=size,
        reader_first=reader_first,
        reader=reader,
        over_first=over_first,
        input_first=input_first,
        over=over,
        gain_first=gain_first,
        gain=gain,
        next_first=after_first,
        next=after_rows,
        before_first=before_first,
        before=before_rows,
        group=np.arange(len(members), dtype=np.int64),
        # Sums of 128-bit codes identify states; two states collide with a probability of about 1e-25.
        code=random.integers(-(2**63), 2**63 - 1, (len(members), 2), endpoint=True),
        is_forward=True,
    )
    backward = forward._replace(
        next_first=before_first, next=before_rows, before_first=after_first, before=after_rows, is_forward=False
    )
    end = start + int(forward.net.sum()) - int(size.sum())
    return OrderPart(members, before, Reference(forward), Reference(backward), start, end)


def _overwriting_columns(
    graph: MacroGraph, members: list[int], tensors: dict[int, int]
) -> tuple[I64, I64, I64, I64, I64]:
    """Return the columns of `Moves` (a part's macros) on overwriting; tensors that later parts read are excluded."""
    counts: list[int] = []
    inputs: list[list[int]] = []
    tables: list[list[int]] = []
    for v in members:
        macro = graph.macros[v]
        for step in range(len(macro.net)):
            rows = macro.over.get(step, ())
            counts.append(len(rows))
            for other in rows:
                row = other
                for tensor in other.open:
                    row = row if tensor in tensors else row.decide(tensor, False)
                inputs.append([tensors[tensor] for tensor in row.open])
                tables.append(row.table())
    over_first = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=over_first[1:])
    return over_first, *flatten_lists(inputs), *flatten_lists(tables)


def parts_of(graph: MacroGraph) -> list[OrderPart]:
    """Divide a graph into parts, and return them in sequence.

    A macro is a separate part if each other macro must run before or after it; the macros in between form parts.
    """
    n = len(graph.macros)
    parts: list[OrderPart] = []
    first, start = 0, graph.start
    for v in range(n + 1):
        # A macro splits the order if each of the other n - 1 macros is an ancestor or a descendant of it.
        is_waist = v == n or graph.ancestors[v].bit_count() + graph.descendants[v].bit_count() == n - 1
        if not is_waist:
            continue
        for members in (list(range(first, v)), [v] if v < n else []):
            if members:
                parts.append(part_of(graph, members, members[-1].__lt__, start))
                start = parts[-1].end
        first = v + 1
    return parts
