"""Growth of the steps that every plan takes with the number of buffers: CPU time, and its exponent of n."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from memplan.api.bench.generators import random
from memplan.planner.bounds.lower_bound import lower_bound
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.problem import Problem
from memplan.solvers.packing.orders import RULES, Traits
from memplan.solvers.packing.packer import Packer
from memplan.solvers.packing.place import place

SIZES = (10_000, 31_623, 100_000, 316_228, 1_000_000)
REPEATS = 3
_ALPHA, _SIGMA = 0.01, 0.7


@dataclass(frozen=True)
class GrowthPoint:
    """The least CPU time that a step took on a problem of `n` buffers, in seconds."""

    step: str
    n: int
    cpu_time_s: float


def growth(sizes: Sequence[int] = SIZES, repeats: int = REPEATS) -> list[GrowthPoint]:
    """Measure each step on one random problem of each size, with the same number of buffers alive at a time in all.

    The least of some repetitions counts: whatever else a machine does only adds to it.
    """
    return [point for n in sorted(set(sizes)) for point in _points(n, repeats)]


def exponents(points: Iterable[GrowthPoint]) -> dict[str, float]:
    """Return, for each step, the exponent of n: the slope of the line that fits the logarithms best."""
    known = list(points)
    found = {}
    for step in dict.fromkeys(point.step for point in known):
        mine = [point for point in known if point.step == step]
        if len(mine) > 1:
            x, y = np.log([point.n for point in mine]), np.log([point.cpu_time_s for point in mine])
            found[step] = float(np.polyfit(x, y, 1)[0])
    return found


def _points(n: int, repeats: int) -> list[GrowthPoint]:
    problem = random(1, n, _ALPHA, _SIGMA).problem
    instance = compile_problem(problem)
    return [GrowthPoint(step, n, min(_timed(work) for _ in range(repeats))) for step, work in _steps(problem, instance)]


def _steps(problem: Problem, instance: Instance) -> list[tuple[str, Callable[[], object]]]:
    packer = Packer(instance, np.zeros(1, dtype=np.int64))
    packer.pack(0, RULES[0].order(Traits(instance))[:2])  # loads the kernel
    return [
        ("columns and live sets", lambda: compile_problem(problem)),
        ("lower bound", lambda: lower_bound(instance)),
        ("one order, first fit", lambda: place(packer, instance, RULES[0].order(Traits(instance)), (0,))),
    ]


def _timed(work: Callable[[], object]) -> float:
    begin = time.process_time()
    work()
    return max(1e-6, time.process_time() - begin)
