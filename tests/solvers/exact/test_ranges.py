"""Lowest and highest offsets of single buffers: what packers and the exact search make of them, by brute force."""

from __future__ import annotations

import random
import time
from dataclasses import replace

import numpy as np
import pytest

from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import I64_MAX, Instance
from memplan.planner.model.problem import Problem
from memplan.solvers.exact import branch_and_bound
from memplan.solvers.heuristics import greedy, local_search
from memplan.solvers.search.incumbent import Search


def ranged(seed: int) -> Instance:
    """Return an instance of one pool in which some buffers have a lowest offset, and some a highest."""
    rng, n = random.Random(seed), 5
    start = [rng.randrange(3) for _ in range(n)]
    rows = [
        {"id": k, "size": rng.choice([1, 2, 3, 4]), "start": start[k], "end": start[k] + rng.randint(1, 3)}
        for k in range(n)
    ]
    rows.append({"id": n, "size": 1, "start": 9, "end": 10})  # so that the unit is a byte
    instance = compile_problem(Problem.model_validate({"buffers": rows, "pools": [{"name": "p", "size": 14}]}))
    lowest, highest = np.zeros((1, n + 1), dtype=np.int64), np.full((1, n + 1), I64_MAX)
    for k in range(n):
        lowest[0, k] = rng.choice([0, 0, rng.randint(1, 6)])
        highest[0, k] = rng.choice([I64_MAX, lowest[0, k] + rng.randint(0, 5)])
    return replace(instance, lowest=lowest, highest=highest)


def least_peak(instance: Instance) -> int | None:
    """Return the least peak of all offsets that are legal; None where there are none."""
    best: int | None = None
    size, start, end = (values.tolist() for values in (instance.size, instance.start, instance.end))

    def place(offset: list[int], peak: int) -> None:
        nonlocal best
        i = len(offset)
        if best is not None and peak >= best:
            return
        if i == len(size):
            best = peak
            return
        for at in range(int(instance.lowest[0, i]), min(int(instance.highest[0, i]), 14 - size[i]) + 1):
            is_free = all(
                start[j] >= end[i] or start[i] >= end[j] or at >= offset[j] + size[j] or offset[j] >= at + size[i]
                for j in range(i)
            )
            if is_free:
                place([*offset, at], max(peak, at + size[i]))

    place([], 0)
    return best


@pytest.mark.parametrize("seed", range(60))
def test_ranges_of_offsets_are_kept_and_the_least_peak_is_proved(seed: int) -> None:
    instance = ranged(seed)
    least = least_peak(instance)
    for solve in (greedy.solve, local_search.solve, branch_and_bound.solve):
        search = Search(
            instance, time.monotonic() + 60, deterministic=True, work_limit=400_000, trusted=frozenset({"exact"})
        )
        solve(instance, search)
        if search.best is not None:
            offset = search.best.offset
            assert (offset >= instance.lowest[0]).all()
            assert (offset <= instance.highest[0]).all()
            assert least is not None
            assert search.best.score[-1] >= least
    assert (None if search.best is None else search.best.score[-1]) == least
    assert (search.infeasible is not None) == (least is None)
    assert least is None or search.bound[-1] == least
