"""Files that are made to cost their readers more than they cost their writers: refused with a sentence."""

from __future__ import annotations

import pytest

from memplan.planner.errors import FormatError, ProblemError, shown
from memplan.planner.instance.compile import MOST_CELLS, compile_problem
from memplan.planner.model.problem import Problem
from memplan.systems.model_options import ModelOptions
from memplan.systems.reading import read_problem
from memplan.systems.xla.module import read_module
from tests.support.dump_files import recorded
from tests.support.foreign_files import relax
from tests.support.protobuf_files import field, message, varint
from tests.support.tflite_files import model, operator, subgraph, tensor

BEYOND_TEXT = 16**8000
"""A number of more digits than Python writes."""


def test_numbers_that_python_does_not_write_are_shown_by_their_length() -> None:
    assert shown(BEYOND_TEXT - 1) == "0xffffffffffffffff... of 32000 bits"
    assert shown(-BEYOND_TEXT) == "-0x8000000000000000... of 32001 bits"
    assert shown([BEYOND_TEXT]) == "list"


def test_a_model_with_more_elements_than_digits_can_say_is_refused() -> None:
    shape = [2**31 - 1] * 5000
    data = model(subgraph([tensor("x", shape), tensor("y", shape)], [0], [1], [operator("RELU", [0], [1])]))
    with pytest.raises(FormatError, match=r"shape: must take at most \d+ bytes, got \d+$"):
        read_problem(data, "x.tflite")


def test_a_number_without_an_end_is_refused_in_relax() -> None:
    (text,) = recorded("network_allocated.relax")
    at = text.index(b"R.shape([") + len(b"R.shape([")
    data = text[:at] + b"0x" + b"f" * 8000 + text[text.index(b",", at) :]
    with pytest.raises(FormatError, match=r"0xf+\.\.\. of 32000 bits"):
        read_problem(data, "x.relax")


def test_pools_times_buffers_are_counted_before_columns_of_both_are_made() -> None:
    count = int(MOST_CELLS**0.5) + 1
    rows = [{"id": k, "size": 1, "start": 0, "end": 1} for k in range(count)]
    problem = Problem.model_validate({"buffers": rows, "pools": [{"name": f"p{k}"} for k in range(count)]})
    with pytest.raises(ProblemError, match=rf"^pools: must be at most {MOST_CELLS} times buffers, got {count**2}$"):
        compile_problem(problem)


def test_views_of_views_are_one_family() -> None:
    count = 2000
    tensors = [tensor(f"t{k}", [4]) for k in range(count + 1)]
    chain = [operator("RESHAPE", [k], [k + 1]) for k in range(count)]
    problem, _ = read_problem(model(subgraph(tensors, [0], [count], chain)), "x.tflite")
    assert len(problem.buffers.aliases) == count - 1


def test_tuples_that_say_many_values_in_one_word_are_counted_in_relax() -> None:
    four = 'R.Tensor((4, 8), dtype="float32")'
    made = [f"v{k}: {four} = R.relu()" for k in range(1001)]
    whole = f"t = ({', '.join(f'v{k}' for k in range(1001))})"
    used = [f"u{k}: {four} = R.add(t)" for k in range(1000)]
    with pytest.raises(FormatError, match=r"^operations: must use values at most 1000000 times in all, got more$"):
        read_problem(relax(*made, whole, *used, "return u0").replace(b'"n"', b"8"), "x.relax")


def test_tuples_of_tuples_are_counted_before_they_are_made_in_modules_of_xla() -> None:
    def row(number: int, opcode: str, *operands: int) -> bytes:
        shape = message({2: 11, 3: varint(4)})
        return message({1: f"i{number}", 2: opcode, 3: shape, 35: number, 36: b"".join(map(varint, operands))})

    tower = [row(1, "parameter"), *(row(k, "tuple", k - 1, k - 1) for k in range(2, 60))]
    data = field(1, message({3: [message({2: tower, 5: 7, 6: 59})], 6: 7}))
    with pytest.raises(FormatError, match=r"^operations: must use values at most 1000000 times in all, got more$"):
        read_module(data, ModelOptions())


def test_traces_without_events_are_no_memories() -> None:
    traces = field(4, message({1: message({1: 0, 2: 3})}))
    data = field(3, field(1, message({1: 3, 2: 8})) + field(4, b"") * 1000 + traces)
    problem, _ = read_problem(data, "x.hlo.pb")
    assert [pool.name for pool in problem.pools] == ["trace 1000"]
