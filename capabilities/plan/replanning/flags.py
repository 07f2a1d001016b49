"""Flags that end compiled loops and engines from outside, at a deadline or when a caller gives up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.search.meanwhile import meanwhile

_LOOK_EVERY_S = 0.02


@contextmanager
def polled(is_over: Callable[[], bool]) -> Iterator[I64]:
    """Give a flag, (1,), that turns 1 once `is_over` says so, which is polled meanwhile."""
    flag = np.zeros(1, dtype=np.int64)
    if is_over():
        flag[0] = 1
    with meanwhile(lambda: _set_if(flag, is_over()), _LOOK_EVERY_S, "memplan-flag"):
        yield flag


@contextmanager
def when_set(flag: I64, then: Callable[[], object]) -> Iterator[None]:
    """Call something again and again while a flag is set."""
    with meanwhile(lambda: then() if flag[0] != 0 else None, _LOOK_EVERY_S, "memplan-flag"):
        yield


def _set_if(flag: I64, is_over: bool) -> None:
    if is_over:
        flag[0] = 1
