import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab import families
from lab.families import (
    FAMILIES,
    HEIGHT,
    Cut,
    Rectangle,
    dense_problem,
    dissect,
    draw_random_problem,
    draw_tight_problem,
    guillotine,
    mirror_time,
    perfect_problem,
    pinwheel,
    pose,
    shuffle_buffers,
)
from memplan.extensions.bench import suites
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.buffer_table import BufferTable
from memplan.planner.model.problem import Buffer, Problem

kinds = st.sampled_from(["guillotine", "pinwheel"])
seeds = st.integers(0, 10_000)


def area(rectangle: Rectangle) -> int:
    return (rectangle.end - rectangle.start) * (rectangle.high - rectangle.low)


def overlap(a: Rectangle, b: Rectangle) -> bool:
    return a.start < b.end and b.start < a.end and a.low < b.high and b.low < a.high


@given(st.integers(1, 30), st.sampled_from([guillotine, pinwheel]), seeds)
def test_pieces_of_a_dissected_rectangle_fill_it_without_overlap(n: int, cut: Cut, seed: int) -> None:
    whole = Rectangle(0, 60, 0, 64)
    pieces = dissect(n, whole, cut, np.random.default_rng(seed))
    assert len(pieces) == n
    assert sum(map(area, pieces)) == area(whole)
    assert not any(overlap(a, b) for k, a in enumerate(pieces) for b in pieces[:k])
    assert all(r.start < r.end and r.low < r.high for r in pieces)


@given(st.integers(1, 60), kinds, seeds)
def test_a_perfect_problem_has_constant_live_bytes_equal_to_its_height(n: int, kind: str, seed: int) -> None:
    problem = perfect_problem(seed, n, kind)
    instance = compile_problem(problem)
    assert len(problem.buffers) == n
    assert set((instance.loads() * instance.unit).tolist()) == {HEIGHT}


@pytest.mark.parametrize(("by", "buffers"), [("removal", 95), ("shrinking", 100)])
def test_slack_shrinks_or_removes_buffers_of_a_perfect_problem(by: str, buffers: int) -> None:
    full = perfect_problem(1, 100, "pinwheel", by=by).buffers
    loose = perfect_problem(1, 100, "pinwheel", slack=5.0, by=by).buffers
    assert len(loose) == buffers
    assert int(loose.size.sum()) < int(full.size.sum())
    assert int(loose.size.min()) >= 1024


@given(st.integers(2, 60), st.integers(2, 500), st.integers(2, 8), seeds)
def test_a_tight_problem_has_constant_live_bytes_equal_to_its_height(n: int, height: int, live: int, seed: int) -> None:
    instance = compile_problem(draw_tight_problem(seed, n, height, min(live, height)))
    assert set((instance.loads() * instance.unit).tolist()) == {height}


def test_random_problems_have_their_documented_means() -> None:
    buffers = draw_random_problem(seed=4, n=40_000).buffers
    assert int(buffers.start[-1]) == pytest.approx(20_000, rel=0.02)
    assert float((buffers.end - buffers.start).mean()) == pytest.approx(100, rel=0.02)
    assert float(np.log(buffers.size).mean()) == pytest.approx(10, rel=0.01)
    assert float(np.log(buffers.size).std()) == pytest.approx(0.7, rel=0.02)


def test_dense_problems_have_a_tenth_of_their_buffers_alive_at_once() -> None:
    instance = compile_problem(dense_problem(seed=1, n=2000))
    assert int(instance.loads(np.ones(len(instance), dtype=np.int64)).max()) == pytest.approx(200, rel=0.3)


@pytest.mark.parametrize("name", FAMILIES)
def test_families_draw_equal_problems_for_equal_seeds_only(name: str) -> None:
    first, again, other = (pose(f"{name}:seed={seed}") for seed in (7, 7, 8))
    assert first == again
    assert first != other


def test_mirroring_time_twice_returns_the_same_problem() -> None:
    always = Buffer(id=1, size=8, start=-(2**63), end=2**63 - 1)
    rows = [always, Buffer(id=2, size=8, lifetimes=((0, 2), (5, 6))), Buffer(id=3, size=4)]
    problem = Problem(buffers=BufferTable.from_rows(rows), conflicts=((1, 3),))
    assert mirror_time(mirror_time(problem)) == problem
    assert mirror_time(problem) != problem


def test_shuffling_keeps_pools_and_conflicts() -> None:
    rows = [{"id": k, "size": 8, "start": 0, "end": 1} for k in range(9)]
    problem = Problem.model_validate({"buffers": rows, "conflicts": [(0, 1)], "pools": [{"name": "sram", "size": 128}]})
    other = shuffle_buffers(problem, 1)
    assert other.buffers.ids != problem.buffers.ids
    assert (other.conflicts, other.pools) == (problem.conflicts, problem.pools)


def test_families_writes_a_folder_that_bench_reads_as_a_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = [str(tmp_path), "perfect:n=8,kind=pinwheel,seeds=2", "shuffled@3:mirrored:tight:n=9,seed=1"]
    monkeypatch.setattr(sys, "argv", ["families", *given])
    families.main()
    read = [suites.pose(file) for file in suites.instances(str(tmp_path))]
    assert [len(each.problem.buffers) for each in read[:2]] == [8, 8]
    assert [each.known_peak for each in read] == [HEIGHT, HEIGHT, None]
    assert read[0].problem == pose("perfect:n=8,kind=pinwheel,seed=1")
    assert read[2].problem == shuffle_buffers(mirror_time(draw_tight_problem(1, 9)), 3)
