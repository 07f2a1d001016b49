"""The brute-force oracle agrees with answers worked out by hand and with exhaustive enumeration."""

from collections.abc import Iterator
from itertools import combinations
from math import fsum
from typing import Any

import pytest

from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Buffer, Placement
from tests.support.depth import seeds
from tests.support.oracle import best_score, check, min_total, touch_a_bank
from tests.support.tied_problems import tied_problem

A = {"id": "a", "size": 4, "start": 0, "end": 2}
B = {"id": "b", "size": 3, "start": 1, "end": 3}
C = {"id": "c", "size": 2, "start": 2, "end": 4}


PAGED = {"pools": [{"name": "x", "bank_size": 8}]}
TWICE = [{"buffers": ["a", "b"], "weight": 2}, {"buffers": ["b", "a"], "weight": 0.5}]


def problem(*buffers: dict[str, Any], **fields: Any) -> Problem:
    return Problem.model_validate({"buffers": list(buffers), **fields})


@pytest.mark.parametrize(
    ("value", "score"),
    [
        (problem(), (0,)),
        (problem(A, B, C), (7,)),
        (problem(A, C), (4,)),
        (problem(A, C, conflicts=[["c", "a"]]), (6,)),
        (problem(A, A | {"id": 2, "size": 0}), (4,)),
        (problem(A, B | {"alignment": 3}, pools=[{"base_address": 1}]), (8,)),
        (problem(A, B | {"alignment": 3, "size": 1}, pools=[{"alignment": 2, "base_address": 3}]), (9,)),
        (problem(A | {"offset": 10}, B), (14,)),
        (problem(A, pools=[{"reserved": [[3, 2], [4, 4]]}]), (12,)),
        (problem(A, pools=[{"size": 3}]), None),
        (problem(A, B | {"size": 0, "alignment": 8}, pools=[{"size": 4, "base_address": 1}]), None),
        (problem(A, B, pools=[{"name": "x", "size": 4}, {"name": "y"}]), (3, 4)),
        (problem(A, B, pools=[{"name": "x", "size": 6}, {"name": "y"}], objective="fit"), (3, 4)),
        (problem(A, B, pools=[{"name": "x", "size": 4, "cost": 1}, {"name": "y"}], objective="cost"), (0.0, 7, 0)),
        (problem(A | {"pools": ["y"]}, B, pools=[{"name": "x", "size": 2}, {"name": "y"}]), (7, 0)),
        (problem(A, B | {"alias_of": "a", "alias_offset": 1}, C), (6,)),
        (problem(A, B | {"alias_of": "a", "offset": 7, "alias_offset": 1}), (10,)),
        (problem(A | {"start": None, "end": None, "lifetimes": [[0, 1], [5, 6]]}, B), (4,)),
        (problem(A, B, may_share=[["a", "b"]]), (4,)),
        (problem(A, B | {"alignment": 3}, A | {"id": "c"}, may_share=[["a", "b"], ["a", "c"]]), (7,)),
        (problem(A, B, C, may_share=[["a", "b"], ["b", "c"]]), (4,)),
        (problem(A, B | {"relative": {"to": "a", "offset": 1}}), (4,)),
        (problem(A, B | {"relative": {"to": "a", "offset": -5}}), (9,)),
        (problem(A, A | {"id": "d", "relative": {"to": "a", "offset": 7}}, B), (11,)),
        (problem(A, A | {"id": "d", "relative": {"to": "a", "offset": 6}}, B), (13,)),
        (problem(A, B | {"no_cross": 4}), (7,)),
        (problem(A | {"size": 3}, B | {"no_cross": 4}), (6,)),
        (problem(A, C | {"no_cross": 1}), None),
        (problem(A, B | {"offset_mod": {"modulus": 8, "remainder": 5}}), (8,)),
        (problem(A, B | {"forbid_pools": ["x"]}, pools=[{"name": "x"}, {"name": "y", "size": 3}]), (3, 4)),
        (problem(A, B, bank=[{"buffers": ["a", "b"]}], **PAGED), (11,)),
        (problem(A, C, bank=[{"buffers": ["a", "c"]}], **PAGED), (10,)),
        (problem(A, B, bank=[{"buffers": ["a", "b"], "weight": 2}], **PAGED), (7,)),
        (problem(A, B, bank=[{"buffers": ["a", "b"], "weight": 2}], objective="cost", **PAGED), (0.0, 11)),
        (problem(A, B, bank=TWICE, objective="cost", pools=[{"name": "x", "bank_size": 8, "size": 9}]), (2.5, 7)),
        (problem(A, B, C, together=[["a", "c"]], pools=[{"name": "x", "size": 6}, {"name": "y"}]), (3, 4)),
        (problem(A, B, together=[["a", "b"]], pools=[{"name": "x", "size": 6}, {"name": "y"}]), (7, 0)),
    ],
)
def test_the_oracle_finds_the_optimal_score_of_small_problems(value: Problem, score: tuple[float, ...] | None) -> None:
    assert best_score(value) == score


