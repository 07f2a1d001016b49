"""A table of broken problems, each with exactly what is said about it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from memplan.planner.errors import ProblemError
from memplan.planner.model.problem import Problem
from tests.support.plain_rows import A, B, one, two
from tests.support.sentences import rules


def holes(*lifetimes: Any) -> dict[str, Any]:
    return {"buffers": [{"id": "a", "size": 4, "lifetimes": list(lifetimes)}]}


def pool(**fields: Any) -> dict[str, Any]:
    return {"buffers": [A], "pools": [fields]}


def without(name: str) -> dict[str, Any]:
    return {"buffers": [{key: value for key, value in A.items() if key != name}]}


A_PROBLEM: list[tuple[Any, str]] = [
    ([], "must be an object, got []"),
    ({"buffers": None}, "buffers: must be a list, got null"),
    ({"buffers": [3]}, "buffers[0]: must be an object, got 3"),
    (one() | {"bufers": []}, "bufers: is not a known field (did you mean buffers?)"),
    (
        one() | {"objective": "costs"},
        """objective: must be 'peak', 'fit', 'cost' or ["peak", "cost"], got "costs" (did you mean cost?)""",
    ),
    (
        one() | {"objective": ["cost", "peak"]},
        """objective: must be 'peak', 'fit', 'cost' or ["peak", "cost"], got ["cost", "peak"]""",
    ),
    (one() | {"format": "memplan/2"}, "format: must be 'memplan/1', got \"memplan/2\""),
]

A_BUFFER: list[tuple[Any, str]] = [
    (one(colour="red"), "buffers[0].colour: is not a known field"),
    (without("id"), "buffers[0].id: is required"),
    (one(id=""), 'buffers[0].id: must be a non-empty string or an integer, got ""'),
    (one(id=True), "buffers[0].id: must be a non-empty string or an integer, got true"),
    (two(id="a"), 'buffers[1].id: must be unique, got "a" again (first at buffers[0])'),
    (one(size=-1), "buffers[0].size: must be at least 0, got -1"),
    (one(size="4"), 'buffers[0].size: must be an integer, got "4" (did you mean 4, without quotes?)'),
    (one(size=4.0), "buffers[0].size: must be an integer, got 4.0 (did you mean 4?)"),
    (one(size=2**62 + 1), "buffers[0].size: must be at most 4611686018427387904, got 4611686018427387905"),
    (one(alignment=0), "buffers[0].alignment: must be at least 1, got 0"),
    (one(offset=-1), "buffers[0].offset: must be at least 0, got -1"),
    (one(pools=[]), "buffers[0].pools: must not be empty, got []"),
    (one(pools="default"), 'buffers[0].pools: must be a list, got "default"'),
    (one(pools=["elsewhere"]), 'buffers[0].pools[0]: must name a pool of the problem (default), got "elsewhere"'),
    (
        one(offset=0) | {"pools": [{"name": "x"}, {"name": "y"}]},
        "buffers[0].offset: must come with the one pool it is meant for, got 2 pools to choose from",
    ),
    (
        one(offset=0, pools=["x", "y"]) | {"pools": [{"name": "x"}, {"name": "y"}]},
        "buffers[0].offset: must come with the one pool it is meant for, got 2 pools to choose from",
    ),
]

A_LIFETIME: list[tuple[Any, str]] = [
    (one(start=7, end=5), "buffers[0].end: must be greater than start (7), got 5"),
    (without("end"), "buffers[0].end: is required where start is given"),
    (without("start"), "buffers[0].start: is required where end is given"),
    (one(end=2**63), "buffers[0].end: must be at most 9223372036854775807, got 9223372036854775808"),
    (one(start=-(2**63) - 1), "buffers[0].start: must be at least -9223372036854775808, got -9223372036854775809"),
    (one(lifetimes=[[0, 1]]), "buffers[0].lifetimes: must not be given beside start and end"),
    (holes(), "buffers[0].lifetimes: must not be empty, got []"),
    (holes([1, 1]), "buffers[0].lifetimes[0][1]: must be greater than start (1), got 1"),
    (holes([0, 2], [5, 3]), "buffers[0].lifetimes[1][1]: must be greater than start (5), got 3"),
    (holes([1]), "buffers[0].lifetimes[0][1]: is required"),
]

AN_ALIAS: list[tuple[Any, str]] = [
    (one(alias_of="b"), 'buffers[0].alias_of: must be the id of a buffer, got "b"'),
    (one(alias_of="a"), 'buffers[0].alias_of: must name another buffer, got "a"'),
    (one(alias_offset=0), "buffers[0].alias_offset: must not be given without alias_of"),
    (two(alias_of="a", alias_offset=1), 'buffers[1].alias_offset: must end inside "a" (4 bytes), got an end at 5'),
    (two(alias_of="a", size=5), 'buffers[1].alias_offset: must end inside "a" (4 bytes), got an end at 5'),
    (
        two(alias_of="a") | {"conflicts": [["a", "b"]]},
        'conflicts[0]: must not pair a buffer with its own alias, got ["a", "b"]',
    ),
]

A_POOL: list[tuple[Any, str]] = [
    (
        one() | {"pools": [{"name": "x"}, {"name": "x"}]},
        'pools[1].name: must be unique, got "x" again (first at pools[0])',
    ),
    (pool(name=""), 'pools[0].name: must not be empty, got ""'),
    (pool(size=2**63), "pools[0].size: must be less than 9223372036854775808, got 9223372036854775808"),
    (
        pool(base_address=2**62 + 1),
        "pools[0].base_address: must be at most 4611686018427387904, got 4611686018427387905",
    ),
    (pool(cost=2e30), "pools[0].cost: must be at most 1e+30, got 2e+30"),
    (pool(cost=float("inf")), "pools[0].cost: must be a finite number, got Infinity"),
    (pool(reserved=5), "pools[0].reserved: must be a list, got 5"),
    (pool(reserved=[[-1, 4]]), "pools[0].reserved[0][0]: must be at least 0, got -1"),
]

A_CONFLICT: list[tuple[Any, str]] = [
    (one() | {"conflicts": "a"}, 'conflicts: must be a list, got "a"'),
    (one() | {"conflicts": [["a"]]}, "conflicts[0][1]: is required"),
    (one() | {"conflicts": [["a", "z"]]}, 'conflicts[0][1]: must be the id of a buffer, got "z"'),
]


@pytest.mark.parametrize(("value", "sentence"), [*A_PROBLEM, *A_BUFFER, *A_LIFETIME, *AN_ALIAS, *A_POOL, *A_CONFLICT])
def test_what_is_wrong_is_said_with_place_rule_and_value(value: Any, sentence: str) -> None:
    with pytest.raises(ProblemError) as caught:
        Problem.model_validate(value)
    assert rules(caught.value.sentences) == rules([sentence])


def test_every_mistake_is_named() -> None:
    with pytest.raises(ProblemError) as caught:
        Problem.model_validate({"buffers": [A | {"size": -1}, B | {"alignment": 0}, A | {"id": "c", "end": -3}]})
    assert rules(caught.value.sentences) == (
        "buffers[0].size: must be at least 0, got -1",
        "buffers[1].alignment: must be at least 1, got 0",
        "buffers[2].end: must be greater than start (0), got -3",
    )


def test_aliases_in_a_ring_are_named_each() -> None:
    ring = [A | {"id": k, "alias_of": (k + 1) % 3} for k in range(3)]
    tail = A | {"id": "tail", "alias_of": 0}
    with pytest.raises(ProblemError) as caught:
        Problem.model_validate({"buffers": [tail, *ring]})
    assert rules(caught.value.sentences) == (
        "buffers[1].alias_of: must not lead back to itself, got 1",
        "buffers[2].alias_of: must not lead back to itself, got 2",
        "buffers[3].alias_of: must not lead back to itself, got 0",
    )


@pytest.mark.slow
def test_of_very_many_mistakes_a_hundred_are_named() -> None:
    with pytest.raises(ProblemError) as caught:
        Problem.model_validate({"buffers": [A | {"id": k, "size": -k} for k in range(1, 20_000)]})
    *named, rest = rules(caught.value.sentences)
    assert named == [f"buffers[{k - 1}].size: must be at least 0, got {-k}" for k in range(1, 101)]
    assert rest.startswith("and ")


def test_a_long_value_is_cut() -> None:
    with pytest.raises(ProblemError) as caught:
        Problem.model_validate(one(size="9" * 1000))
    assert len(str(caught.value)) < 120


AT = {"size": 4096, "base_address": 0x20000000}


@pytest.mark.parametrize(
    ("pools", "wrong"),
    [
        ([AT, AT | {"base_address": 0x20000800}], "pools[1].base_address: must not lie below 0x20001000"),
        ([AT | {"base_address": 0x20000800}, AT], "pools[0].base_address: must not lie below 0x20001000"),
        ([AT, AT | {"size": None}], 'pools[1].base_address: must not lie below 0x20001000, where pool "0" ends'),
        (
            [AT | {"size": None}, AT | {"base_address": 0x20000800}],
            'pools[0].size: must be at most 2048, where pool "1"',
        ),
        ([AT | {"size": None, "device": "dsp"}, AT | {"base_address": 0x20000800}], None),
        ([AT | {"base_address": 0}, AT | {"base_address": 64}], "pools[1].base_address: must not lie below 0x1000"),
        ([AT, AT | {"base_address": 0x20001000}], None),
        ([AT, AT | {"device": "dsp"}], None),
        ([AT | {"reserved": [[2048, 2048]]}, AT | {"base_address": 0x20000800}], None),
        ([AT, AT | {"reserved": [[0, 4096]]}], None),
        ([AT, {"size": 4096}], None),
        ([{"size": 64}, {"size": 64}], None),
    ],
)
def test_pools_that_lie_over_each_other_are_refused(pools: list[dict[str, Any]], wrong: str | None) -> None:
    named = [{"name": str(k), **fields} for k, fields in enumerate(pools)]
    data = {"buffers": [{"id": "a", "size": 4, "start": 0, "end": 1}], "pools": named}
    if wrong is None:
        read = Problem.model_validate(data)
        assert Problem.model_validate_json(read.model_dump_json()) == read
        return
    with pytest.raises(ProblemError, match=re.escape(wrong)):
        Problem.model_validate(data)
