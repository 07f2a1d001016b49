"""Rows that are read column by column are read as they are one by one."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.planner.model.columns import plain_columns
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Buffer

ROW: dict[str, Any] = {"id": "a", "size": 8, "start": 0, "end": 2}
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.integers(0, 9) | st.sampled_from("abc"),
            "size": st.integers(0, 2**62),
            "start": st.integers(-(2**63), 0),
            "end": st.integers(1, 2**63 - 1),
        },
    ),
    min_size=1,
    max_size=5,
    unique_by=lambda row: row["id"],
)


@given(rows=ROWS, alignment=st.none() | st.integers(1, 2**62))
def test_plain_rows_come_to_the_same_table(rows: list[dict[str, Any]], alignment: int | None) -> None:
    rows = rows if alignment is None else [row | {"alignment": alignment} for row in rows]
    assert plain_columns(rows) is not None
    assert list(Problem.model_validate({"buffers": rows}).buffers) == [Buffer.model_validate(row) for row in rows]


@pytest.mark.parametrize(
    "changed",
    [
        {"hint": 8},
        {"alignment": 4},
        {"size": 8.0},
        {"size": True},
        {"size": "8"},
        {"id": ""},
        {"id": None},
        {"id": False},
        {"id": [1]},
    ],
)
def test_rows_that_are_not_plain_are_checked_one_by_one(changed: dict[str, Any]) -> None:
    assert plain_columns([ROW, ROW | {"id": "b"} | changed]) is None


def test_a_row_without_a_field_is_not_plain() -> None:
    assert plain_columns([ROW, {"id": "b", "size": 8, "start": 0, "begin": 1}]) is None
    assert plain_columns([ROW, ["b", 8, 0, 2]]) is None
    assert plain_columns([]) is None
