"""Buffer assignments of XLA: recorded ones pose the recorded problem, and no plan is above XLA's own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from memplan.planner.errors import FormatError, OptionError
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.solve import solve
from memplan.systems.imported import Imported, ModelOptions
from memplan.systems.reading import read_model
from tests.support import public_problems
from tests.support.dump_files import recorded
from tests.support.protobuf_files import message

(BINARY,) = recorded("mlp_sgd.hlo.pb")
ALLOC, FREE, SHARE = 0, 1, 2
Event = tuple[int, int] | tuple[int, int, int]


def dump(sizes: dict[int, int], *traces: Sequence[Event], offsets: dict[int, int] | None = None) -> bytes:
    """Return an HloProto: sizes by buffer, and events (kind, buffer, and whose place is shared)."""
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


def rows(found: Imported) -> dict[Any, tuple[Any, ...]]:
    return {row.id: (row.start, row.end, row.size, row.pools) for row in found.problem.buffers}


def test_a_step_of_training_poses_the_recorded_problem_and_no_plan_is_above_that_of_xla() -> None:
    found = read_model(BINARY)
    assert problem_hash(found.problem) == problem_hash(public_problems.problem("xla/mlp-sgd.csv"))
    assert found.problem.name == "jit_train_step"
    plan = solve(found.problem)
    assert plan.peak is not None
    assert found.own_peak is not None
    assert plan.peak <= found.own_peak == 12_090_728


def test_events_are_steps_and_what_is_never_freed_lives_to_the_end() -> None:
    found = read_model(dump({1: 10, 2: 20}, [(ALLOC, 1), (ALLOC, 2), (FREE, 1)]))
    assert rows(found) == {"1 op1": (0, 2, 10, None), "2 op2": (1, 3, 20, None)}
    assert found.own_peak is None


def test_what_shares_a_place_is_one_buffer_from_the_first_to_the_last() -> None:
    trace: list[Event] = [(ALLOC, 1), (FREE, 1), (SHARE, 2, 1), (ALLOC, 3), (FREE, 2), (FREE, 3)]
    found = read_model(dump({1: 10, 2: 30, 3: 5}, trace, offsets={1: 0, 2: 0, 3: 64}))
    assert rows(found) == {"1 op1": (0, 4, 30, None), "3 op3": (3, 5, 5, None)}
    assert found.own_peak == 69


def test_each_trace_has_a_memory_of_its_own() -> None:
    found = read_model(dump({1: 10, 2: 20}, [(ALLOC, 1), (FREE, 1)], [(ALLOC, 2), (FREE, 2)]))
    assert rows(found) == {"1 op1": (0, 1, 10, ("trace 0",)), "1/2 op2": (0, 1, 20, ("trace 1",))}


def test_sizes_are_rounded_up_where_an_alignment_is_asked_for() -> None:
    data = dump({1: 10}, [(ALLOC, 1), (FREE, 1)])
    assert [(row.size, row.alignment) for row in read_model(data).problem.buffers] == [(10, 64)]
    aligned = read_model(data, options=ModelOptions(alignment=16))
    assert [(row.size, row.alignment) for row in aligned.problem.buffers] == [(16, 16)]


def broken_events(*events: Event) -> bytes:
    return dump({1: 10, 2: 20}, events)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (message({1: message({1: "jit_step"}), 7: "x"}), "hlo_proto.buffer_assignment: is required"),
        (broken_events((ALLOC, 9)), r"events\[0\].buffer_id: must be the id of a logical buffer, got 9"),
        (broken_events((FREE, 1)), r"events\[0\].buffer_id: must be alive when it is freed, got 1"),
        (broken_events((ALLOC, 1), (ALLOC, 1)), r"events\[1\].buffer_id: must be allocated once, got 1 again"),
        (broken_events((5, 1)), r"events\[0\].kind: must be 0 \(ALLOC\), 1 \(FREE\) or 2 \(SHARE_WITH\), got 5"),
        (broken_events((SHARE, 1, 2)), r"share_with_canonical_id: must have been allocated before, got 2"),
        (dump({1: -1}, []), r"logical_buffers\[0\].size: must be 0 to \d+ bytes, got -1"),
        (dump({1: 1}, [(ALLOC, 1)], offsets={1: -64}), r"assigned\[0\]: must lie at 0 to \d+ bytes"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(data: bytes, sentence: str) -> None:
    with pytest.raises(FormatError, match=sentence):
        read_model(data, "dump.hlo.pb")


def test_xla_names_no_dimensions() -> None:
    with pytest.raises(OptionError, match='dim: must not be given, as XLA\'s buffers name no dimensions, got "n"'):
        read_model(BINARY, options=ModelOptions(dims={"n": 1}))


@pytest.mark.parametrize(
    ("name", "own_peak"), [("scan", 32_864), ("while", 16_452), ("cond", 16_456), ("mlp_sgd", 12_090_728)]
)
def test_the_plan_inside_of_a_dump_is_valid(name: str, own_peak: int) -> None:
    (data,) = recorded(f"{name}.hlo.pb")
    found = read_model(data)
    assert found.own_plan is not None
    assert (verify(found.problem, found.own_plan), found.own_peak) == ((), own_peak)


def test_tables_of_tuples_lie_in_no_trace_and_are_there_all_the_time() -> None:
    (data,) = recorded("scan.hlo.pb")
    table = next(row for row in read_model(data).problem.buffers if "untraced" in str(row.id))
    assert (table.size, table.start, table.end) == (32, 0, 17)
