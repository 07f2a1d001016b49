"""Ties between buffers that make no sense, each with exactly what is said about it."""

from __future__ import annotations

from typing import Any

import pytest

from memplan.planner.errors import ProblemError
from memplan.planner.model.problem import Problem
from tests.support.plain_rows import A, B, one, two
from tests.support.sentences import rules


def one_pool(**fields: Any) -> dict[str, Any]:
    return {"buffers": [A], "pools": [fields]}


def three(**fields: Any) -> dict[str, Any]:
    return {"buffers": [A, B, {"id": "v", "size": 2, "alias_of": "b", "alias_offset": 1}], **fields}


A_RELATIVE: list[tuple[Any, str]] = [
    (two(relative={"to": "a"}), "buffers[1].relative.offset: is required"),
    (
        two(relative={"to": "a", "offset": -(2**62) - 1}),
        "buffers[1].relative.offset: must be at least -4611686018427387904, got -4611686018427387905",
    ),
    (
        two(relative={"to": "a", "offset": 2**62 + 1}),
        "buffers[1].relative.offset: must be at most 4611686018427387904, got 4611686018427387905",
    ),
    (two(relative={"to": "x", "offset": 4}), 'buffers[1].relative.to: must be the id of a buffer, got "x"'),
    (two(relative={"to": "b", "offset": 4}), 'buffers[1].relative.to: must name another buffer, got "b"'),
    (two(relative={"to": "a", "offset": 4}, alias_of="a"), "buffers[1].relative: must not be given beside alias_of"),
    (two(relative={"to": "a", "offset": 4}, size=0), "buffers[1].relative: must not be given for a buffer of no bytes"),
    (
        {"buffers": [A | {"size": 0}, B | {"relative": {"to": "a", "offset": 0}}]},
        'buffers[1].relative.to: must be a buffer of some bytes, got "a"',
    ),
    (
        {"buffers": [A, B, {"id": "v", "size": 2, "alias_of": "b"}, {"id": "w", "size": 0, "alias_of": "w2"}]},
        'buffers[3].alias_of: must be the id of a buffer, got "w2"',
    ),
    (
        two(relative={"to": "a", "offset": 3}) | {"conflicts": [["b", "a"]]},
        'conflicts[0]: must not pair buffers that relative makes share bytes, got ["b", "a"]',
    ),
]

A_PLACE: list[tuple[Any, str]] = [
    (one(no_cross=0), "buffers[0].no_cross: must be at least 1, got 0"),
    (
        two(no_cross=8, alias_of="a"),
        "buffers[1].no_cross: must not be given beside alias_of; relative takes both",
    ),
    (one(offset_mod={"modulus": 8}), "buffers[0].offset_mod.remainder: is required"),
    (
        one(offset_mod={"modulus": 8, "remainder": 8}),
        "buffers[0].offset_mod.remainder: must be less than modulus (8), got 8",
    ),
    (one(forbid_pools=["x"]), 'buffers[0].forbid_pools[0]: must name a pool of the problem, got "x"'),
    (
        one(forbid_pools=["default"]),
        'buffers[0].forbid_pools: must leave a pool that it may live in, got ["default"]',
    ),
    (
        one(pools=["x"], forbid_pools=["y", "x"]) | {"pools": [{"name": "x"}, {"name": "y"}]},
        'buffers[0].forbid_pools: must leave a pool that it may live in, got ["y", "x"]',
    ),
    (
        one(offset=4, forbid_pools=["x"]) | {"pools": [{"name": "x"}, {"name": "y"}, {"name": "z"}]},
        "buffers[0].offset: must come with the one pool it is meant for, got 2 pools to choose from",
    ),
    (one_pool(bank_size=0), "pools[0].bank_size: must be at least 1, got 0"),
]

