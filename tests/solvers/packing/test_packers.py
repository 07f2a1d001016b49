from __future__ import annotations

import numpy as np

from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.buffer_table import BufferTable, column
from memplan.planner.model.problem import Problem
from memplan.solvers.packing.packer import Packer
from tests.support.plain_packer import PlainPacker

RUNNING = column([0])


def test_a_hundred_thousand_alive_at_once_lie_one_above_the_other() -> None:
    n = 100_000
    start, size = np.arange(n), np.random.default_rng(0).integers(1, 1_000, n)
    instance = compile_problem(Problem(buffers=BufferTable.from_columns(range(n), size, start, start + n)))
    order = column(np.random.default_rng(1).permutation(n))
    assert Packer(instance, RUNNING).pack(0, order).tolist() == (np.cumsum(size[order]) - size[order]).tolist()


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