@pytest.mark.drawn
@pytest.mark.slow
def test_the_oracle_agrees_with_exhaustive_enumeration_of_placements() -> None:
    """Three buffers, at all offsets up to 9."""
    for seed in seeds(10):
        value = tied_problem(seed, 3)
        found, tried = best_score(value), best_of_all_places(value, 9)
        if tried is None:
            assert found is None or max(found[-len(value.pools) :]) > 9
        else:
            assert found is not None
            assert found == tried or (found < tried and max(found[-len(value.pools) :]) > 9)


def best_of_all_places(value: Problem, last: int) -> tuple[float, ...] | None:
    """Return the minimum score over all valid placements with offsets up to `last`."""
    rows = list(value.buffers)
    best: list[tuple[float, ...]] = []

    def place(placed: list[Placement]) -> None:
        if any(not line.startswith("missing") for line in check(value, placed)):
            return
        if len(placed) == len(rows):
            best.append(score(value, placed))
            return
        for pool in value.pools:
            for offset in range(last + 1):
                place([*placed, Placement(id=rows[len(placed)].id, pool=pool.name, offset=offset)])

    place([])
    return min(best, default=None)


def score(value: Problem, placed: list[Placement]) -> tuple[float, ...]:
    rows = [(buffer, at) for buffer, at in zip(value.buffers, placed, strict=True) if buffer.size]
    ends = [max((at.offset + b.size for b, at in rows if at.pool == pool.name), default=0) for pool in value.pools]
    if value.objective != "cost":
        return tuple(ends[::-1])
    price = {pool.name: pool.cost for pool in value.pools}
    moved = [(b.size if b.traffic is None else b.traffic) * price[at.pool] for b, at in rows]
    where = {at.id: at for at in placed}
    weights = [
        weight for a, b, weight in weighted_pairs(value) if touches_common_bank(value, where[a.id], a, where[b.id], b)
    ]
    return (fsum([*moved, *weights]), *ends[::-1])


def weighted_pairs(value: Problem) -> Iterator[tuple[Buffer, Buffer, float]]:
    """Yield each weighted bank pair as its two underlying buffers (aliases resolved), with its weight."""
    rows = {row.id: row for row in value.buffers}

    def home(name: int | str) -> Buffer:
        row = rows[name]
        return row if row.alias_of is None else home(row.alias_of)

    for use in value.bank:
        for a, b in combinations(use.buffers, 2):
            yield home(a), home(b), use.weight or 0


def touches_common_bank(value: Problem, first: Placement, a: Buffer, second: Placement, b: Buffer) -> bool:
    return first.pool == second.pool and a.size > 0 < b.size and touch_a_bank(value, first, a.size, second, b.size)


def test_the_minimum_total_may_be_below_the_sum_of_the_optimal_score() -> None:
    """Using less of y raises the end in x by more, because x has a worse alignment."""
    value = problem(A, pools=[{"name": "x", "base_address": 1, "alignment": 16}, {"name": "y"}])
    assert (best_score(value), min_total(value)) == ((0, 19), 4)


@pytest.mark.parametrize(
    ("places", "wrong"),
    [
        ([("a", "x", 0), ("b", "x", 4)], []),
        ([("a", "x", 0), ("b", "x", 3)], ["overlap 'a' 'b'"]),
        ([("a", "x", 0), ("b", "y", 0)], ["pool 'b'"]),
        ([("a", "x", 1), ("b", "x", 8)], ["alignment 'a'", "capacity 'b'"]),
        ([("a", "x", 0), ("a", "x", 0), ("z", "x", 0)], ["twice 'a'", "unknown 'z'", "missing 'b'"]),
    ],
)
def test_the_oracle_reports_every_violation_of_placements(places: list[tuple[str, str, int]], wrong: list[str]) -> None:
    value = problem(A | {"alignment": 2}, B, pools=[{"name": "x", "size": 10}])
    assert check(value, [Placement(id=name, pool=pool, offset=offset) for name, pool, offset in places]) == wrong
