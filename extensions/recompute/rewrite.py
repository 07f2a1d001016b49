"""Conversion of programs, which run some operations several times, to graphs in which each run is one operation."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from memplan.programs.operations.graph import OperationGraph
from memplan.programs.operations.graph_variants import replace_fields


@dataclass(frozen=True)
class CloneGraph:
    """A graph with clones: operation k is a run of operation `runs[k]` in the given graph.

    Its tensor t has the value of tensor `tensors[t]` of the given graph.
    """

    graph: OperationGraph
    runs: tuple[int, ...]
    tensors: tuple[int, ...]


def clone_graph(graph: OperationGraph, runs: Sequence[int]) -> CloneGraph:
    """Return a graph with one operation for each run in `runs`, in the same order.

    A reader reads the latest clone of a tensor. A repeated run is omitted if nothing needs its results. Raises
    InputError if all tensors together have too many bytes for a graph.
    """
    if len(runs) > len(graph.ops):
        runs = _needed_runs(graph, runs)
    # `current` has the latest clone of each tensor of the given graph; `tensors` has the original of each clone.
    current, tensors = list(range(len(graph.size))), list(range(len(graph.size)))
    placed: dict[int, list[int]] = {}
    ops = []
    for k, v in enumerate(runs):
        row, is_again = graph.ops[v], v in placed
        reads = tuple(current[t] for t in row.inputs)
        for t in graph.new_tensors[v] if is_again else ():
            current[t] = len(tensors)
            tensors.append(t)
        makes = tuple(current[t] for t in row.outputs)
        # Most operations of a large graph are unchanged, so copy only the changed ones.
        if is_again or row.after or (reads, makes) != (row.inputs, row.outputs):
            after = tuple(sorted({earlier for u in row.after for earlier in placed.get(u, ())}))
            name = f"{row.name} again" if row.name and is_again else row.name
            row = row.model_copy(update={"inputs": reads, "outputs": makes, "after": after, "name": name})
        ops.append(row)
        placed.setdefault(v, []).append(k)
    graph_rewritten = OperationGraph(
        name=graph.name,
        size=tuple(graph.size[t] for t in tensors),
        kept=tuple(current[t] for t in graph.kept),
        given=graph.given,
        resident=graph.resident,
        tensors=tuple(graph.tensors[t] for t in tensors) if graph.tensors else (),
        ops=tuple(ops),
    )
    return CloneGraph(graph_rewritten, tuple(runs), tuple(tensors))


def relax_clones(graph: OperationGraph, clones: Collection[int]) -> OperationGraph:
    """Return a graph whose minimum peak is a lower bound for all programs with the given clones.

    Its operations run once. A tensor with clones counts only while an operation that writes or reads it runs. So,
    whichever clone a reader reads, no sequence of these runs has a peak below the minimum of this graph.
    """
    if not clones:
        return graph
    cloned = {t for v in clones for t in graph.new_tensors[v]}
    ops = []
    for row in graph.ops:
        used = cloned.intersection((*row.inputs, *row.outputs))
        pairs = ((row.outputs[k], row.inputs[j]) for k, j in row.may_overwrite)
        over = {output for output, tensor in pairs if not cloned.isdisjoint((output, tensor))}
        # If an output or its input has clones, the lower bound must assume that the output overwrites the input.
        more = max(0, sum(graph.working_bytes[t] for t in used) - sum(graph.working_bytes[t] for t in over))
        ops.append(row.model_copy(update={"work": row.work + more}))
    size = (0 if t in cloned else bytes_ for t, bytes_ in enumerate(graph.size))
    return replace_fields(graph, size=tuple(size), ops=tuple(ops))


def _needed_runs(graph: OperationGraph, runs: Sequence[int]) -> list[int]:
    """Return the runs without useless repetitions, whose results no later run reads and the graph does not keep."""
    count = Counter(runs)
    read = set(graph.kept)
    needed: list[int] = []
    for v in reversed(runs):
        if count[v] > 1 and read.isdisjoint(graph.new_tensors[v]):
            count[v] -= 1
            continue
        needed.append(v)
        # Later readers use the tensors of this run, so earlier runs need not provide these tensors.
        read.difference_update(graph.new_tensors[v])
        read.update(graph.ops[v].inputs)
    return needed[::-1]
