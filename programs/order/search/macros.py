"""Macros: groups of operations that some best order runs consecutively, merged before any search.

A macro is a sequence of steps (hill, net): how many more bytes are alive while the step runs, and after it, than before
it. If the last reader of a tensor depends on the order, `net` does not subtract the tensor's bytes. If one reader must
run after all others, the step that frees the tensor is known, so a search counts readers only for other tensors.
docs/order.md proves the rules.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from memplan.programs.operations.graph import OperationGraph
from memplan.programs.order.search.overwriting import Overwriting, overwritings, refuse_many


@dataclass(eq=False)
class Macro:
    """Consecutive operations as steps; in an order of macros, all of them run at the place of operation `anchor`.

    `frees` maps a tensor that another macro may read later to the last step that reads it. `over` has the outputs of a
    step that may overwrite such tensors; such a step has a single operation.
    """

    operations: list[int]
    anchor: int
    hill: list[int]
    net: list[int]
    frees: dict[int, int] = field(default_factory=dict)
    over: dict[int, list[Overwriting]] = field(default_factory=dict)

    def bounds(self, size: tuple[int, ...]) -> tuple[int, int, int, int]:
        """Return bounds on a macro's live bytes: (least peak, largest peak, least at the end, largest at the end).

        All are relative to the live bytes before the macro. They differ because the order of all macros determines
        which inputs this macro reads last.
        """
        freed = [0] * len(self.net)
        for tensor, step in self.frees.items():
            freed[step] += size[tensor]
        low = high = low_peak = high_peak = 0
        for step, (hill, net, free) in enumerate(zip(self.hill, self.net, freed, strict=True)):
            most = sum(row.saved_bytes(row.open) for row in self.over[step]) if step in self.over else 0
            least = sum(row.saved_bytes(()) for row in self.over[step]) if step in self.over else 0
            low_peak, high_peak = max(low_peak, low + hill - most), max(high_peak, high + hill - least)
            low, high = low + net - free, high + net
        return low_peak, high_peak, low, high

    def record_overwriting(self, tensor: int, is_free: bool) -> None:
        """Settle whether outputs may overwrite a tensor in the last step that reads it: True if `is_free`."""
        step = self.frees[tensor]
        if step not in self.over:
            return
        rows = [row.decide(tensor, is_free) for row in self.over.pop(step)]
        self.hill[step] -= sum(row.saved_bytes(()) for row in rows if not row.open)
        if rows := [row for row in rows if row.open]:
            self.over[step] = rows

    def record_last_reader(self, tensor: int, size: tuple[int, ...]) -> None:
        """Record that this macro frees a tensor, because it is the tensor's last reader in every order."""
        self.record_overwriting(tensor, True)
        self.net[self.frees.pop(tensor)] -= size[tensor]

    def compress(self) -> None:
        """Merge each step with the next step, unless the step frees or overwrites a tensor."""
        splits = ({step + 1 for step in self.frees.values()} | self.over.keys() | {0}) - {len(self.net)}
        if len(splits) == len(self.net):
            return
        hill, net, renamed = [], [], [0] * len(self.net)
        for step in range(len(self.net)):
            if step in splits:
                hill.append(0)
                net.append(0)
            hill[-1] = max(hill[-1], net[-1] + self.hill[step])
            net[-1] += self.net[step]
            renamed[step] = len(net) - 1
        self.hill, self.net = hill, net
        self.frees = {tensor: renamed[step] for tensor, step in self.frees.items()}
        self.over = {renamed[step]: rows for step, rows in self.over.items()}

    def append(self, other: "Macro", readers: dict[int, set[int]], size: tuple[int, ...], mine: int, its: int) -> None:
        """Append the macro `other`; in the sets of `readers`, this macro is number `mine` and the other is `its`."""
        shift = len(self.net)
        self.operations += other.operations
        self.hill += other.hill
        self.net += other.net
        self.over.update((shift + step, rows) for step, rows in other.over.items())
        for tensor, step in other.frees.items():
            readers[tensor].discard(its)
            readers[tensor].add(mine)
            if tensor in self.frees:
                self.record_overwriting(tensor, False)
            self.frees[tensor] = shift + step
            # A tensor with one remaining reader is freed by that reader, so a search need not count its readers.
            if len(readers[tensor]) == 1:
                self.record_last_reader(tensor, size)
        self.compress()


