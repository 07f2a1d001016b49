"""Proofs by fewer buffers: what a core proves is true of the whole, and that cores grow by what stands in the way."""

from __future__ import annotations

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.buffer_table import I64
from memplan.solvers.exact import branch_and_bound, infeasible_core
from memplan.solvers.exact.branch_and_bound import ComponentStates, SearchThread
from memplan.solvers.exact.components import Component, split
from memplan.solvers.exact.infeasible_core import HEAD_START, InfeasibleCore
from memplan.solvers.exact.restarts import RestartSchedule
from tests.support import oracle
from tests.support.depth import seeds
from tests.support.searches import exact_search
from tests.support.tight_problems import FEATURES, full_load, tight_problem

FLAG = np.zeros(1, dtype=np.int64)


def turns_on(component: Component) -> InfeasibleCore:
    return InfeasibleCore(RestartSchedule(component, np.random.default_rng(0)))


def outcome(turns: InfeasibleCore, capacity: int) -> tuple[int, I64 | None]:
    """Take turns until something is proved or all is placed."""
    for _ in range(200):
        need, offset = turns.round(capacity, 10**6, FLAG)
        if need > 0 or offset is not None:
            return need, offset
    raise AssertionError("nothing was settled")


@pytest.mark.drawn
@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.slow
def test_a_core_is_exhausted_just_below_the_least_peak_and_placed_at_it(feature: str) -> None:
    counts = {"proved": 0, "placed": 0}
    for seed in seeds(12):
        problem = tight_problem(seed, feature)
        least, instance = oracle.best_score(problem), compile_problem(problem)
        components = split(instance)
        if least is None or len(components) != 1:
            continue
        best = int(least[0]) // instance.unit
        sections = components[0].sections
        need, offset = outcome(turns_on(components[0]), best)
        assert need == 0
        assert offset is not None
        assert (offset + sections.size).max() <= best
        counts["placed"] += 1
        if (instance.pin + instance.size).max() < best:
            assert outcome(turns_on(components[0]), best - 1) == (best, None)
            counts["proved"] += 1
    assert min(counts.values()) > 0


def test_a_core_that_proves_may_be_a_part_of_the_part() -> None:
    problem = full_load(3, n=24)
    instance = compile_problem(problem)
    search = exact_search(instance)
    branch_and_bound.solve(instance, search)
    assert search.best is not None
    least = int(search.best.score[-1])
    (component,) = split(instance)
    turns, sizes = turns_on(component), []
    while turns.round(least - 1, 10**6, FLAG) == (0, None):
        sizes.append(len(turns.core))
    assert sizes == sorted(sizes)
    assert 1 < sizes[-1] < len(component.buffers)


def test_a_climber_proves_by_cores_what_it_does_not_prove_by_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    left = []
    for head_start in (HEAD_START, 10**6):
        monkeypatch.setattr(infeasible_core, "HEAD_START", head_start)
        instance = compile_problem(full_load(20, n=40, live=6))
        here = ComponentStates(instance, exact_search(instance))
        SearchThread(here, seed=0).run_nodes(60_000)
        left.append(here.hardest())
    assert left == [None, 0]
