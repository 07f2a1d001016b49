"""Problems: their fields as columns and as rows, validation, and the constraint kinds that they use."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from memplan.planner.errors import InputError, ProblemError, sentences
from memplan.planner.model.buffer_table import BufferTable
from memplan.planner.model.columns import plain_columns
from memplan.planner.model.constraints import alias, bank, conflicts, may_share, relative, together
from memplan.planner.model.constraints.kept import OffsetRule
from memplan.planner.model.constraints.kinds import kinds_of, offset_rules
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Buffer
from memplan.programs.operations.operations import Operations
from tests.support.sentences import rules
from tests.support.strategies import problems


@given(problem=problems())
def test_a_buffer_table_rebuilt_from_its_rows_is_equal(problem: Problem) -> None:
    rows = [Buffer.model_validate(problem.buffers.fields(i)) for i in range(len(problem.buffers))]
    assert BufferTable.from_rows(rows) == problem.buffers


def test_a_problem_without_pools_gets_one_unlimited_pool() -> None:
    for data in [{"buffers": []}, {"buffers": [], "pools": []}, {"buffers": [], "pools": None}]:
        (pool,) = Problem.model_validate(data).pools
        assert (pool.name, pool.size, pool.alignment, pool.base_address) == ("default", None, 1, 0)


def test_an_integer_and_an_equal_text_are_different_ids() -> None:
    assert Problem.model_validate({"buffers": [{"id": 1, "size": 1}, {"id": "1", "size": 2}]}).index == {1: 0, "1": 1}


def test_allowed_pools_follow_the_pool_order_of_the_problem() -> None:
    pools = [{"name": name} for name in "xyz"]
    problem = Problem.model_validate({"buffers": [{"id": 1, "size": 1, "pools": ["z", "x"]}], "pools": pools})
    assert problem.allowed_pools(0) == (0, 2)


def test_the_offsets_of_chained_aliases_add_up() -> None:
    in_b = {"id": "c", "size": 2, "alias_of": "b", "alias_offset": 3}
    in_a = {"id": "b", "size": 6, "alias_of": "a", "alias_offset": 4}
    buffers: list[dict[str, Any]] = [in_b, {"id": "a", "size": 10}, in_a]
    assert Problem.model_validate({"buffers": buffers}).roots == {0: (1, 7), 2: (1, 4)}


@pytest.mark.slow
def test_a_chain_of_fifty_thousand_aliases_is_resolved() -> None:
    n = 50_000
    views = [{"id": k, "size": n - k, "alias_of": k - 1, "alias_offset": 1} for k in range(1, n)]
    chain = [{"id": 0, "size": n}, *views]
    assert Problem.model_validate({"buffers": chain}).roots[n - 1] == (0, n - 1)


def test_columns_are_validated_by_the_rules_of_rows() -> None:
    with pytest.raises(ValidationError) as caught:
        BufferTable.from_columns(["a", "b", "c"], [-1, 2**62 + 1, 1], [0, 0, 5], [1, 1, 5], [0, 1, 1], [-2, -1, -1])
    by_column = ProblemError(*sentences(caught.value, ("buffers",))).sentences
    rows = [
        {"id": "a", "size": -1, "start": 0, "end": 1, "alignment": 0, "offset": -2},
        {"id": "b", "size": 2**62 + 1, "start": 0, "end": 1},
        {"id": "c", "size": 1, "start": 5, "end": 5},
    ]
    with pytest.raises(ProblemError) as told:
        Problem.model_validate({"buffers": rows})
    assert rules(by_column) == rules(told.value.sentences)


def test_columns_of_a_buffer_table_are_read_only() -> None:
    table = BufferTable.from_columns(["a"], np.array([4]), np.array([0]), np.array([1]))
    with pytest.raises(ValueError, match="read-only"):
        table.size[0] = 5


def test_with_capacity_sizes_the_only_pool_or_named_pools() -> None:
    one = Problem(buffers=[Buffer(id="a", size=8, start=0, end=1)])
    assert [pool.size for pool in one.with_capacity(64).pools] == [64]
    two = Problem(buffers=[], pools=[{"name": "fast", "size": 8}, {"name": "slow", "alignment": 4}])
    assert [(pool.size, pool.alignment) for pool in two.with_capacity({"slow": 16}).pools] == [(8, 1), (16, 4)]
    assert [(pool.name, pool.size) for pool in one.with_capacity({"sram": 64}).pools] == [("sram", 64)]
    for problem, capacity, rule in (
        (two, 8, "must name the pools"),
        (two, {"x": 8}, 'got "x"'),
        (one, -1, "at least 0"),
    ):
        with pytest.raises(ProblemError, match=rule):
            problem.with_capacity(capacity)


def asked_for(more: dict[str, Any], **fields: Any) -> list[object]:
    rows = [{"id": "a", "size": 8, "start": 0, "end": 2}, {"id": "b", "size": 4, "start": 0, "end": 2, **more}]
    problem = Problem.model_validate({"buffers": rows, **fields})
    of_offsets = [rule for _, rule in offset_rules(problem)[0]]
    return [*(kind.checks[0] for kind in kinds_of(problem) if kind.offsets is None), *of_offsets]


def test_plain_buffers_use_no_constraint_kind() -> None:
    assert asked_for({"alignment": 4, "offset": 8}, pools=[{"name": "p", "size": 64}]) == []


@pytest.mark.parametrize(
    ("more", "fields", "kinds"),
    [
        ({"alias_of": "a"}, {}, [alias.unknown_names]),
        ({"relative": {"to": "a", "offset": 8}}, {}, [relative.unknown_names, together.unknown_names]),
        ({"no_cross": 16}, {}, [OffsetRule(page=16)]),
        ({"offset_mod": {"modulus": 8, "remainder": 3}}, {}, [OffsetRule(step=8, remainder=3)]),
        ({}, {"conflicts": [["a", "b"]]}, [conflicts.unknown_names]),
        ({}, {"may_share": [["a", "b"]]}, [may_share.unknown_names]),
        ({}, {"bank": [{"buffers": ["a", "b"]}]}, [bank.unknown_names]),
        ({}, {"together": [["a", "b"]]}, [together.unknown_names]),
    ],
)
def test_a_field_activates_its_constraint(more: dict[str, Any], fields: dict[str, Any], kinds: list[object]) -> None:
    assert asked_for(more, **fields) == kinds


PLAIN_ROW: dict[str, Any] = {"id": "a", "size": 8, "start": 0, "end": 2}
TIMES = {"start": st.integers(-(2**63), 0), "end": st.integers(1, 2**63 - 1)}
ROW_FIELDS = {"id": st.integers(0, 9) | st.sampled_from("abc"), "size": st.integers(0, 2**62)} | TIMES
ROWS = st.lists(st.fixed_dictionaries(ROW_FIELDS), min_size=1, max_size=5, unique_by=lambda row: row["id"])


@given(rows=ROWS, alignment=st.none() | st.integers(1, 2**62))
def test_the_fast_path_for_plain_rows_yields_the_same_table(rows: list[dict[str, Any]], alignment: int | None) -> None:
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
def test_plain_columns_rejects_rows_that_need_individual_validation(changed: dict[str, Any]) -> None:
    assert plain_columns([PLAIN_ROW, PLAIN_ROW | {"id": "b"} | changed]) is None


def test_plain_columns_rejects_rows_with_missing_fields() -> None:
    assert plain_columns([PLAIN_ROW, {"id": "b", "size": 8, "start": 0, "begin": 1}]) is None
    assert plain_columns([PLAIN_ROW, ["b", 8, 0, 2]]) is None
    assert plain_columns([]) is None


ROW = {"id": 1, "size": 1, "start": 0, "end": 1}
MANY = 3000
WIDE = {f"x{k}": 0 for k in range(MANY)}
WRONG: dict[str, Any] = {
    "an object": WIDE | {"buffers": []},
    "a row": {"buffers": [ROW | WIDE]},
    "a pool": {"buffers": [ROW], "pools": [{"name": "a"} | WIDE]},
    "pools": {"buffers": [ROW], "pools": [1] * MANY},
    "conflicts": {"buffers": [ROW], "conflicts": [[]] * MANY},
    "entries of bank": {"buffers": [ROW], "bank": [{"buffers": [[]] * MANY}]},
    "lifetimes": {"buffers": [{"id": 1, "size": 1, "lifetimes": ["a"] * MANY}]},
    "names of pools": {"buffers": [ROW | {"pools": [1] * MANY}]},
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_validating_thousands_of_equal_mistakes_takes_little_memory(content: dict[str, Any]) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            Problem.model_validate(content)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 600 * MANY
    told = caught.value.sentences
    assert told[-1] == "and more" or told == (f"pools[0]: must have at most 64 fields, got {MANY + 1}",)


def test_errors_in_later_validation_chunks_have_correct_positions() -> None:
    pairs: list[Any] = [[1, 2]] * 700
    pairs[400], pairs[650] = [1, 2.5], 7
    rows = [ROW, ROW | {"id": 2}]
    with pytest.raises(InputError) as caught:
        Problem.model_validate({"buffers": rows, "conflicts": pairs})
    assert rules(caught.value.sentences) == (
        "conflicts[400][1]: must be a non-empty string or an integer, got 2.5",
        "conflicts[650]: must be a list, got 7",
    )


def test_plans_and_operations_are_validated_in_chunks() -> None:
    with pytest.raises(InputError, match="and more"):
        Plan.model_validate({"placements": [{}] * MANY})
    functions: dict[str, Any] = {f"f{k}": {} for k in range(MANY)}
    assert list(Operations.model_validate({"functions": functions, "entry": "f0"}).functions) == list(functions)
    functions["f700"] = 1
    with pytest.raises(ValueError, match="f700"):
        Operations.model_validate({"functions": functions, "entry": "f0"})
