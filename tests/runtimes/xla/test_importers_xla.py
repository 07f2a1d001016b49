"""The readers of XLA's modules and buffer assignments, and the parser of protocol buffers."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.errors import FormatError, OptionError
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.reading import read_model
from memplan.planner.instance.canonical import problem_hash
from memplan.programs.lifetimes import analyse
from memplan.programs.models.model_graph import read_model_graph
from memplan.programs.operations.order_check import peak_of
from memplan.runtimes.protobuf import ProtobufMessage
from memplan.runtimes.xla.module import read_module
from memplan.solvers.portfolio.solve import solve
from tests.runtimes.protobuf_files import field, message, varint
from tests.support import public_problems
from tests.support.dump_files import dump_bytes

BINARY, TEXT = dump_bytes("mlp_sgd.hlo.pb", "mlp_sgd.xla.txt")
ALLOC, FREE, SHARE = 0, 1, 2
Event = tuple[int, int] | tuple[int, int, int]


def dump(sizes: dict[int, int], *traces: Sequence[Event], offsets: dict[int, int] | None = None) -> bytes:
    """Return an HloProto with buffer sizes and traces of events (kind, buffer, buffer whose place is shared)."""
    events = [
        [message({1: kind, 2: buffer, 4: f"op{buffer}", 5: rest[0] if rest else 0}) for kind, buffer, *rest in trace]
        for trace in traces
    ]
    assigned = [message({1: buffer, 2: offset, 3: sizes[buffer]}) for buffer, offset in (offsets or {}).items()]
    assignment = {
        1: [message({1: buffer, 2: size}) for buffer, size in sizes.items()],
        3: [message({9: assigned})],
        4: [message({1: rows}) for rows in events],
    }
    return message({1: message({1: "jit_step"}), 3: message(assignment)})


def rows(found: ImportedProblem) -> dict[Any, tuple[Any, ...]]:
    return {row.id: (row.start, row.end, row.size, row.pools) for row in found.problem.buffers}


def test_binary_and_text_dumps_of_xla_give_the_recorded_problem() -> None:
    recorded = problem_hash(public_problems.problem("xla/mlp-sgd.csv"))
    binary, text = read_model(BINARY).problem, read_model(TEXT).problem
    assert [problem_hash(binary), problem_hash(text)] == [recorded, recorded]
    assert {row.id for row in binary.buffers} == {row.id for row in text.buffers}
    assert binary.name == "jit_train_step"
    assert (solve(binary).peak or 0) <= 12_090_728  # the peak of XLA's own plan


def test_events_are_time_steps_and_values_that_are_never_freed_live_to_the_end() -> None:
    found = read_model(dump({1: 10, 2: 20}, [(ALLOC, 1), (ALLOC, 2), (FREE, 1)]))
    assert rows(found) == {"1 op1": (0, 2, 10, None), "2 op2": (1, 3, 20, None)}
    assert found.own_peak is None


def test_values_that_share_a_place_are_one_buffer_with_a_joint_lifetime() -> None:
    trace: list[Event] = [(ALLOC, 1), (FREE, 1), (SHARE, 2, 1), (ALLOC, 3), (FREE, 2), (FREE, 3)]
    found = read_model(dump({1: 10, 2: 30, 3: 5}, trace, offsets={1: 0, 2: 0, 3: 64}))
    assert (rows(found), found.own_peak) == ({"1 op1": (0, 4, 30, None), "3 op3": (3, 5, 5, None)}, 69)


def test_each_heap_simulator_trace_has_a_separate_pool() -> None:
    found = read_model(dump({1: 10, 2: 20}, [(ALLOC, 1), (FREE, 1)], [(ALLOC, 2), (FREE, 2)]))
    assert rows(found) == {"1 op1": (0, 1, 10, ("trace 0",)), "1/2 op2": (0, 1, 20, ("trace 1",))}


def test_sizes_of_xla_buffers_are_rounded_up_to_a_requested_alignment() -> None:
    data = dump({1: 10}, [(ALLOC, 1), (FREE, 1)])
    assert [(row.size, row.alignment) for row in read_model(data).problem.buffers] == [(10, 64)]
    aligned = read_model(data, options=ModelOptions(alignment=16))
    assert [(row.size, row.alignment) for row in aligned.problem.buffers] == [(16, 16)]


def text(values: str, ranges: str) -> bytes:
    """Return XLA's two texts, with one allocation for temporaries and one allocation for a parameter."""
    return f"""\
BufferAssignment:
allocation 0: size 64, parameter 0, shape |f32[16]| at ShapeIndex {{}}:
 value: <7 p @0> (size=64,offset=0): f32[16]{{0}}
allocation 1: size 256, preallocated-temp:
{values}
HloLiveRange (max 9):
  InstructionSequence:
    0:a
  BufferLiveRange:
{ranges}
  Live ranges at 2 (peak):
    a{{}}: 64 bytes
""".encode()


