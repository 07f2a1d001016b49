"""Variants of a graph: the same operations with other choices for weights, overwriting and alternatives."""

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from memplan.planner.errors import OperationsError, OptionError, excerpt
from memplan.programs.operations.graph import GraphOperation, OperationGraph, Pair
from memplan.programs.operations.graph_facts import OVERWRITING, UPDATING, bits_of


def replace_fields(graph: OperationGraph, **fields: Any) -> OperationGraph:
    """Return a copy of a graph with the given fields replaced; raises OperationsError if it breaks a rule."""
    graph_fields = {name: getattr(graph, name) for name in OperationGraph.model_fields}
    return OperationGraph(**{**graph_fields, **fields})


def count_resident(graph: OperationGraph) -> OperationGraph:
    """Return a graph in which resident tensors count, as if they (weights) were copied to the planned memory."""
    if not graph.resident:
        return graph
    inputs = tuple(dict.fromkeys((*graph.given, *graph.resident)))
    results = tuple(dict.fromkeys((*graph.kept, *graph.resident)))
    return replace_fields(graph, given=inputs, kept=results, resident=())


def allow_overwriting(graph: OperationGraph, spared: Collection[int] = ()) -> OperationGraph:
    """Return a graph in which element-wise operations may overwrite any input, and updates the first input only.

    Output and input must have the same size in bytes and, if known, the same shape and element size. The operations'
    runtime must support overwriting. Tensors in `spared` are never overwritten, and are kept to the end.
    """
    apart = {*graph.resident, *graph.kept, *spared}
    ops = tuple(
        row.model_copy(update={"may_overwrite": tuple(dict.fromkeys(_overwriting_pairs(graph, row, apart)))})
        if row.kind in OVERWRITING or row.kind in UPDATING or row.may_overwrite
        else row
        for row in graph.ops
    )
    return replace_fields(graph, ops=ops, kept=tuple(dict.fromkeys((*graph.kept, *sorted(spared)))))


def tensor_named(graph: OperationGraph, name: str) -> int:
    """Return the number of the tensor with a name or number; raises OptionError unless exactly one tensor matches."""
    named = [k for k, facts in enumerate(graph.tensors) if facts.name == name]
    named = named or [k for k, facts in enumerate(graph.tensors) if facts.name == name.rpartition("/")[2]]
    number = name.removeprefix("tensor_")
    if not named and number.isascii() and number.isdecimal() and int(number[:9]) < len(graph.size):
        named = [int(number)]
    if len(named) != 1:
        some = ", ".join(excerpt(facts.name) for facts in graph.tensors[:3]) or f"0 to {len(graph.size) - 1}"
        raise OptionError.from_rule("spare", f"must name one tensor, such as {some}, got {excerpt(name)}")
    return named[0]


def fix_alternatives(graph: OperationGraph, ways: Sequence[int]) -> OperationGraph:
    """Return the graph with each operation fixed to one alternative: 0 is the operation itself, k is alternative k.

    Raises OperationsError if an operation does not have the alternative.
    """
    if len(ways) != len(graph.ops) or any(
        not 0 <= way <= len(row.alternatives) for way, row in zip(ways, graph.ops, strict=True)
    ):
        raise OperationsError(
            "alternatives: must have a number for each operation, from 0 (itself) to the number of its alternatives"
        )
    return replace_fields(graph, ops=tuple(_choose_way(row, way) for row, way in zip(graph.ops, ways, strict=True)))


def _choose_way(row: GraphOperation, way: int) -> GraphOperation:
    if not row.alternatives:
        return row
    chosen = row.alternatives[way - 1] if way else row
    cost = row.cost if chosen.cost is None else chosen.cost
    return row.model_copy(update={"work": chosen.work, "cost": cost, "alternatives": ()})


def _overwriting_pairs(graph: OperationGraph, row: GraphOperation, apart: Collection[int]) -> Iterator[Pair]:
    """Yield the positions (output, input) of overwriting that the operation's list or its kind allows."""
    yield from (pair for pair in row.may_overwrite if row.inputs[pair[1]] not in apart)
    if row.kind not in OVERWRITING | UPDATING or len(row.outputs) != 1 or row.in_shapes or row.out_shapes:
        return
    made = row.outputs[0]
    for j, tensor in enumerate(row.inputs[:1] if row.kind in UPDATING else row.inputs):
        # An operation that reads an input twice, as a broadcast view, may read overwritten elements, so exclude it.
        is_free = tensor != made and tensor not in apart and row.inputs.count(tensor) == 1
        if is_free and _comparable_form(graph, tensor) == _comparable_form(graph, made):
            yield 0, j


def _comparable_form(graph: OperationGraph, tensor: int) -> tuple[int, object, object]:
    if not graph.tensors:
        return graph.size[tensor], None, None
    facts = graph.tensors[tensor]
    return graph.size[tensor], facts.shape, facts.dtype and bits_of(facts.dtype)
