from __future__ import annotations

import numpy as np

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.buffer_table import BufferTable, column
from memplan.planner.model.problem import Problem
from memplan.solvers.packing.packer import Packer, work
from tests.support.plain_packer import PlainPacker

RUNNING = column([0])


def interval_problem(n: int, seed: int) -> Problem:
    rng = np.random.default_rng(seed)
    start = rng.integers(0, 4 * n, n)
    end = start + rng.geometric(0.002, n)
    return Problem(buffers=BufferTable.from_columns(range(n), rng.integers(1, 10_000, n), start, end))


def test_twenty_thousand_buffers_are_packed_without_overlaps() -> None:
    instance = compile_problem(interval_problem(20_000, 3))
    order = column(np.argsort(-instance.size, kind="stable"))
    offset = np.empty(len(instance), dtype=np.int64)
    offset[order] = Packer(instance, RUNNING).pack(0, order)
    assert overlapping_pairs(offset, instance.size, instance.start, instance.end) == 0


def test_a_hundred_thousand_alive_at_once_lie_one_above_the_other() -> None:
    n = 100_000
    start, size = np.arange(n), np.random.default_rng(0).integers(1, 1_000, n)
    instance = compile_problem(Problem(buffers=BufferTable.from_columns(range(n), size, start, start + n)))
    order = column(np.random.default_rng(1).permutation(n))
    assert Packer(instance, RUNNING).pack(0, order).tolist() == (np.cumsum(size[order]) - size[order]).tolist()


def overlapping_pairs(offset: np.ndarray, size: np.ndarray, start: np.ndarray, end: np.ndarray) -> int:
    by_start = np.argsort(start, kind="stable")
    found = 0
    for k, i in enumerate(by_start.tolist()):
        later = by_start[k + 1 : k + 1 + int(np.searchsorted(start[by_start[k + 1 :]], end[i]))]
        found += int(((offset[later] < offset[i] + size[i]) & (offset[i] < offset[later] + size[later])).sum())
    return found


def test_lifetimes_of_very_different_lengths_are_packed_as_in_plain_python() -> None:
    rng = np.random.default_rng(1)
    start = rng.integers(0, 900, 700)
    life = np.where(rng.random(700) < 0.1, rng.integers(300, 900, 700), rng.integers(1, 4, 700))
    table = BufferTable.from_columns(range(700), rng.integers(1, 99, 700), start, start + life)
    instance = compile_problem(Problem(buffers=table))
    order = column(rng.permutation(700))
    for best_fit in (False, True):
        compiled = Packer(instance, RUNNING).pack(0, order, best_fit).tolist()
        assert compiled == PlainPacker(instance).pack(0, order, best_fit).tolist()


def test_work_grows_with_the_instance() -> None:
    amounts = [work(compile_problem(interval_problem(n, 1))) for n in (10, 100, 1_000, 10_000)]
    assert amounts == sorted(set(amounts))
