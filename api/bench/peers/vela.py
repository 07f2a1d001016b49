"""Adapter to the hill climb of Vela (Apache-2.0), Arm's compiler for Ethos-U."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from ethosu.vela.hillclimb_allocation import HillClimbAllocator

from memplan.api.bench.peers.intervals import intervals
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.problem import Problem


@dataclass(frozen=True)
class LiveRange:
    """A buffer as Vela reads it; `end_time` is inclusive."""

    start_time: int
    end_time: int
    size: int
    alignment: int

    def get_alignment(self) -> int:
        """Return the alignment, in bytes."""
        return self.alignment


def hill_climb(problem: Problem, time_limit_s: float) -> I64:
    """Return the best offsets that its search finds in time; it stops at the bound, and else never of itself.

    Raises TimeoutError where its first order is not placed in time.
    """
    rows = intervals(problem)
    # It walks through every time step, so time is counted in the moments at which something happens.
    _moments, rank = np.unique(np.concatenate((rows.start, rows.end)), return_inverse=True)
    start, end = rank[: len(rows.start)], rank[len(rows.start) :]
    columns = (values.tolist() for values in (start, end - 1, rows.size, rows.alignment))
    ranges = [LiveRange(*row) for row in zip(*columns, strict=True)]
    if not ranges:
        return column([])
    with _alarm(time_limit_s):
        search = HillClimbAllocator(ranges, max_iterations=2**62, memory_limit=0)
        try:
            return column(search.allocate())
        except TimeoutError:
            if not hasattr(search, "allocated_addresses"):
                raise
            return column(search.allocated_addresses)


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(_signal: int, _frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