def value(number: int, name: str, size: int, offset: int) -> str:
    return f" value: <{number} {name} @0> (size={size},offset={offset}): f32[16]{{0}}\n"


def test_values_at_one_offset_with_overlapping_live_ranges_are_one_buffer() -> None:
    values = value(1, "a", 64, 0) + value(2, "b{1}", 32, 64) + value(3, "c", 60, 0) + value(4, "d", 64, 0)
    found = read_model(text(values, "    p{}:0-9\n    a{}:0-2\n    b{1}:1-3\n    c{}:2-4\n    d{}:5-6"))
    pool = ("allocation 1",)
    assert rows(found) == {"1 a": (0, 5, 64, pool), "2 b{1}": (1, 4, 32, pool), "4 d": (5, 7, 64, pool)}
    assert found.own_peak == 96


def dump_broken_events(*events: Event) -> bytes:
    return dump({1: 10, 2: 20}, events)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (message({1: message({1: "jit_step"}), 7: "x"}), "hlo_proto.buffer_assignment: is required"),
        (dump_broken_events((ALLOC, 9)), r"events\[0\].buffer_id: must be the id of a logical buffer, got 9"),
        (dump_broken_events((FREE, 1)), r"events\[0\].buffer_id: must be alive when it is freed, got 1"),
        (dump_broken_events((ALLOC, 1), (ALLOC, 1)), r"events\[1\].buffer_id: must be allocated once, got 1 again"),
        (dump_broken_events((5, 1)), r"events\[0\].kind: must be 0 \(ALLOC\), 1 \(FREE\) or 2 \(SHARE_WITH\), got 5"),
        (dump_broken_events((SHARE, 1, 2)), r"share_with_canonical_id: must have been allocated before, got 2"),
        (dump({1: -1}, []), r"logical_buffers\[0\].size: must be 0 to \d+ bytes, got -1"),
        (dump({1: 1}, [(ALLOC, 1)], offsets={1: -64}), r"assigned\[0\]: must have an offset and a size from 0 to \d+"),
        (b"BufferAssignment:\n", 'one after the other, got no "HloLiveRange"'),
        (text(value(1, "a", 64, 0), ""), 'value "a" of allocation 1: must have a live range, got none'),
        (text(value(1, "a", 64, 0), "    a{}:5-3"), r"line 11: must end at or after its first step \(5\), got 3"),
        (text(value(1, "a", 64, 0), "    a{}:5"), r"line 11: must be a live range, .* got \"a{}:5\""),
        (text(" value: <1 a @0> (size=64)\n", ""), "line 5: must be a value with size and offset, got"),
    ],
)
def test_errors_in_xla_dumps_state_their_location(data: bytes, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        read_model(data, "dump.hlo.pb")


def test_the_option_dims_is_refused_for_xla_dumps() -> None:
    with pytest.raises(OptionError, match='dims: must not be given, as XLA\'s buffers name no dimensions, got "n"'):
        read_model(TEXT, options=ModelOptions(dims={"n": 1}))


def test_tuple_tables_outside_traces_are_always_alive() -> None:
    (data,) = dump_bytes("scan.hlo.pb")
    table = next(row for row in read_model(data).problem.buffers if "untraced" in str(row.id))
    assert (table.size, table.start, table.end) == (32, 0, 17)


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


def test_instructions_are_operations_with_tuples_flattened_and_bitcasts_as_views() -> None:
    found = read_model_graph(module(*ROWS, root=9), "small.hlo.pb")
    graph = found.graph
    told = [("i3", "mul", (2,)), ("i5", None, (4,)), ("i7", None, (6,)), ("i8", "add", (7,))]
    assert [(op.name, op.kind, op.source) for op in graph.ops] == told
    assert (graph.size, graph.resident, len(graph.kept)) == ((64, 64, 64, 64, 128, 128, 128), (1,), 2)
    # The instructions custom-call and rng have side effects, so they must keep their order.
    assert (graph.predecessors, graph.ops[1].in_shapes) == (((), (0,), (1,), (1, 2)), ((4, 4),))
    bytes_ = analyse(found.imported.operations).workspace.live_bytes
    assert peak_of(graph, range(4)) == bytes_ == 64 + 3 * 128


def test_operations_follow_the_order_of_the_modules_schedule() -> None:
    graph = read_model_graph(module(*ROWS, root=9, schedule=[1, 2, 7, 3, 4, 5, 6, 8, 9]), "small.hlo.pb").graph
    assert [op.name for op in graph.ops] == ["i7", "i3", "i5", "i8"]


def test_slice_updates_are_in_place_in_a_scheduled_module() -> None:
    update = row(3, "dynamic-update-slice", shape(16), 2, 1)
    rows = [row(1, "parameter", shape(16)), row(2, "copy", shape(16), 1), update, row(4, "add", shape(16), 3, 3)]
    apart = read_model_graph(module(*rows, root=4), "small.hlo.pb").graph
    joined = read_model_graph(module(*rows, root=4, schedule=[1, 2, 3, 4]), "small.hlo.pb").graph
    assert (len(apart.size), len(joined.size)) == (4, 3)
    assert joined.ops[1].outputs == joined.ops[0].outputs


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "hlo_module: is required to read operations"),
        (module(root=1)[:2] and field(1, field(1, "m")), "must be the id of a computation, got 0"),
        (module(row(1, "add", shape(4), 2), root=1), "must be earlier instructions, got 2"),
        (module(row(1, "parameter", shape(4)), root=5), "must be the id of an instruction, got 5"),
        (module(row(1, "get-tuple-element", shape(4), index=0), root=1), "tuple_index: must be below 0, got 0"),
        (module(row(1, "parameter", shape(2**62, 2**62)), root=1), "must take at most"),
        (
            module(row(1, "parameter", shape(4)), row(2, "parameter", shape(4)).replace(b"i2", b"i1"), root=1),
            'must be unique, got "i1" again',
        ),
    ],
)
def test_broken_xla_modules_are_refused_with_a_message(data: bytes, sentence: str) -> None:
    with pytest.raises(FormatError) as error:
        read_module(data, ModelOptions())
    assert sentence in str(error.value)


