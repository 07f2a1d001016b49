"""Problems keep what they are given, as columns and as rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from pydantic import ValidationError

from memplan.planner.errors import ProblemError, sentences
from memplan.planner.formats.memplan_json import read_problem, write_problem
from memplan.planner.model.buffer_table import BufferTable
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Buffer
from tests.support.sentences import rules
from tests.support.strategies import problems


@given(problem=problems())
def test_a_problem_written_and_read_again_is_the_same(problem: Problem) -> None:
    assert read_problem(write_problem(problem)) == problem


@given(problem=problems())
def test_rows_of_the_table_make_the_same_table(problem: Problem) -> None:
    rows = [Buffer.model_validate(problem.buffers.fields(i)) for i in range(len(problem.buffers))]
    assert BufferTable.from_rows(rows) == problem.buffers


def test_without_pools_there_is_one_without_a_limit() -> None:
    empty: list[dict[str, Any]] = [{"buffers": []}, {"buffers": [], "pools": []}, {"buffers": [], "pools": None}]
    for data in empty:
        (pool,) = Problem.model_validate(data).pools
        assert (pool.name, pool.size, pool.alignment, pool.base_address) == ("default", None, 1, 0)


def test_numbers_and_texts_are_different_ids() -> None:
    buffers = [{"id": 1, "size": 1}, {"id": "1", "size": 2}]
    problem = Problem.model_validate({"buffers": buffers})
    assert problem.index == {1: 0, "1": 1}


def test_pools_of_a_buffer_are_in_the_problems_order() -> None:
    pools = [{"name": name} for name in "xyz"]
    problem = Problem.model_validate({"buffers": [{"id": 1, "size": 1, "pools": ["z", "x"]}], "pools": pools})
    assert problem.allowed_pools(0) == (0, 2)


def test_an_alias_of_an_alias_lies_at_the_sum_of_their_distances() -> None:
    buffers: list[dict[str, Any]] = [
        {"id": "c", "size": 2, "alias_of": "b", "alias_offset": 3},
        {"id": "a", "size": 10},
        {"id": "b", "size": 6, "alias_of": "a", "alias_offset": 4},
    ]
    assert Problem.model_validate({"buffers": buffers}).roots == {0: (1, 7), 2: (1, 4)}


@pytest.mark.slow
def test_a_long_chain_of_aliases_is_followed_once() -> None:
    n = 50_000
    chain = [
        {"id": 0, "size": n},
        *({"id": k, "size": n - k, "alias_of": k - 1, "alias_offset": 1} for k in range(1, n)),
    ]
    assert Problem.model_validate({"buffers": chain}).roots[n - 1] == (0, n - 1)


def test_columns_are_held_to_the_rules_of_rows() -> None:
    with pytest.raises(ValidationError) as caught:
        BufferTable.from_columns(["a", "b", "c"], [-1, 2**62 + 1, 1], [0, 0, 5], [1, 1, 5], [0, 1, 1], [-2, -1, -1])
    by_column = sentences(caught.value, ("buffers",))
    rows = [
        {"id": "a", "size": -1, "start": 0, "end": 1, "alignment": 0, "offset": -2},
        {"id": "b", "size": 2**62 + 1, "start": 0, "end": 1},
        {"id": "c", "size": 1, "start": 5, "end": 5},
    ]
    with pytest.raises(ProblemError) as told:
        Problem.model_validate({"buffers": rows})
    assert rules(by_column) == rules(told.value.sentences)


def test_columns_cannot_be_written_to() -> None:
    table = BufferTable.from_columns(["a"], np.array([4]), np.array([0]), np.array([1]))
    with pytest.raises(ValueError, match="read-only"):
        table.size[0] = 5


def test_a_capacity_is_given_to_the_only_pool_or_by_name() -> None:
    one = Problem(buffers=[Buffer(id="a", size=8, start=0, end=1)])
    assert [pool.size for pool in one.with_capacity(64).pools] == [64]
    two = Problem(buffers=[], pools=[{"name": "fast", "size": 8}, {"name": "slow", "alignment": 4}])
    assert [(pool.size, pool.alignment) for pool in two.with_capacity({"slow": 16}).pools] == [(8, 1), (16, 4)]
    assert [(pool.name, pool.size) for pool in one.with_capacity({"sram": 64}).pools] == [("sram", 64)]
    for problem, capacity, rule in (
        (two, 8, "must name its pools"),
        (two, {"x": 8}, 'got "x"'),
        (one, -1, "at least 0"),
    ):
        with pytest.raises(ProblemError, match=rule):
            problem.with_capacity(capacity)
