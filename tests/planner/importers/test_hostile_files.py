"""Files that are made to cost their readers more than they cost their writers: refused with a sentence."""

from __future__ import annotations

import pytest

from memplan.planner.errors import FormatError, ProblemError, shown
from memplan.planner.importers import read_problem
from memplan.planner.instance.compile import MOST_CELLS, compile_problem
from memplan.planner.model.problem import Problem
from tests.support.dump_files import recorded
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
