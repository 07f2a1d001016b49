"""The ejection kernel matches a second implementation and yields legal placements."""

import hashlib

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.buffer_table import column
from memplan.solvers.core.ejection import PLACED, Ejection, eject
from memplan.solvers.core.tables import Reference
from memplan.solvers.heuristics.ejection import Ejector, Places, conflict_lists
from tests.support.depth import seeds
from tests.support.random_problems import random_problem

FEATURES = frozenset({"holes", "conflicts", "alignment", "reserved", "pools"})


def ejector(seed: int, capacity: int) -> Ejector:
    instance = compile_problem(random_problem(seed, 24, FEATURES, capacity=capacity))
    near = conflict_lists(instance)
    assert near is not None
    rng = np.random.default_rng(seed)
    n = len(instance)
    pool = np.array([int(np.flatnonzero(instance.allowed[:, i])[0]) for i in range(n)])
    grid, least = instance.alignment[pool, np.arange(n)], instance.lowest[pool, np.arange(n)]
    home = column(np.where(rng.random(n) < 0.8, least + grid * rng.integers(0, 3, n), -1))
    is_legal = home + instance.size <= np.array([each.capacity for each in instance.pools])[pool]
    for q, each in enumerate(instance.pools):
        for low, high in each.reserved.tolist():
            is_legal &= (pool != q) | (home >= high) | (home + instance.size <= low)
    home = column(np.where(is_legal, home, -1))
    return Ejector(instance, pool, home, column(np.ones(n)), near, seed, np.zeros(1, dtype=np.int64))


def is_legal(found: Ejector, places: Places) -> bool:
    instance, at, pool = found.instance, places.offset, places.pool
    n = np.arange(len(instance))
    first, lists = found.near
    for q, each in enumerate(instance.pools):
        here = np.flatnonzero(pool == q)
        if (at[here] < 0).any() or (at[here] + instance.size[here] > each.capacity).any():
            return False
        for low, high in each.reserved.tolist():
            if ((at[here] < high) & (low < at[here] + instance.size[here])).any():
                return False
    if not instance.allowed[pool, n].all() or ((at - instance.lowest[pool, n]) % instance.alignment[pool, n]).any():
        return False
    for i in n.tolist():
        near = lists[first[i] : first[i + 1]]
        is_below, is_above = at[near] < at[i] + instance.size[i], at[i] < at[near] + instance.size[near]
        meets = (pool[near] == pool[i]) & is_below & is_above
        if meets.any():
            return False
    return True


PLACES = (
    *("4493e31a", "c75cf679", "6aeece1c", "66ec1c2c", "7f11cc14", "8361988e"),
    *("262fecfc", "d9984d4a", "17ff2e87", "2f170d5c", "32ba9f37", "12de68ec"),
)
"""Digests of outcomes and placements by a second implementation, one per seed."""


def test_ejection_from_an_empty_plan_matches_recorded_digests_of_a_second_implementation() -> None:
    for seed, expected in enumerate(PLACES):
        found = ejector(seed, 40 + 5 * seed)
        n = len(found.instance)
        run = Ejection(
            pool=np.zeros(n, dtype=np.int64),
            offset=np.full(n, -1),
            heat=np.ones(n),
            queue=np.arange(n),
            waiting=np.array([n]),
            random=np.array([seed + 77]),
            rounds=400,
            flag=np.zeros(1, dtype=np.int64),
        )
        answer = eject(found._homes, Reference(run)), run.pool.tolist(), run.offset.tolist()
        assert hashlib.sha256(repr(answer).encode()).hexdigest()[:8] == expected


@pytest.mark.drawn
def test_ejection_yields_legal_placements_with_decreasing_unplaced_weight() -> None:
    placed = 0
    for seed in seeds(15):
        found = ejector(seed, 70)
        places = Places(found._homes.table.home_pool.copy(), np.full(len(found.instance), -1))
        if not found._run_kernel(places, np.arange(len(found.instance)), 40):
            continue
        placed += 1
        assert is_legal(found, places)
        weights = [found.weigh(places)]
        for better in found.improve(places):
            assert is_legal(found, better)
            weights.append(found.weigh(better))
        assert weights == sorted(set(weights), reverse=True)
    assert placed > 10


def test_ejection_stops_immediately_if_its_stop_flag_is_set() -> None:
    found = ejector(1, 70)
    found.flag[0] = 1
    assert found.first_placement(np.zeros(len(found.instance), dtype=np.bool_)) is None
    assert list(found.improve(Places(found.pool, found.offset))) == []
    assert PLACED == 1
