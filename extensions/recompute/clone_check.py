"""The check of programs with clones (repeated operations): it executes a program on its planned addresses.

A value is identified by its origin in the given graph, and memory is a list of byte ranges with values. Each operation
must read the same values as in that graph. The check shares no code with the building of clones, orders or plans.
"""

from bisect import bisect_left, insort
from collections.abc import Sequence

from memplan.planner.errors import OperationsError
from memplan.programs.operations.graph import OperationGraph

Value = tuple[int, int]
"""The origin of a value, as (operation, tensor) of the given graph; the operation of an input is -1."""


def check_rewriting(
    graph: OperationGraph,
    clone: OperationGraph,
    runs: Sequence[int],
    tensors: Sequence[int],
    order: Sequence[int],
    places: tuple[Sequence[int], Sequence[int]] | None = None,
) -> None:
    """Run `clone` in the given order, and check that each operation reads the same values as in `graph`.

    Operation k of `clone` is a run of operation `runs[k]` of `graph`, and its tensor t holds the value of tensor
    `tensors[t]`. `places` has the offsets, in bytes, of tensors and of workspaces; without it, they do not overlap.
    Raises OperationsError for the first violation.
    """
    reads, leaves, ends = _values_by_operation(graph)
    memory = _Memory(clone, places)
    if len(order) != len(clone.ops) or len(set(order)) != len(order) or set(runs) != set(range(len(graph.ops))):
        raise OperationsError(
            "order: must run every operation and clone of the program once, and every operation of the graph"
        )
    for t, size in enumerate(clone.size):
        if size != graph.size[tensors[t]]:
            raise OperationsError(f"size[{t}]: must equal the size of tensor {tensors[t]}, got {size}")
    for t, maker in enumerate(clone.maker):
        if maker is None and (clone.readers[t] or t in clone.kept):
            memory.write("the start", t, (-1, tensors[t]))
    for k in order:
        v, row = runs[k], clone.ops[k]
        if [tensors[t] for t in row.inputs] != list(graph.ops[v].inputs) or [tensors[t] for t in row.outputs] != list(
            graph.ops[v].outputs
        ):
            raise OperationsError(f"ops[{k}]: must use exactly the tensors that operation {v} uses")
        needs = [*row.inputs, *(t for t in row.outputs if tensors[t] in reads[v])]
        for t in needs:
            memory.read(f"ops[{k}]", t, reads[v][tensors[t]])
        if row.work:
            memory.scribble(f"ops[{k}]", k, row.work)
        for t in needs:
            memory.read(f"ops[{k}]", t, reads[v][tensors[t]])
        for t in row.outputs:
            memory.write(f"ops[{k}]", t, leaves[v][tensors[t]])
        pairs = {(row.inputs[j], row.outputs[i]) for i, j in row.may_overwrite}
        over = {t for t, output in pairs if memory.is_at_one_place(t, output)}
        for t in row.inputs:
            if t not in row.outputs and t not in over:
                memory.read(f"ops[{k}]", t, reads[v][tensors[t]])
        for t in row.outputs:
            memory.read(f"ops[{k}]", t, leaves[v][tensors[t]])
    if sorted(tensors[t] for t in clone.kept) != sorted(graph.kept):
        raise OperationsError("kept: must be the clones of exactly those tensors that the given graph keeps")
    for t in clone.kept:
        memory.read("the end", t, ends[tensors[t]])


def _values_by_operation(graph: OperationGraph) -> tuple[list[dict[int, Value]], list[dict[int, Value]], list[Value]]:
    """Return the values that each operation of the given graph reads and writes, and the values at the end."""
    holds: list[Value] = [(-1, t) for t in range(len(graph.size))]
    reads, leaves = [], []
    for v, row in enumerate(graph.ops):
        made = set(graph.new_tensors[v])
        reads.append({t: holds[t] for t in (*row.inputs, *(t for t in row.outputs if t not in made))})
        for t in row.outputs:
            holds[t] = (v, t)
        leaves.append({t: holds[t] for t in row.outputs})
    return reads, leaves, holds


class _Memory:
    """The content of memory, as byte ranges of tensors with their values; an overwritten tensor loses its value."""

    def __init__(self, graph: OperationGraph, places: tuple[Sequence[int], Sequence[int]] | None) -> None:
        """Start with an empty memory; without `places`, tensors and workspaces do not overlap."""
        self._size, self._places = graph.working_bytes, places
        self._holds: dict[int, Value] = {}
        self._ranges: list[tuple[int, int]] = []

    def write(self, where: str, tensor: int, value: Value) -> None:
        """Store a value in a tensor, so that other tensors in its byte range lose their values."""
        if self._places is not None and self._size[tensor] and tensor not in self._holds:
            begin = self._places[0][tensor]
            self._clear_range(where, begin, self._size[tensor])
            insort(self._ranges, (begin, tensor))
        self._holds[tensor] = value

    def scribble(self, where: str, operation: int, size: int) -> None:
        """Overwrite the workspace of an operation, so that tensors in its byte range lose their values."""
        if self._places is not None:
            self._clear_range(where, self._places[1][operation], size)

    def read(self, where: str, tensor: int, value: Value) -> None:
        """Raise OperationsError unless a tensor holds the given value."""
        if self._holds.get(tensor) != value:
            held = self._holds.get(tensor, "an overwritten value")
            raise OperationsError(f"{where}: tensor {tensor} must hold {value}, got {held}")

    def is_at_one_place(self, tensor: int, other: int) -> bool:
        """Return True if two tensors start at the same offset."""
        return self._places is not None and self._places[0][tensor] == self._places[0][other]

    def _clear_range(self, where: str, begin: int, size: int) -> None:
        """Remove the values of all tensors in a byte range; raises OperationsError if it has no offset."""
        if begin < 0:
            raise OperationsError(f"{where}: must use only tensors and workspaces that have an offset")
        at = bisect_left(self._ranges, (begin, -1))
        if at and self._ranges[at - 1][0] + self._size[self._ranges[at - 1][1]] > begin:
            at -= 1
        while at < len(self._ranges) and self._ranges[at][0] < begin + size:
            del self._holds[self._ranges.pop(at)[1]]