DATA = message({1: 300, 2: "name", 3: [message({1: 1}), message({1: -2})], 4: b"\xff"})


def test_protobuf_fields_are_read_by_their_number() -> None:
    root = ProtobufMessage.root(DATA, "root")
    assert (root.integer(1, "count"), root.text(2, "name"), root.text(4, "odd")) == (300, "name", "\\xff")
    inner = list(root.messages(3, "rows"))
    assert [(row.path, row.integer(1, "value")) for row in inner] == [("root.rows[0]", 1), ("root.rows[1]", -2)]


def test_absent_protobuf_fields_have_their_defaults() -> None:
    root = ProtobufMessage.root(DATA, "root")
    assert (root.integer(9, "count", 5), root.text(9, "name"), root.message(9, "inner")) == (5, "", None)


def test_protobuf_fields_of_four_and_eight_bytes_are_skipped() -> None:
    data = varint(1 << 3 | 5) + b"abcd" + varint(2 << 3 | 1) + b"abcdefgh" + field(3, 7)
    assert ProtobufMessage.root(data, "root").integer(3, "count") == 7


@given(st.integers(-(2**63), 2**63 - 1))
def test_all_64_bit_integers_are_read_from_protobuf(value: int) -> None:
    assert ProtobufMessage.root(field(1, value), "root").integer(1, "count") == value


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (
            b"\x08" + b"\x80" * 10 + b"\x01",
            "root: must have numbers of at most 10 bytes, got an unfinished one at byte 1",
        ),
        (b"\x08", "root: must have numbers of at most 10 bytes"),
        (b"\x0a\x05ab", r"root: must not extend beyond its last byte \(4\), got a field of 5 bytes from byte 2"),
        (b"\x0b", "root: must be a message, got a field of kind 3 before byte 1"),
        (field(1, "x"), "root.count: must be an integer"),
    ],
)
def test_errors_of_protobuf_state_their_location(data: bytes, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        ProtobufMessage.root(data, "root").integer(1, "count")


def test_reading_a_number_as_a_message_is_refused() -> None:
    with pytest.raises(FormatError, match=r"root\.inner: must be a field with a length, got the integer 3"):
        ProtobufMessage.root(field(1, 3), "root").message(1, "inner")
