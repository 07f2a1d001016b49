"""Scores compare as the objectives say."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from memplan.capabilities.sizes import gap_text
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import cost_of, rounded_down, score
from memplan.planner.model.buffer_table import column
from memplan.planner.model.problem import Problem

POOLS = [{"name": "fast", "cost": 1}, {"name": "slow", "cost": 2.5}]
ROWS = [
    {"id": "a", "size": 40, "start": 0, "end": 2},
    {"id": "b", "size": 20, "start": 1, "end": 3, "traffic": 7},
]


def instance(**fields: Any) -> Instance:
    return compile_problem(Problem.model_validate({"buffers": ROWS, "pools": POOLS, **fields}))


def test_a_cost_that_is_a_bound_is_not_rounded_up() -> None:
    assert cost_of([(2, 0.1), (1, 0.1)]) == 0.3  # 0.30000000000000004 in floats, one after the other
    for exact in (Fraction(1, 3), Fraction(2, 3), Fraction(10**17 + 1, 10**17), Fraction(2**60 + 1), Fraction(0)):
        assert exact * (1 - Fraction(1, 2**52)) <= Fraction(repr(rounded_down(exact))) <= exact
    assert gap_text(0.00001) == "0.01%"  # a gap that is there does not read as none
    assert [gap_text(gap) for gap in (0.0, 0.07, 0.12345, None)] == ["0.00%", "7.00%", "12.35%", "unknown"]


def test_spilling_less_is_better_than_wasting_less() -> None:
    in_fast = score(instance(), column([0, 0]), column([50, 60]))
    in_slow = score(instance(), column([0, 1]), column([0, 0]))
    assert in_fast < in_slow
