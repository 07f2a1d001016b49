"""Flags that end engines from outside, at a deadline or when a caller gives up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from memplan.planner.model.buffer_table import I64
from memplan.solvers.search.meanwhile import meanwhile

_LOOK_EVERY_S = 0.02


@contextmanager
def when_set(flag: I64, then: Callable[[], object]) -> Iterator[None]:
    """Call something again and again while a flag is set."""
    with meanwhile(lambda: then() if flag[0] != 0 else None, _LOOK_EVERY_S, "memplan-flag"):
        yield
