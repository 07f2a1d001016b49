"""Plain problems, compiled and bounded by shorter ways, come to the same as any others."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from memplan.planner.bounds.lower_bound import general_bound
from memplan.planner.bounds.plain import plain_bound
from memplan.planner.instance.canonical import canonical_order, problem_hash
from memplan.planner.instance.compile import compile_any
from memplan.planner.instance.instance import COLUMNS
from memplan.planner.instance.plain import compile_plain
from memplan.planner.model.problem import Problem
from tests.support.depth import seeds


def drawn(draw: random.Random) -> Problem:
    """Return a plain problem: ties, common divisors, alignments that divide them or not, pools that are too small."""
    scale, steps = draw.choice((1, 6, 64, 2**40)), draw.choice(((1,), (64,), (1, 2, 48), (16, 64, 100)))
    rows = []
    for i in range(draw.randrange(1, 30)):
        start = draw.randrange(-5, 30)
        row: dict[str, Any] = {"id": i, "size": scale * draw.randrange(1, 20), "start": start}
        row |= {"end": start + draw.randrange(1, 12), "alignment": draw.choice(steps)}
        rows.append(row | ({"traffic": draw.randrange(9)} if draw.random() < 0.2 else {}))
    most = max(row["size"] for row in rows)
    size = {"size": most * draw.choice((1, 2, 5))} if draw.random() < 0.5 else {}
    return Problem(buffers=rows, pools=[{"name": "a", "cost": 2.0, **size}], objective=draw.choice(("peak", "cost")))


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(30))
def test_a_plain_problem_is_compiled_and_bounded_as_any(seed: int) -> None:
    problem = drawn(random.Random(seed))
    mine, usual = compile_plain(problem), compile_any(problem)
    assert mine is not None
    for name in COLUMNS:
        one, other = getattr(mine, name), getattr(usual, name)
        if isinstance(one, np.ndarray):
            assert (one.dtype, one.shape, one.tolist()) == (other.dtype, other.shape, other.tolist()), name
            assert not one.flags.writeable
        elif name == "pools":
            assert [{**vars(pool), "reserved": None} for pool in one] == [
                {**vars(pool), "reserved": None} for pool in other
            ]
            assert one[0].reserved.shape == other[0].reserved.shape == (0, 2)
        else:
            assert one == other, name
    for name in ("features", "has_one_lifetime_each", "is_plain", "is_small_numbered"):
        assert getattr(mine, name) == getattr(usual, name), name
    assert mine.lifetime_buffer.tolist() == usual.lifetime_buffer.tolist()
    usual.__dict__["is_plain"] = False
    assert canonical_order(mine).tolist() == canonical_order(usual).tolist()
    assert problem_hash(problem, mine) == problem_hash(problem, usual)
    if mine.is_plain and mine.is_small_numbered:
        assert plain_bound(mine) == general_bound(usual)


@pytest.mark.parametrize(
    "asked",
    [
        {"pools": [{"name": "a", "base_address": 4}]},
        {"pools": [{"name": "a", "alignment": 8}]},
        {"pools": [{"name": "a", "reserved": [(0, 8)]}]},
        {"pools": [{"name": "a"}, {"name": "b"}]},
        {"pools": [{"name": "a", "size": 3}]},
        {"conflicts": [(0, 1)]},
        {"may_share": [(0, 1)]},
    ],
)
def test_what_is_not_plain_is_left_to_the_usual_way(asked: dict[str, Any]) -> None:
    rows = [{"id": i, "size": 4, "start": 0, "end": 2} for i in range(3)]
    assert compile_plain(Problem(buffers=rows)) is not None
    assert compile_plain(Problem(buffers=rows, **asked)) is None
    for field in (
        {"offset": 0},
        {"hint": 4},
        {"size": 0},
        {"no_cross": 8},
        {"offset_mod": {"modulus": 4, "remainder": 0}},
    ):
        assert compile_plain(Problem(buffers=[rows[0] | field, *rows[1:]])) is None
    assert compile_plain(Problem(buffers=[{"id": 1, "size": 4, "lifetimes": [(0, 1), (3, 4)]}])) is None
    assert compile_plain(Problem(buffers=[])) is None
