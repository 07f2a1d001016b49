"""Sizes with units, capacities of pools, and the estimated size of a request."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memplan.api.request_bodies import JSON, TooLargeError
from memplan.api.requests import head_of, parse_request
from memplan.planner.errors import MemplanError, OperationsError, OptionError
from memplan.planner.model.problem import Problem
from memplan.planner.model.sizes import parse_size, set_capacities, size_text
from memplan.programs.lifetimes.expansion import expanded_count
from memplan.programs.operations.operations import Operations
from memplan.questions.inputs.extent import Extent, extent_of

NO_POOLS = Problem.model_validate({"buffers": []})
TWO_POOLS = Problem.model_validate(
    {"buffers": [{"id": "a", "size": 1, "pools": ["slow"]}], "pools": [{"name": "fast", "cost": 2}, {"name": "slow"}]}
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("4096", 4096),
        ("12B", 12),
        ("64kB", 64_000),
        ("128KiB", 131_072),
        ("1MiB", 1_048_576),
        ("1.5 MiB", 1_572_864),
        (" 2GB ", 2_000_000_000),
        ("0.5TiB", 549_755_813_888),
        ("64K", 65_536),
        ("0x20000000", 2**29),
        ("9223372036854775807", 2**63 - 1),
    ],
)
def test_parse_size_accepts_a_number_with_an_optional_unit(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(("text", "said"), [("", ""), ("9" * 5000, f"{'9' * 28}...{'9' * 27}")])
def test_parse_size_refuses_text_that_is_not_a_size(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=f'^must be a size such as 4096, 64kB or 1MiB, got "{said}'):
        parse_size(text)


@given(size=st.integers(0, 2**63 - 1))
@example(2**40 - 1)
@example(2**40 - 2**29)
def test_size_text_is_accurate_to_a_relative_error_of_one_thousandth(size: int) -> None:
    number, unit = size_text(size).replace(",", "").split()
    assert float(number) * parse_size(f"1{unit}") == pytest.approx(size, rel=1e-3)
    assert float(number) < 1024 or unit == "TiB"


def test_a_size_without_a_pool_name_applies_to_the_only_pool() -> None:
    assert set_capacities(NO_POOLS, ["1KiB"]).pools[0].size == 1024
    assert set_capacities(NO_POOLS, ["unlimited"]).pools[0].size is None
    assert set_capacities(NO_POOLS, []) is NO_POOLS


def test_named_capacities_define_the_pools_of_a_problem_without_pools() -> None:
    problem = set_capacities(NO_POOLS, ["fast=64kB", "slow=unlimited"])
    assert [(pool.name, pool.size) for pool in problem.pools] == [("fast", 64_000), ("slow", None)]


def test_an_address_after_a_size_is_the_base_address_of_the_pool() -> None:
    problem = set_capacities(NO_POOLS, ["sram=128KiB@0x20000000", "a@b=unlimited"])
    pools = [(pool.name, pool.size, pool.base_address) for pool in problem.pools]
    assert pools == [("sram", 131_072, 2**29), ("a@b", None, 0)]
    assert set_capacities(problem, ["sram=64KiB"]).pools[0].base_address == 2**29


def test_named_capacities_change_only_the_sizes_of_existing_pools() -> None:
    problem = set_capacities(TWO_POOLS, ["slow=7"])
    assert [(pool.name, pool.size, pool.cost) for pool in problem.pools] == [("fast", None, 2), ("slow", 7, 0)]
    assert problem.buffers == TWO_POOLS.buffers


ROWS = [{"id": k, "size": 1, "start": 0, "end": 1} for k in range(1_400)]
BANK = {"buffers": ROWS, "pools": [{"name": "a", "bank_size": 8}], "bank": [{"buffers": list(range(1_400))}]}
NO_PLAN: dict[str, Any] = {"placements": []}
ABOUT_PROBLEMS: dict[str, dict[str, Any]] = {
    **{name: {} for name in ("explain", "certify", "check")},
    "verify": {"plan": NO_PLAN},
    "sweep": {"sizes": {"a": [8]}, "changes": [[{"buffer": 0}]]},
}
LEAF = {"buffers": [{"id": "x", "size": 8}], "body": [{"op": "a", "body": [{"op": "b"}]}]}
BODY = [{"call": "leaf"}, {"branches": [[{"call": "leaf"}], []]}, {"loop": [{"op": "c"}], "trips": 3}]
MAIN = {"buffers": [{"id": "y", "size": 8}], "body": BODY}
PROGRAM = {"functions": {"main": MAIN, "leaf": LEAF, "unused": LEAF}}


def wrong_with(name: str, content: object) -> MemplanError | None:
    try:
        parse_request(name, head_of(JSON, ""), json.dumps(content).encode())
    except MemplanError as error:
        return error
    return None


@pytest.mark.parametrize("name", ABOUT_PROBLEMS)
def test_too_many_bank_pairs_are_refused_before_the_problem_is_compiled(name: str) -> None:
    found = wrong_with(name, {"problem": BANK} | ABOUT_PROBLEMS[name])
    assert isinstance(found, TooLargeError)
    assert found.sentences[0].endswith("at most 100000 pairs from entries of bank, got 979300")


def test_the_problem_of_a_baseline_counts_towards_the_request_limit() -> None:
    content = {"plan": NO_PLAN, "baseline": {"problem": BANK, "plan": NO_PLAN}}
    assert isinstance(wrong_with("check", content), TooLargeError)


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("sweep", {"changes": [[{"a": 1}] * 10_001]}, "changes: must have at most 10000 entries, got 10001"),
        ("sweep", {"sizes": {f"p{k}": [1] for k in range(1_001)}}, "sizes: must have at most 1000 pools, got 1001"),
        ("sweep", {"sizes": {"a": [1] * 1_001}}, "sizes: must have at most 1000 sizes, got 1001"),
    ],
)
def test_long_lists_are_refused_before_their_entries_are_validated(name: str, content: object, sentence: str) -> None:
    found = wrong_with(name, {"problem": {"buffers": []}} | content)  # type: ignore[operator]
    assert isinstance(found, OptionError)
    assert found.sentences == (sentence,)


def test_the_request_estimate_counts_expanded_calls_like_the_lifetime_analysis() -> None:
    assert extent_of(PROGRAM).n_expanded == expanded_count(Operations.model_validate(PROGRAM)) == 12
    twice = {f"f{k}": {"body": [{"call": f"f{k + 1}"}, {"call": f"f{k + 1}"}]} for k in range(60)}
    functions = twice | {"f60": {"body": [{"op": "a"}]}, "main": {"body": [{"call": "f0"}]}}
    found = wrong_with("liveness", {"operations": {"functions": functions}})
    assert isinstance(found, OperationsError)
    assert "must have at most 200000 statements and buffers" in found.sentences[0]


@pytest.mark.parametrize(
    "odd",
    [
        *({"buffers": 1}, {"bank": [{"buffers": None}], "buffers": []}, {"ops": {}, "size": 4}, [1], None),
        *({"functions": {"main": 1}}, {"functions": {"main": {"body": [{"call": "main"}]}}}, {"problem": {"": {}}}),
        {"functions": {"main": {"body": [{"branches": [1]}, {"call": []}, 7]}}, "entry": []},
    ],
)
def test_malformed_parts_of_a_request_add_little_to_its_estimated_size(odd: object) -> None:
    found = extent_of(odd)
    assert isinstance(found, Extent)
    assert found.n_expanded + found.n_buffers < 9
