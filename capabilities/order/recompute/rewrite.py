"""A program in which some operations run several times, as a graph of operations of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memplan.planner.operations.graph import OperationGraph


@dataclass(frozen=True)
class Rewritten:
    """A graph with clones: operation k does what operation `runs[k]` of the first graph does.

    Tensor t of it holds what tensor `tensors[t]` of the first graph holds.
    """

    graph: OperationGraph
    runs: tuple[int, ...]
    tensors: tuple[int, ...]


def rewritten(graph: OperationGraph, runs: Sequence[int]) -> Rewritten:
    """Write a sequence of operations, each of which runs once or more, as a graph; its given order is the sequence.

    A reader takes what was made last. A run that nothing needs is left out if the operation runs again. Raises
    InputError where the tensors together have too many bytes for a graph.
    """
    versions, tensors = _versions(graph, runs)
    needed = _needed(graph, runs, versions)
    number: dict[int, int] = {}
    placed: dict[int, list[int]] = {}
    names = _Numbers(tensors, len(graph.size))
    ops = []
    seen: set[int] = set()
    for step, v in enumerate(runs):
        if not needed[step]:
            continue
        row = graph.ops[v]
        reads, makes = versions[step]
        changes: dict[str, object] = {
            "inputs": tuple(names[t] for t in reads),
            "outputs": tuple(names[t] for t in makes),
            "after": tuple(sorted({k for u in row.after for k in placed.get(u, ())})),
        }
        if row.name and v in seen:
            changes["name"] = f"{row.name} again"
        ops.append(row.model_copy(update=changes))
        placed.setdefault(v, []).append(len(number))
        number[step] = len(number)
        seen.add(v)
    last = list(range(len(graph.size)))
    for step in number:
        for t, made in zip(graph.ops[runs[step]].outputs, versions[step][1], strict=True):
            last[t] = made
    kept = tuple(names[last[t]] for t in graph.kept)
    size = tuple(graph.size[t] for t in names.origin)
    facts = tuple(graph.tensors[t] for t in names.origin) if graph.tensors else ()
    found = OperationGraph(
        name=graph.name,
        size=size,
        kept=kept,
        given=graph.given,
        resident=graph.resident,
        tensors=facts,
        ops=tuple(ops),
    )
    return Rewritten(found, tuple(runs[step] for step in number), tuple(names.origin))


class _Numbers(dict[int, int]):
    """The numbers of tensors in the new graph: those of the first graph keep theirs."""

    def __init__(self, tensors: Sequence[int], n_first: int) -> None:
        super().__init__({t: t for t in range(n_first)})
        self._tensors = tensors
        self.origin = list(range(n_first))

    def __missing__(self, tensor: int) -> int:
        self[tensor] = len(self.origin)
        self.origin.append(self._tensors[tensor])
        return self[tensor]


def _versions(graph: OperationGraph, runs: Sequence[int]) -> tuple[list[tuple[list[int], list[int]]], list[int]]:
    """Return for each run the tensors that it reads and makes, numbered anew where it runs again, and what they are."""
    tensors = list(range(len(graph.size)))
    current = list(range(len(graph.size)))
    seen: set[int] = set()
    found = []
    for v in runs:
        row, made = graph.ops[v], set(graph.made[v])
        reads = [current[t] for t in row.inputs]
        for t in row.outputs if v in seen else ():
            if t in made:
                current[t] = len(tensors)
                tensors.append(t)
        seen.add(v)
        found.append((reads, [current[t] for t in row.outputs]))
    return found, tensors


def _needed(
    graph: OperationGraph, runs: Sequence[int], versions: Sequence[tuple[Sequence[int], Sequence[int]]]
) -> list[bool]:
    """Say of each run whether something reads or keeps what it makes; an operation that runs once is always needed."""
    count = [0] * len(graph.ops)
    last: dict[int, int] = {}
    for v, (_, makes) in zip(runs, versions, strict=True):
        count[v] += 1
        last.update(zip(graph.ops[v].outputs, makes, strict=True))
    read = {last.get(t, t) for t in graph.kept}
    needed = [True] * len(runs)
    for step in reversed(range(len(runs))):
        v, (reads, makes) = runs[step], versions[step]
        if count[v] > 1 and read.isdisjoint(makes):
            needed[step] = False
            count[v] -= 1
        else:
            read.update(reads)
    return needed
