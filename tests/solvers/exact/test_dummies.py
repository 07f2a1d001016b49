"""Dummy buffers: what they add up to, and that what is found with them is a placement without them."""

from __future__ import annotations

import numpy as np
import pytest

from memplan.api.bench.generators import perfect
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.problem import Problem
from memplan.solvers.core.exact import FOUND
from memplan.solvers.exact import dummies
from memplan.solvers.exact.branch_and_bound import ComponentStates, SearchThread
from memplan.solvers.exact.components import Component, split
from memplan.solvers.exact.dummies import DummyBuffer, dummy_buffers, filled
from memplan.solvers.exact.restarts import AT_BOUND, RestartSchedule
from memplan.solvers.packing.packer import Packer
from memplan.solvers.packing.place import pins_collide
from tests.support import oracle
from tests.support.depth import seeds
from tests.support.searches import exact_search
from tests.support.tight_problems import FEATURES, tight_problem

FLAG = np.zeros(1, dtype=np.int64)
LOOSE = perfect(seed=7, n=300, kind="guillotine", granule=1024, slack=5.0, by="shrinking")
"""Full but for what a few of its buffers are smaller than they were."""


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def sums(rows: list[DummyBuffer], k: int) -> list[int]:
    total = np.zeros(k, dtype=np.int64)
    for row in rows:
        total[row.start : row.end] += row.size
    return total.tolist()


def root_slack(component: Component, capacity: int) -> I64:
    schedule = RestartSchedule(component, rng())
    schedule.run(AT_BOUND, 0, capacity, 1, FLAG)
    return schedule.state.table.slack // component.sections.granule


@pytest.mark.drawn
def test_dummies_add_up_to_the_slack_of_every_section() -> None:
    for seed in seeds(30):
        slack = rng(seed).integers(0, 6, 12) * rng(seed + 1).integers(0, 2, 12)
        rows = dummy_buffers(slack, rng(seed))
        assert sums(rows, 12) == slack.tolist()
        assert all(row.size > 0 and row.start < row.end for row in rows)


def test_the_fewest_dummies_that_explain_the_slack_are_found() -> None:
    rows = [DummyBuffer(1, 7, 5), DummyBuffer(3, 9, 11), DummyBuffer(4, 12, 2), DummyBuffer(8, 10, 3)]
    slack = np.array(sums(rows, 14))
    for seed in range(10):
        assert sorted(dummy_buffers(slack, rng(seed))) == rows


def test_no_slack_needs_no_dummy() -> None:
    assert dummy_buffers(np.zeros(5, dtype=np.int64), rng()) == []


@pytest.mark.drawn
@pytest.mark.parametrize("feature", ["plain", "holes", "conflicts", "one alignment", "pins"])
def test_a_filled_part_has_no_slack(feature: str) -> None:
    components = [component for seed in seeds(8) for component in split(compile_problem(tight_problem(seed, feature)))]
    for component in components:
        capacity = int(component.sections.size.sum() + component.sections.step.max()) + 20
        slack = root_slack(component, capacity)
        assert slack.max() > 0
        more = filled(component, dummy_buffers(slack, rng()))
        assert len(more.buffers) > len(component.buffers)
        assert root_slack(more, capacity).tolist() == [0] * len(slack)


@pytest.mark.drawn
@pytest.mark.parametrize("feature", FEATURES)
def test_a_placement_with_dummies_is_one_without_them(feature: str) -> None:
    found = 0
    for seed in seeds(20):
        problem = tight_problem(seed, feature)
        instance = compile_problem(problem)
        if exact_search(instance).is_over or pins_collide(instance, Packer(instance, FLAG)):
            continue
        whole = np.array(instance.pin)
        outcomes = []
        for component in split(instance):
            capacity = int(component.sections.size.sum() + component.sections.step.max()) + 20
            schedule = RestartSchedule(filled(component, dummy_buffers(root_slack(component, capacity), rng())), rng())
            outcome, _, offset = schedule.run(AT_BOUND, 0, capacity, 10_000, FLAG)
            whole[component.buffers] = offset[: len(component.buffers)]
            outcomes.append(outcome)
        if all(outcome == FOUND for outcome in outcomes):
            found += 1
            pool = np.zeros(len(whole), dtype=np.int64)
            assert oracle.check(problem, lift(problem, instance, pool, whole)) == []
    assert found > 0


def states(problem: Problem) -> ComponentStates:
    instance: Instance = compile_problem(problem)
    return ComponentStates(instance, exact_search(instance))


def test_a_search_finds_with_dummies_what_it_does_not_find_without(monkeypatch: pytest.MonkeyPatch) -> None:
    left = []
    for most in (dummies.MOST, 0.0):
        monkeypatch.setattr(dummies, "MOST", most)
        here = states(LOOSE.problem)
        SearchThread(here, seed=0).run_nodes(30_000)
        left.append(here.hardest())
    assert left == [None, 0]
