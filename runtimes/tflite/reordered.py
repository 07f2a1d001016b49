"""Writer of TensorFlow Lite models in which the lists of operators are permuted in place."""

import struct
from collections.abc import Mapping, Sequence

from memplan.planner.errors import FormatError, InvalidPlanError, excerpt
from memplan.programs.models.sequence import ReorderedFile, Where
from memplan.runtimes.flatbuffer import Table
from memplan.runtimes.new_order import new_order
from memplan.runtimes.tflite import ethos_u
from memplan.runtimes.tflite.facts import has_effects
from memplan.runtimes.tflite.model import OFFLINE_PLAN, Model, read_model

_CONTROL = "model_control_dependencies"
"""The name of the metadata entry in which a converter refers to operators by position."""


def set_orders(data: bytes, orders: Mapping[Where, Sequence[int]]) -> ReorderedFile:
    """Return a model with the operators of each subgraph in the given order; the file keeps its length.

    TFLite Micro's offline plan belongs to the old order, so it is removed from the metadata. Raises FormatError for a
    file that refers to operators by position, and OperationsError for an invalid order.
    """
    model = read_model(data)
    refuse_bound_models(model)
    out = bytearray(data)
    root = Table.root(data, "model")
    places: set[int] = set()
    for k, graph in enumerate(root.tables(2, "subgraphs")):
        start, tables = graph.pointers(3, "operators")
        if start in places:
            raise FormatError(f"{graph.path}.operators: must be a separate list, got the list of another subgraph")
        places.add(start)
        own = model.subgraphs[k]
        reads, writes = [row.inputs for row in own.operators], [row.outputs for row in own.operators]
        effects = {v for v, row in enumerate(own.operators) if has_effects(own, row)}
        order = new_order(orders.get((k,), ()), reads, writes, effects)
        _write_list(out, start, [tables[v] for v in order], f"{graph.path}.operators")
    left_out: tuple[str, ...] = ()
    if OFFLINE_PLAN in model.metadata and bytes(out) != data:
        start, tables = root.pointers(6, "metadata")
        metadata = [Table(root.file, at, "metadata") for at in tables]
        rest = [entry.at for entry in metadata if entry.text(0, "name") != OFFLINE_PLAN]
        struct.pack_into("<I", out, start - 4, len(rest))
        _write_list(out, start, rest, "model.metadata")
        left_out = (f"the metadata {OFFLINE_PLAN}, a plan for the old order",)
    _verify_same_content(model, read_model(bytes(out)))
    return ReorderedFile(bytes(out), left_out)


def refuse_bound_models(model: Model) -> None:
    """Raise FormatError if metadata refers to operators by position, or if Ethos-U commands assume this order."""
    if _CONTROL in model.metadata:
        raise FormatError(f"model.metadata: must not have {_CONTROL}, which names operators by their positions")
    if any(operator.name == ethos_u.OPERATOR for graph in model.subgraphs for operator in graph.operators):
        raise FormatError(
            "model: must not be compiled for an Ethos-U, whose commands contain addresses for this order; change the "
            "model before Vela compiles it"
        )


def _write_list(out: bytearray, start: int, tables: Sequence[int], path: str) -> None:
    for k, at in enumerate(tables):
        if at < start + 4 * k:
            raise FormatError(f"{path}: must have all its tables after the list, got a table at byte {at}")
        struct.pack_into("<I", out, start + 4 * k, at - start - 4 * k)


def _verify_same_content(old: Model, new: Model) -> None:
    """Raise InvalidPlanError if two models differ in more than operator order and offline plan."""
    for before, after in zip(old.subgraphs, new.subgraphs, strict=True):
        if before.tensors != after.tensors or (before.inputs, before.outputs) != (after.inputs, after.outputs):
            raise InvalidPlanError(f"{before.path}: must have the same tensors, inputs and outputs after reordering")
        rows = [
            sorted((row.name, row.inputs, row.outputs, row.subgraphs, row.table.at if row.table else 0) for row in rows)
            for rows in (before.operators, after.operators)
        ]
        if rows[0] != rows[1]:
            raise InvalidPlanError(f"{before.path}.operators: must be the same operators in another order")
    names = {name: content for name, content in old.metadata.items() if name != OFFLINE_PLAN}
    if names != {name: content for name, content in new.metadata.items() if name != OFFLINE_PLAN}:
        raise InvalidPlanError(f"model.metadata: must be unchanged, got {excerpt(sorted(new.metadata))}")
