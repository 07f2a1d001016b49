"""Graphs of operations from HLO modules, written by hand as XLA writes them."""

from __future__ import annotations

import pytest

from memplan.planner.errors import FormatError
from memplan.planner.liveness import analyse
from memplan.planner.operations.order_check import peak_of
from memplan.systems.model_graph import read_model_graph
from memplan.systems.model_options import ModelOptions
from memplan.systems.xla.module import read_module
from tests.support.protobuf_files import field, message, varint

F32, TUPLE = 11, 13


def shape(*dims: int) -> bytes:
    return message({2: F32, 3: b"".join(map(varint, dims))})


def row(number: int, opcode: str, of: bytes, *operands: int, **more: int) -> bytes:
    fields: dict[int, int | str | bytes | list[bytes]] = {1: f"i{number}", 2: opcode, 3: of, 35: number}
    fields[36] = b"".join(map(varint, operands))
    if "index" in more:
        fields[13] = more["index"]
    return message(fields)


def module(*rows: bytes, root: int, schedule: list[int] | None = None) -> bytes:
    """Return an HloProto of one computation."""
    entry = message({2: list(rows), 5: 7, 6: root})
    fields: dict[int, int | str | bytes | list[bytes]] = {1: "small", 3: [entry], 6: 7}
    if schedule is not None:
        fields[7] = field(1, message({1: 7, 2: field(1, b"".join(map(varint, schedule)))}))
    return field(1, message(fields))


PAIR = message({2: TUPLE, 4: [shape(16), shape(32)]})
ROWS = (
    row(1, "parameter", shape(16)),
    row(2, "constant", shape(16)),
    row(3, "multiply", shape(16), 1, 2),
    row(4, "bitcast", shape(4, 4), 3),
    row(5, "custom-call", PAIR, 4),
    row(6, "get-tuple-element", shape(32), 5, index=1),
    row(7, "rng", shape(32)),
    row(8, "add", shape(32), 6, 7),
    row(9, "tuple", shape(32), 8, 1),
)


def test_instructions_are_operations_tuples_are_what_is_in_them_and_bitcasts_views() -> None:
    found = read_model_graph(module(*ROWS, root=9), "small.hlo.pb")
    graph = found.graph
    assert [(op.name, op.kind, op.source) for op in graph.ops] == [
        ("i3", "mul", (2,)),
        ("i5", None, (4,)),
        ("i7", None, (6,)),
        ("i8", "add", (7,)),
    ]
    assert (graph.size, graph.resident, len(graph.kept)) == ((64, 64, 64, 64, 128, 128, 128), (1,), 2)
    assert graph.predecessors == ((), (0,), (1,), (1, 2))  # the call and the random numbers stay in order
    assert graph.ops[1].in_shapes == ((4, 4),)
    assert found.imported is not None
    assert found.imported.operations is not None
    bytes_ = analyse(found.imported.operations).workspace.live_bytes
    assert peak_of(graph, range(4)) == bytes_ == 64 + 3 * 128


def test_the_order_is_that_of_the_schedule() -> None:
    graph = read_model_graph(module(*ROWS, root=9, schedule=[1, 2, 7, 3, 4, 5, 6, 8, 9]), "small.hlo.pb").graph
    assert [op.name for op in graph.ops] == ["i7", "i3", "i5", "i8"]


def test_updates_are_in_place_where_a_schedule_says_that_copies_are_made() -> None:
    update = row(3, "dynamic-update-slice", shape(16), 2, 1)
    rows = [row(1, "parameter", shape(16)), row(2, "copy", shape(16), 1), update, row(4, "add", shape(16), 3, 3)]
    apart = read_model_graph(module(*rows, root=4), "small.hlo.pb").graph
    joined = read_model_graph(module(*rows, root=4, schedule=[1, 2, 3, 4]), "small.hlo.pb").graph
    assert (len(apart.size), len(joined.size)) == (4, 3)
    assert joined.ops[1].outputs == joined.ops[0].outputs


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "hlo_module: is required where operations are asked for"),
        (module(root=1)[:2] and field(1, field(1, "m")), "must be the id of a computation, got 0"),
        (module(row(1, "add", shape(4), 2), root=1), "must be instructions before it, got 2"),
        (module(row(1, "parameter", shape(4)), root=5), "must be the id of an instruction, got 5"),
        (module(row(1, "get-tuple-element", shape(4), index=0), root=1), "tuple_index: must be below 0, got 0"),
        (module(row(1, "parameter", shape(2**62, 2**62)), root=1), "must take at most"),
        (
            module(row(1, "parameter", shape(4)), row(2, "parameter", shape(4)).replace(b"i2", b"i1"), root=1),
            'must be unique, got "i1" again',
        ),
    ],
)
def test_broken_modules_are_refused_in_a_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(FormatError) as error:
        read_module(data, ModelOptions())
    assert sentence in str(error.value)
