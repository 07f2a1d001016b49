"""How much a body asks for is counted before anything of it is checked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from memplan.api.request_bodies import JSON, TooLargeError
from memplan.api.requests import head_of, parse_request
from memplan.capabilities.extent import Extent, extent_of
from memplan.planner.errors import MemplanError, OperationsError, OptionError
from memplan.planner.liveness.expansion import expanded_count
from memplan.planner.operations.operations import Operations

BANK = {
    "buffers": [{"id": k, "size": 1, "start": 0, "end": 1} for k in range(1_400)],
    "pools": [{"name": "a", "bank_size": 8}],
    "bank": [{"buffers": list(range(1_400))}],
}
NO_PLAN: dict[str, Any] = {"placements": []}
ABOUT_PROBLEMS: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("explain", "certify", "check")},
    "verify": {"plan": NO_PLAN},
    "sweep": {"sizes": {"a": [8]}, "changes": [[{"buffer": 0}]]},
}
LEAF = {"buffers": [{"id": "x", "size": 8}], "body": [{"op": "a", "body": [{"op": "b"}]}]}
PROGRAM = {
    "functions": {
        "main": {
            "buffers": [{"id": "y", "size": 8}],
            "body": [{"call": "leaf"}, {"branches": [[{"call": "leaf"}], []]}, {"loop": [{"op": "c"}], "trips": 3}],
        },
        "leaf": LEAF,
        "unused": LEAF,
    }
}


def wrong_with(name: str, content: object) -> MemplanError | None:
    try:
        parse_request(name, head_of(JSON, ""), json.dumps(content).encode())
    except MemplanError as error:
        return error
    return None


@pytest.mark.parametrize("name", ABOUT_PROBLEMS)
def test_pairs_of_a_bank_are_refused_before_the_problem_is_compiled(name: str) -> None:
    found = wrong_with(name, {"problem": BANK} | ABOUT_PROBLEMS[name])
    assert isinstance(found, TooLargeError)
    assert found.sentences[0].endswith("pairs that entries of bank make must be at most 100000, got 979300")


def test_the_problem_of_a_baseline_is_counted() -> None:
    content = {"plan": NO_PLAN, "baseline": {"problem": BANK, "plan": NO_PLAN}}
    assert isinstance(wrong_with("check", content), TooLargeError)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("sweep", {"changes": [[{"a": 1}] * 10_001]}, "changes: must be at most 10000, got 10001"),
        ("sweep", {"sizes": {f"p{k}": [1] for k in range(1_001)}}, "sizes: must have at most 1000 pools, got 1001"),
        ("sweep", {"sizes": {"a": [1] * 1_001}}, "sizes: must have at most 1000 sizes, got 1001"),
    ],
)
def test_long_lists_are_refused_before_their_entries_are_looked_at(name: str, content: object, sentence: str) -> None:
    found = wrong_with(name, {"problem": {"buffers": []}} | content)  # type: ignore[operator]
    assert isinstance(found, OptionError)
    assert found.sentences == (sentence,)


def test_what_calls_make_is_counted_as_the_analysis_counts_it() -> None:
    assert extent_of(PROGRAM).n_expanded == expanded_count(Operations.model_validate(PROGRAM)) == 12
    twice = {f"f{k}": {"body": [{"call": f"f{k + 1}"}, {"call": f"f{k + 1}"}]} for k in range(60)}
    functions = twice | {"f60": {"body": [{"op": "a"}]}, "main": {"body": [{"call": "f0"}]}}
    found = wrong_with("liveness", {"operations": {"functions": functions}})
    assert isinstance(found, OperationsError)
    assert "must be at most 200000 statements and buffers" in found.sentences[0]


@pytest.mark.parametrize(
    "odd",
    [
        *({"buffers": 1}, {"bank": [{"buffers": None}], "buffers": []}, {"ops": {}, "size": 4}, [1], None),
        *({"functions": {"main": 1}}, {"functions": {"main": {"body": [{"call": "main"}]}}}, {"problem": {"": {}}}),
        {"functions": {"main": {"body": [{"branches": [1]}, {"call": []}, 7]}}, "entry": []},
    ],
)
def test_what_is_not_as_it_should_be_counts_as_little(odd: object) -> None:
    found = extent_of(odd)
    assert isinstance(found, Extent)
    assert found.n_expanded + found.n_buffers < 9
