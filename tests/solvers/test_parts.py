from __future__ import annotations

import numpy as np
import pytest

from planner.compiling import compile_problem
from planner.instance import Instance
from planner.table import column
from solvers.packers import CompiledPacker
from solvers.parts import part_of
from tests.random_problems import random_problem

MIXES = [frozenset[str](), frozenset({"holes"}), frozenset({"conflicts", "holes", "pools", "alignment", "pins"})]


def conflict(instance: Instance, i: int, j: int) -> bool:
    rows = [range(int(instance.first[k]), int(instance.first[k + 1])) for k in (i, j)]
    meets = any(
        instance.start[a] < instance.end[b] and instance.start[b] < instance.end[a] for a in rows[0] for b in rows[1]
    )
    first = instance.conflict_first
    return meets or j in instance.conflict[first[i] : first[i + 1]].tolist()


@pytest.mark.parametrize("features", MIXES, ids=len)
@pytest.mark.parametrize("seed", range(5))
def test_buffers_of_a_part_conflict_as_they_did_in_the_whole(seed: int, features: frozenset[str]) -> None:
    instance = compile_problem(random_problem(seed, 20, features))
    kept = np.random.default_rng(seed).random(20) < 0.6
    part, chosen = part_of(instance, kept, len(instance.memories) - 1), np.flatnonzero(kept)
    assert part.size.tolist() == instance.size[chosen].tolist()
    assert part.source.tolist() == instance.source[chosen].tolist()
    for i in range(len(part)):
        for j in range(i):
            assert conflict(part, i, j) == conflict(instance, int(chosen[i]), int(chosen[j]))


def test_the_live_sets_of_a_part_carry_what_is_kept_of_their_load() -> None:
    instance = compile_problem(random_problem(3, 40))
    kept = np.random.default_rng(3).random(40) < 0.5
    part = part_of(instance, kept)
    assert part.load().max() == instance.load(np.where(kept, instance.size, 0)).max()
    assert part.n_live_sets <= instance.n_live_sets


def test_packing_a_part_equals_packing_only_its_buffers_in_the_whole() -> None:
    for seed in range(5):
        instance = compile_problem(random_problem(seed, 40, MIXES[2]))
        kept = instance.allowed[2] & (np.random.default_rng(seed).random(40) < 0.6)
        flag = column([0])
        of_part = CompiledPacker(part_of(instance, kept, 2), flag).pack(0, column(np.arange(kept.sum())))
        of_whole = CompiledPacker(instance, flag).pack(2, column(np.flatnonzero(kept)))
        assert of_part.tolist() == of_whole.tolist()


def test_a_part_of_nothing_is_empty() -> None:
    instance = compile_problem(random_problem(0, 10))
    part = part_of(instance, np.zeros(10, dtype=np.bool_))
    assert (len(part), part.n_live_sets) == (0, 0)