A_PAIR: list[tuple[Any, str]] = [
    (three(may_share=[["a", "x"]]), 'may_share[0][1]: must be the id of a buffer, got "x"'),
    (three(may_share=[["a", "a"]]), 'may_share[0]: must pair two buffers, got ["a", "a"]'),
    (three(may_share=[["a", "v"]]), 'may_share[0][1]: must be a whole buffer, not a part of "b", got "v"'),
    (
        {"buffers": [A, B | {"alias_of": "a"}], "may_share": [["a", "b"]]},
        'may_share[0]: must not pair buffers that alias_of or relative ties together, got ["a", "b"]',
    ),
    (
        two(relative={"to": "a", "offset": 0}) | {"may_share": [["b", "a"]]},
        'may_share[0]: must not pair buffers that alias_of or relative ties together, got ["b", "a"]',
    ),
    (
        three(may_share=[["a", "b"]], conflicts=[["v", "a"]]),
        'may_share[0]: must not pair buffers that conflicts keep apart, got ["a", "b"]',
    ),
    (three(bank=[{"buffers": ["a", "x"]}]), 'bank[0].buffers[1]: must be the id of a buffer, got "x"'),
    (three(bank=[{"buffers": ["a"], "weight": 2e30}]), "bank[0].weight: must be at most 1e+30, got 2e+30"),
    (
        three(bank=[{"buffers": ["a"], "weight": float("nan")}]),
        "bank[0].weight: must be a finite number, got NaN",
    ),
    (
        three(bank=[{"buffers": ["b", "a", "v"]}]),
        'bank[0].buffers[2]: must not be tied to another buffer of the entry ("b"), got "v"',
    ),
    (
        three(bank=[{"buffers": ["a", "a"], "weight": 1}]),
        'bank[0].buffers[1]: must not be tied to another buffer of the entry ("a"), got "a"',
    ),
    (
        two(relative={"to": "a", "offset": 8}) | {"bank": [{"buffers": ["a", "b"]}]},
        'bank[0].buffers[1]: must not be tied to another buffer of the entry ("a"), got "b"',
    ),
    (three(together=[["a", "x"]]), 'together[0][1]: must be the id of a buffer, got "x"'),
]


@pytest.mark.parametrize(("value", "sentence"), [*A_RELATIVE, *A_PLACE, *A_PAIR])
def test_what_is_wrong_is_said_with_place_rule_and_value(value: Any, sentence: str) -> None:
    with pytest.raises(ProblemError) as caught:
        Problem.model_validate(value)
    assert rules(caught.value.sentences) == rules([sentence])


def test_relatives_in_a_ring_are_named_each() -> None:
    ring = [A | {"id": k, "relative": {"to": (k + 1) % 3, "offset": 4}} for k in range(3)]
    tail = A | {"id": "tail", "relative": {"to": "view", "offset": 4}}
    view = {"id": "view", "size": 1, "alias_of": 0}
    with pytest.raises(ProblemError) as caught:
        Problem.model_validate({"buffers": [tail, *ring, view]})
    assert caught.value.sentences == (
        "buffers[1].relative.to: must not lead back to itself, got 1",
        "buffers[2].relative.to: must not lead back to itself, got 2",
        "buffers[3].relative.to: must not lead back to itself, got 0",
    )


def test_a_buffer_that_is_relative_to_its_own_alias_is_named() -> None:
    view = {"id": "view", "size": 1, "alias_of": "a"}
    with pytest.raises(ProblemError) as caught:
        Problem.model_validate({"buffers": [A | {"relative": {"to": "view", "offset": 0}}, view]})
    assert caught.value.sentences == ('buffers[0].relative.to: must not lead back to itself, got "view"',)


def test_entries_that_make_too_many_pairs_are_refused() -> None:
    rows = [A | {"id": k} for k in range(1_500)]
    with pytest.raises(ProblemError) as caught:
        Problem.model_validate({"buffers": rows, "bank": [{"buffers": list(range(1_500))}]})
    assert caught.value.sentences == ("bank: must make at most 1000000 pairs, got 1124250",)
