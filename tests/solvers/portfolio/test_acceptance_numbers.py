"""A figure that TVM published for a small problem; the others are in tests/seeds."""

from __future__ import annotations

import pytest

from memplan.solvers.portfolio.solve import solve
from tests.support import tvm_problems as tvm


@pytest.mark.parametrize(
    "solver", ["auto", "reference:tvm-greedy-by-size", "reference:tvm-greedy-by-conflicts", "reference:tvm-hill-climb"]
)
def test_where_nothing_fits_all_three_buffers_are_named(solver: str) -> None:
    sizes = {"bi_a": 10, "bi_b": 10, "bi_c": 10}
    problem = tvm.conflicting(sizes, {"bi_a": ["bi_b"], "bi_b": ["bi_c"], "bi_c": ["bi_a"]}, capacity=10)
    plan = solve(problem, solver=solver)
    assert (plan.status, plan.stop_reason) == ("infeasible", "proved")
    assert plan.explanation is not None
    assert plan.explanation.buffers == ("bi_a", "bi_b", "bi_c")
    assert plan.explanation.missing_bytes == 20
