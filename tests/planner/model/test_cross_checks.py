"""Errors of problems that `mistakes.txt` cannot express: many at once, cycles, and non-JSON numbers."""

from collections.abc import Callable
from typing import Any

import pytest

from memplan.planner.errors import ProblemError
from memplan.planner.model.problem import Problem
from tests.support.sentences import rules

A = {"id": "a", "size": 4, "start": 0, "end": 2}


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"pools": [{"cost": float("inf")}]}, "pools[0].cost: must be a finite number, got Infinity"),
        ({"bank": [{"buffers": ["a"], "weight": float("nan")}]}, "bank[0].weight: must be a finite number, got NaN"),
    ],
)
def test_infinite_and_nan_numbers_in_a_problem_are_refused(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ProblemError) as caught:
        Problem.model_validate({"buffers": [A], **fields})
    assert rules(caught.value.sentences) == rules([sentence])


@pytest.mark.slow
def test_at_most_a_hundred_errors_of_a_problem_are_listed() -> None:
    with pytest.raises(ProblemError) as caught:
        Problem.model_validate({"buffers": [A | {"id": k, "size": -k} for k in range(1, 20_000)]})
    *named, rest = rules(caught.value.sentences)
    assert named == [f"buffers[{k - 1}].size: must be at least 0, got {-k}" for k in range(1, 101)]
    assert rest.startswith("and ")


def test_a_long_value_is_truncated_in_an_error_message() -> None:
    with pytest.raises(ProblemError) as caught:
        Problem.model_validate({"buffers": [A | {"size": "9" * 1000}]})
    assert len(str(caught.value)) < 120


AT = {"size": 4096, "base_address": 0x20000000}


@pytest.mark.parametrize(
    "pools",
    [
        [AT | {"size": None, "device": "dsp"}, AT | {"base_address": 0x20000800}],
        [AT, AT | {"base_address": 0x20001000}],
        [AT, AT | {"device": "dsp"}],
        [AT | {"reserved": [[2048, 2048]]}, AT | {"base_address": 0x20000800}],
        [AT, AT | {"reserved": [[0, 4096]]}],
        [AT, {"size": 4096}],
        [{"size": 64}, {"size": 64}],
    ],
)
def test_pools_with_disjoint_address_ranges_or_devices_are_accepted(pools: list[dict[str, Any]]) -> None:
    named = [{"name": str(k), **fields} for k, fields in enumerate(pools)]
    read = Problem.model_validate({"buffers": [{"id": "a", "size": 4, "start": 0, "end": 1}], "pools": named})
    assert Problem.model_validate_json(read.model_dump_json()) == read


@pytest.mark.parametrize(
    ("link", "field"),
    [(lambda to: {"alias_of": to}, "alias_of"), (lambda to: {"relative": {"to": to, "offset": 4}}, "relative.to")],
    ids=["aliases", "relative buffers"],
)
def test_every_buffer_of_a_cycle_is_reported(link: Callable[[int | str], dict[str, Any]], field: str) -> None:
    ring = [A | {"id": k} | link((k + 1) % 3) for k in range(3)]
    view = {"id": "view", "size": 4, "alias_of": 0}
    with pytest.raises(ProblemError) as caught:
        Problem.model_validate({"buffers": [A | {"id": "tail"} | link("view"), *ring, view]})
    assert rules(caught.value.sentences) == tuple(
        f"buffers[{k + 1}].{field}: must not lead back to itself, got {(k + 1) % 3}" for k in range(3)
    )


def test_a_buffer_placed_relative_to_its_own_alias_is_reported() -> None:
    view = {"id": "view", "size": 1, "alias_of": "a"}
    with pytest.raises(ProblemError) as caught:
        Problem.model_validate({"buffers": [A | {"relative": {"to": "view", "offset": 0}}, view]})
    assert caught.value.sentences == ('buffers[0].relative.to: must not lead back to itself, got "view"',)


def test_bank_entries_that_expand_to_too_many_pairs_are_refused() -> None:
    rows = [A | {"id": k} for k in range(1_500)]
    with pytest.raises(ProblemError) as caught:
        Problem.model_validate({"buffers": rows, "bank": [{"buffers": list(range(1_500))}]})
    assert caught.value.sentences == ("bank: must make at most 1000000 pairs, got 1124250",)
