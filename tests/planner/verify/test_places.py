"""How low buffers could lie, and what decides peaks: compared with the verifier on drawn problems of every kind."""

from __future__ import annotations

import pytest

from lab.places import differences, loose
from memplan import Buffer, Problem, solve
from memplan.capabilities.verify.verify import verdict_on
from memplan.planner.verify.placed import PlacedBuffers
from memplan.planner.verify.places import places
from tests.support.depth import seeds


@pytest.mark.drawn
def test_lowest_offsets_and_peaks_are_what_the_verifier_and_counting_say() -> None:
    for seed in seeds(8):
        problem, plan = loose(seed)
        if plan is not None:
            assert list(differences(problem, plan, verdict_on(problem, plan))) == [], seed


def test_places_are_not_looked_for_among_too_many_pairs() -> None:
    problem = Problem(buffers=[Buffer(id=k, size=8, start=0, end=1) for k in range(10)])
    placed = PlacedBuffers.by(problem, solve(problem).placements)
    assert places(problem, placed, most_pairs=44) is None
    assert places(problem, placed, most_pairs=45) is not None


def test_offsets_beyond_the_reach_of_sums_are_exact() -> None:
    rows = [Buffer(id="big", size=2**61 + 2, start=0, end=1), Buffer(id="step", size=2**61, start=0, end=1)]
    problem = Problem(buffers=[rows[0], rows[1].model_copy(update={"alignment": 2**61})])
    found = verdict_on(problem, solve(problem)).places
    assert found is not None
    assert sorted(found.lowest) == [0, 2**61]
