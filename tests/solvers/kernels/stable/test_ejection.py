"""The ejection kernel, compiled and as plain Python: the same places, and legal ones."""

from __future__ import annotations

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.buffer_table import column
from memplan.solvers.heuristics.ejection import Ejector, Places, conflicting
from memplan.solvers.kernels.abi import Reference
from memplan.solvers.kernels.stable.ejection import PLACED, Ejection, Homes, eject
from tests.support.depth import seeds
from tests.support.random_problems import random_problem

FEATURES = frozenset({"holes", "conflicts", "alignment", "reserved", "pools"})


def ejector(seed: int, capacity: int) -> Ejector:
    instance = compile_problem(random_problem(seed, 24, FEATURES, capacity=capacity))
    near = conflicting(instance)
    assert near is not None
    rng = np.random.default_rng(seed)
    n = len(instance)
    pool = np.array([int(np.flatnonzero(instance.allowed[:, i])[0]) for i in range(n)])
    grid, least = instance.alignment[pool, np.arange(n)], instance.lowest[pool, np.arange(n)]
    home = column(np.where(rng.random(n) < 0.8, least + grid * rng.integers(0, 3, n), -1))
    ends = np.array([each.capacity for each in instance.pools])[pool]
    is_legal = home + instance.size <= ends
    for q, each in enumerate(instance.pools):
        for low, high in each.reserved.tolist():
            is_legal &= (pool != q) | (home >= high) | (home + instance.size <= low)
    home = column(np.where(is_legal, home, -1))
    return Ejector(instance, pool, home, column(np.ones(n)), near, seed, np.zeros(1, dtype=np.int64))


def legal(found: Ejector, places: Places) -> bool:
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
        meets = (
            (pool[near] == pool[i]) & (at[near] < at[i] + instance.size[i]) & (at[i] < at[near] + instance.size[near])
        )
        if meets.any():
            return False
    return True


def twin(homes: Reference[Homes], run: Ejection) -> int:
    with np.errstate(over="ignore"):
        return eject.function(homes.table, run)


def test_machine_code_and_plain_python_place_alike() -> None:
    for seed in range(12):
        found = ejector(seed, 60 + 5 * seed)
        runs = []
        for _ in range(2):
            n = len(found.instance)
            runs.append(
                Ejection(
                    pool=np.zeros(n, dtype=np.int64),
                    offset=np.full(n, -1),
                    heat=np.ones(n),
                    queue=np.arange(n),
                    waiting=np.array([n]),
                    random=np.array([seed + 77]),
                    rounds=400,
                    flag=np.zeros(1, dtype=np.int64),
                )
            )
        assert eject(found._homes, Reference(runs[0])) == twin(found._homes, runs[1])
        for name in ("pool", "offset", "heat", "waiting", "random"):
            assert getattr(runs[0], name).tolist() == getattr(runs[1], name).tolist()


@pytest.mark.drawn
def test_places_are_legal_and_better_ones_weigh_less() -> None:
    placed = 0
    for seed in seeds(15):
        found = ejector(seed, 70)
        homes = found._homes.table
        places = Places(homes.home_pool.copy(), np.full(len(found.instance), -1))
        if not found._run(places, np.arange(len(found.instance)), 40):
            continue
        placed += 1
        assert legal(found, places)
        weights = [found.weigh(places)]
        for better in found.better(places):
            assert legal(found, better)
            weights.append(found.weigh(better))
        assert weights == sorted(set(weights), reverse=True)
    assert placed > 10


def test_a_set_flag_stops_at_once() -> None:
    found = ejector(1, 70)
    found.flag[0] = 1
    assert found.first(np.zeros(len(found.instance), dtype=np.bool_)) is None
    assert list(found.better(Places(found.pool, found.offset))) == []
    assert PLACED == 1