@dataclass(frozen=True, eq=False)
class MacroGraph:
    """The macros of a graph in a valid order, with their transitively reduced precedence relation.

    `ancestors[v]` has bit u set if macro u must run before macro v. `start` bytes are alive before the first macro.
    `joins` lists the merges in order, each as the first operation of a macro and the first operation of the macro
    appended to it.
    """

    macros: list[Macro]
    before: list[list[int]]
    ancestors: list[int]
    size: tuple[int, ...]
    start: int
    joins: list[tuple[int, int]] = field(default_factory=list)

    @cached_property
    def readers(self) -> dict[int, list[int]]:
        """For each tensor that some macro may free, the macros that read it, in ascending order."""
        readers: dict[int, list[int]] = {}
        for v, macro in enumerate(self.macros):
            for tensor in macro.frees:
                readers.setdefault(tensor, []).append(v)
        return readers

    @cached_property
    def after(self) -> list[list[int]]:
        """For each macro, its direct successors, which wait for it: the reverse of the lists in `before`."""
        return reversed_lists(self.before)

    @cached_property
    def descendants(self) -> list[int]:
        """The macros that must run after each macro: one integer per macro, with a bit for each later macro."""
        descendants = [0] * len(self.macros)
        for v in range(len(descendants) - 1, -1, -1):
            below = descendants[v] | 1 << v
            for u in self.before[v]:
                descendants[u] |= below
        return descendants

    def order_of(self, operations: Iterable[int]) -> list[int]:
        """Convert an order of operations to an order of macros with the same or a lower peak."""
        position = {operation: k for k, operation in enumerate(operations)}
        return sorted(range(len(self.macros)), key=lambda v: position[self.macros[v].anchor])

    def operations_of(self, order: Iterable[int]) -> list[int]:
        """Convert an order of macros to the order of the operations that they run."""
        return [operation for v in order for operation in self.macros[v].operations]


