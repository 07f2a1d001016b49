"""Tests that Vela's reimplemented hill climb returns the same placements as Vela, if Vela is installed."""

import random
from functools import partial
from types import SimpleNamespace

import pytest

from memplan.planner.formats import read_problem
from memplan.planner.model.problem import Problem
from memplan.runtimes.vela.planner import NO_LIMIT, hill_climb
from tests.support import public_problems
from tests.support.depth import seeds

hillclimb_allocation = pytest.importorskip("ethosu.vela.hillclimb_allocation", reason="needs the extra peers")

FOLDER = public_problems.FOLDER
NAMES = ("vela/*.csv", "xla/mlp*.csv", "xla/*adam.csv")
REAL = sorted(path.relative_to(FOLDER).as_posix() for names in NAMES for path in FOLDER.glob(names))


def original(problem: Problem) -> list[int]:
    ranges = [
        SimpleNamespace(
            start_time=row.start or 0,
            end_time=(row.end or 0) - 1,
            size=row.size,
            get_alignment=partial(int, row.alignment * problem.pools[0].alignment),
        )
        for row in problem.buffers
    ]
    size = problem.pools[0].size
    found: list[int] = hillclimb_allocation.allocate_live_ranges(ranges, None, NO_LIMIT if size is None else size)
    return found


def vela_offsets(problem: Problem) -> list[int]:
    placements = hill_climb(problem, 0, lambda: None).placements
    return [placements[i][1] for i in range(len(placements))]


def draw_problem(seed: int) -> Problem:
    """Return a random crowded problem, for which the search must swap buffers, sometimes two pairs at a time."""
    rng = random.Random(seed)
    rows = []
    for i in range(rng.randint(2, 24)):
        start = rng.randint(0, 12)
        size, alignment = rng.randint(0, 40), rng.choice((1, 1, 2, 16))
        rows.append({"id": i, "size": size, "start": start, "end": start + rng.randint(1, 6), "alignment": alignment})
    return Problem(buffers=rows, pools=[{"size": rng.choice((None, None, 1000, 100_000))}])


@pytest.mark.drawn
def test_hill_climb_returns_the_placements_of_vela_for_random_problems() -> None:
    problems = [draw_problem(seed) for seed in seeds(12)]
    assert [vela_offsets(problem) for problem in problems] == [original(problem) for problem in problems]


@pytest.mark.parametrize("name", REAL)
def test_hill_climb_returns_the_placements_of_vela_for_real_problems(name: str) -> None:
    problem = read_problem((FOLDER / name).read_bytes(), name)
    assert vela_offsets(problem) == original(problem)


def test_hill_climb_returns_an_empty_plan_for_an_empty_problem() -> None:
    assert vela_offsets(Problem(buffers=[])) == []


def test_hill_climb_places_a_never_live_buffer_at_offset_zero() -> None:
    rows = [{"id": "a", "size": 8, "start": 0, "end": 2}, {"id": "idle", "size": 4}]
    assert vela_offsets(Problem(buffers=rows)) == [0, 0]
