from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.problem import Problem
from memplan.solvers.packing.rigid_bodies import Bodies, Body, Page, first_multiple
from tests.support.depth import seeds


@pytest.mark.parametrize("modulus", range(1, 14))
def test_the_first_multiple_in_a_range_is_the_one_that_trying_all_finds(modulus: int) -> None:
    for step in range(2 * modulus + 1):
        for low in range(modulus):
            for high in range(low, modulus):
                tried = [k for k in range(modulus) if low <= k * step % modulus <= high]
                assert first_multiple(step, modulus, low, high) == (tried[0] if tried else None)


@pytest.mark.drawn
def test_a_body_finds_the_next_offset_that_suits_its_grid_and_its_pages() -> None:
    for seed in seeds(25):
        rng = np.random.default_rng(seed)
        lengths = rng.integers(1, 20, int(rng.integers(0, 3))).tolist()
        pages = tuple(Page(n, int(rng.integers(0, 30)), int(rng.integers(1, n + 1))) for n in lengths)
        body = Body((0,), (0,), int(rng.integers(0, 9)), int(rng.integers(1, 12)), 400, pages)
        legal = [
            at
            for at in range(body.lowest, 401, body.step)
            if all((at + page.shift) % page.length + page.size <= page.length for page in pages)
        ]
        for at in range(0, 200, 7):
            assert body.next(at) == min((x for x in legal if x >= at), default=None)


def instance_of(*buffers: dict[str, Any], **rest: Any) -> Instance:
    rows = [{"id": k, "size": 4, "start": 0, "end": 9} | row for k, row in enumerate(buffers)]
    return compile_problem(Problem.model_validate({"buffers": rows, **rest}))


def glued(instance: Instance, *pairs: tuple[int, int]) -> list[tuple[int, ...]]:
    bodies = Bodies(instance, 0, pairs)
    return [bodies.of(i).members for i in range(len(instance))]


def test_pairs_that_may_share_become_one_body_and_chains_of_them_too() -> None:
    chain = instance_of({"end": 2}, {"start": 1, "end": 4}, {"start": 3}, may_share=[[0, 1], [1, 2]])
    assert glued(chain, (0, 1)) == [(0, 1), (0, 1), (2,)]
    assert glued(chain, (0, 1), (1, 2)) == [(0, 1, 2)] * 3