def reversed_lists(lists: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return, for each number, the positions of those lists that contain the number."""
    reversed_: list[list[int]] = [[] for _ in lists]
    for v, row in enumerate(lists):
        for u in row:
            reversed_[u].append(v)
    return reversed_


def macro_graph(graph: OperationGraph, is_over: Callable[[], bool] = lambda: False) -> MacroGraph:
    """Return the macros of a graph, merged until no rule permits another merge or the time is over."""
    single = single_macros(graph)
    macros, before, ancestors = single.macros, single.before, single.ancestors
    joins: list[tuple[int, int]] = []
    while True:
        merged = None if is_over() else _merge_macros(macros, before, graph.working_bytes, joins)
        if merged is None:
            return MacroGraph(macros, before, ancestors, graph.working_bytes, single.start, joins)
        macros, before = merged
        ancestors = reduce_arcs(before)
        settle_readers(macros, ancestors, graph.working_bytes)


def single_macros(graph: OperationGraph) -> MacroGraph:
    """Return the macro graph in which each macro is a single operation."""
    results, size = {*graph.kept, *graph.resident}, graph.working_bytes
    macros = []
    for v, row in enumerate(graph.ops):
        made = sum(size[tensor] for tensor in graph.new_tensors[v])
        lasting = sum(size[tensor] for tensor in graph.new_tensors[v] if tensor in results or graph.readers[tensor])
        frees = dict.fromkeys(sorted({*row.inputs, *row.outputs}.difference(results, graph.new_tensors[v])), 0)
        macro = Macro([v], v, [made + row.work], [lasting], frees)
        if row.may_overwrite and (over := overwritings(graph, v)):
            macro.over[0] = over
        macros.append(macro)
    start = sum(
        bytes_
        for tensor, bytes_ in enumerate(size)
        if graph.maker[tensor] is None and (tensor in results or graph.readers[tensor])
    )
    before = [list(row) for row in graph.predecessors]
    ancestors = reduce_arcs(before)
    settle_readers(macros, ancestors, size)
    for macro in macros:
        for rows in macro.over.values():
            refuse_many(rows, macro.anchor)
    return MacroGraph(macros, before, ancestors, size, start)


def reduce_arcs(before: list[list[int]]) -> list[int]:
    """Remove predecessors that other predecessors imply; return each position's ancestors as the bits of an integer.

    Every list must contain only earlier positions.
    """
    ancestors: list[int] = []
    for v, row in enumerate(before):
        arcs, needed = 0, []
        # A predecessor waits for its own ancestors, so visit late predecessors first and skip those that they imply.
        for u in sorted(row, reverse=True):
            if not arcs >> u & 1:
                needed.append(u)
                arcs |= ancestors[u] | 1 << u
        before[v] = needed
        ancestors.append(arcs)
    return ancestors


def settle_readers(macros: list[Macro], ancestors: list[int], size: tuple[int, ...]) -> None:
    """Remove each reader of a tensor that another reader must follow, because it is never the tensor's last reader."""
    readers: dict[int, list[int]] = {}
    for v, macro in enumerate(macros):
        for tensor in macro.frees:
            readers.setdefault(tensor, []).append(v)
    for tensor, readers_of_tensor in readers.items():
        earlier = 0
        for v in readers_of_tensor:
            earlier |= ancestors[v]
        # A reader that another reader must follow never frees the tensor, so it need not be counted.
        last = [v for v in readers_of_tensor if not earlier >> v & 1]
        if len(last) == 1:
            macros[last[0]].record_last_reader(tensor, size)
        if len(last) < len(readers_of_tensor):
            for v in readers_of_tensor:
                if earlier >> v & 1:
                    macros[v].record_overwriting(tensor, False)
                    del macros[v].frees[tensor]
    for macro in macros:
        macro.compress()


def _merge_macros(
    macros: list[Macro], before: list[list[int]], size: tuple[int, ...], joins: list[tuple[int, int]]
) -> tuple[list[Macro], list[list[int]]] | None:
    """Merge macros in one pass over the graph; return the macros and their predecessors, or None if none was merged.

    The merges are appended to `joins`.
    """
    readers: dict[int, set[int]] = {}
    for v, macro in enumerate(macros):
        for tensor in macro.frees:
            readers.setdefault(tensor, set()).add(v)
    alive: list[Macro | None] = list(macros)
    earlier = [set(row) for row in before]
    later = [set(row) for row in reversed_lists(before)]
    bounds = [macro.bounds(size) for macro in macros]
    todo = list(range(len(macros)))[::-1]
    while todo:
        u = todo.pop()
        first = alive[u]
        if first is None:
            continue
        for v in sorted(later[u]):
            low_peak, _, low, high = bounds[u]
            next_low_peak, next_high_peak, _, next_high = bounds[v]
            # If v adds no bytes and u with v peaks no higher than u alone, some best order runs v right after u.
            is_right_after = len(earlier[v]) == 1 and next_high <= 0 and high + next_high_peak <= low_peak
            # In the reversed order, the mirrored condition proves that some best order runs u right before v.
            is_right_before = len(later[u]) == 1 and low >= 0 and bounds[u][1] <= low + next_low_peak
            second = alive[v]
            if not (is_right_after or is_right_before) or second is None:
                continue
            # If u moves to v rather than v to u, the merged macro takes v's position in the given order.
            if not is_right_after:
                first.anchor = second.anchor
            joins.append((first.operations[0], second.operations[0]))
            first.append(second, readers, size, u, v)
            alive[v] = None
            bounds[u] = first.bounds(size)
            earlier[u] |= earlier[v] - {u}
            later[u] = (later[u] | later[v]) - {v}
            for w in later[v]:
                earlier[w].discard(v)
                earlier[w].add(u)
            for w in earlier[u]:
                later[w].discard(v)
                later[w].add(u)
            # A merge may permit further merges, so revisit the merged macro and its predecessors.
            todo += [*sorted(earlier[u]), u]
            break
    remaining = sorted((v for v, macro in enumerate(alive) if macro is not None), key=lambda v: macros[v].anchor)
    if len(remaining) == len(macros):
        return None
    renamed = {v: k for k, v in enumerate(remaining)}
    return [macros[v] for v in remaining], [[renamed[u] for u in earlier[v]] for v in remaining]
