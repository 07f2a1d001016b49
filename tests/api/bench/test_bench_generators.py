from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.api.bench.generators import (
    FAMILIES,
    HEIGHT,
    Rectangle,
    dense,
    dissect,
    guillotine,
    perfect,
    pinwheel,
    random,
    tight,
)
from memplan.planner.errors import OptionError
from memplan.planner.instance.compile import compile_problem

kinds = st.sampled_from(["guillotine", "pinwheel"])
seeds = st.integers(0, 10_000)


def area(rectangle: Rectangle) -> int:
    return (rectangle.end - rectangle.start) * (rectangle.high - rectangle.low)


def overlap(a: Rectangle, b: Rectangle) -> bool:
    return a.start < b.end and b.start < a.end and a.low < b.high and b.low < a.high


@given(st.integers(1, 30), st.sampled_from([guillotine, pinwheel]), seeds)
def test_the_pieces_fill_the_whole_and_do_not_overlap(n: int, cut: object, seed: int) -> None:
    whole = Rectangle(0, 60, 0, 64)
    assert cut is guillotine or cut is pinwheel
    pieces = dissect(n, whole, guillotine if cut is guillotine else pinwheel, np.random.default_rng(seed))
    assert len(pieces) == n
    assert sum(map(area, pieces)) == area(whole)
    assert not any(overlap(a, b) for k, a in enumerate(pieces) for b in pieces[:k])
    assert all(r.start < r.end and r.low < r.high for r in pieces)


@given(st.integers(1, 60), kinds, seeds)
def test_a_perfect_packing_is_full_at_every_time(n: int, kind: str, seed: int) -> None:
    generated = perfect(seed, n, kind, granule=1024, slack=0.0, by="removal")
    instance = compile_problem(generated.problem)
    assert len(generated.problem.buffers) == n
    assert set((instance.load() * instance.unit).tolist()) == {HEIGHT}
    assert generated.known_peak == HEIGHT


@pytest.mark.parametrize(("by", "buffers"), [("removal", 95), ("shrinking", 100)])
def test_slack_takes_bytes_away(by: str, buffers: int) -> None:
    full = perfect(1, 100, "pinwheel", 1024, 0.0, by).problem.buffers
    loose = perfect(1, 100, "pinwheel", 1024, 5.0, by).problem.buffers
    assert len(loose) == buffers
    assert int(loose.size.sum()) < int(full.size.sum())
    assert int(loose.size.min()) >= 1024


@given(st.integers(2, 60), st.integers(2, 500), st.integers(2, 8), seeds)
def test_a_tight_problem_is_full_at_every_time(n: int, height: int, live: int, seed: int) -> None:
    generated = tight(seed, n, height, min(live, height), turnover=2.0)
    instance = compile_problem(generated.problem)
    assert set((instance.load() * instance.unit).tolist()) == {height}
    assert generated.known_peak is None


def test_random_problems_have_the_means_that_they_are_said_to_have() -> None:
    buffers = random(seed=4, n=40_000, alpha=0.01, sigma=0.7).problem.buffers
    assert int(buffers.start[-1]) == pytest.approx(20_000, rel=0.02)
    assert float((buffers.end - buffers.start).mean()) == pytest.approx(100, rel=0.02)
    assert float(np.log(buffers.size).mean()) == pytest.approx(10, rel=0.01)
    assert float(np.log(buffers.size).std()) == pytest.approx(0.7, rel=0.02)


def test_dense_problems_have_a_tenth_of_their_buffers_alive_at_once() -> None:
    problem = dense(seed=1, n=2000, sigma=2.0).problem
    instance = compile_problem(problem)
    alive = instance.load(np.ones(len(instance), dtype=np.int64))
    assert int(alive.max()) == pytest.approx(200, rel=0.3)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_same_seed_gives_the_same_problem_and_another_seed_another(name: str) -> None:
    family = FAMILIES[name]
    values = {key: parameter.default for key, parameter in family.parameters.items()}
    first, again, other = (family.make(seed=seed, **values).problem for seed in (7, 7, 8))
    assert first == again
    assert first != other


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("perfect", {"granule": 1000}, "perfect.granule: must divide 1048576, got 1000"),
        ("tight", {"live": 8, "height": 7}, "tight.live: must be at most the height (7), got 8"),
    ],
)
def test_parameters_that_do_not_go_together_are_refused(name: str, values: dict[str, int], message: str) -> None:
    family = FAMILIES[name]
    defaults = {key: parameter.default for key, parameter in family.parameters.items()}
    with pytest.raises(OptionError) as caught:
        family.make(seed=1, **(defaults | values))
    assert caught.value.sentences == (message,)
