"""Buffers written in different branches of one choice may share bytes, as no execution writes both."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.programs.lifetimes import problem_of
from memplan.programs.lifetimes.shadow import shadow
from memplan.programs.operations.operations import operations_from
from memplan.solvers.portfolio.solve import solve


def _writes(name: str) -> dict[str, Any]:
    return {"op": "write", "outputs": [name]}


def _reads(name: str) -> dict[str, Any]:
    return {"op": "read", "inputs": [name], "outputs": ["r"]}


CHOICE = {"inputs": ["c"], "branches": [[_writes("s")], [_writes("t")]]}
READ = {"inputs": ["c"], "branches": [[_reads("s")], [_reads("t")]]}
ALSO = {"inputs": ["c"], "branches": [[_writes("s")], [_writes("s"), _writes("t")]]}


@pytest.mark.parametrize(
    ("body", "peak"),
    [
        ([CHOICE, READ], 65),
        ([CHOICE, CHOICE, READ], 129),
        ([ALSO, READ], 129),
        ([{"trips": 2, "loop": [CHOICE]}, READ], 129),
        ([_writes("s"), CHOICE, READ], 129),
    ],
)
def test_buffers_share_bytes_only_if_no_execution_writes_both(body: list[Any], peak: int) -> None:
    rows = [{"id": "c", "size": 1}, {"id": "s", "size": 64}, {"id": "t", "size": 64}, {"id": "r", "size": 1}]
    function = {"params": ["c"], "results": ["r"], "buffers": rows, "body": body}
    operations = operations_from({"functions": {"main": function}})
    problem = problem_of(operations)
    plan = solve(problem, time_limit_s=20)
    assert (plan.status, plan.peak) == ("optimal", peak)
    assert not [*shadow(operations, plan)]
