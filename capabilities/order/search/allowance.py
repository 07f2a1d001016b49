"""The end of a search of orders: a deadline, an event that cancels it, or so much work."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.search.meanwhile import meanwhile

WORK_PER_S = 20_000_000
"""Work units that a deterministic search may spend for each second of its limit: about one macro that is run."""
_LOOK_EVERY_S = 0.01


@dataclass(eq=False)
class Allowance:
    """`flag[0]` turns 1 when the search must end; kernels look at it. `work_left` binds where no clock decides."""

    deadline: float | None
    work_left: int
    flag: I64 = field(default_factory=lambda: np.zeros(1, dtype=np.int64))

    @property
    def is_over(self) -> bool:
        """True if the search must end."""
        # The thread that raises the flag may not have run yet on a busy machine, so the clock is read as well.
        late = self.deadline is not None and time.monotonic() >= self.deadline
        return late or bool(self.flag[0] != 0) or self.work_left <= 0

    @property
    def left_s(self) -> float:
        """The seconds until the deadline; endless without one."""
        return float("inf") if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def spend(self, work: int) -> None:
        """Count work."""
        if self.deadline is None:
            self.work_left -= work


@contextmanager
def allowance(time_limit_s: float, deterministic: bool, cancelled: threading.Event | None) -> Iterator[Allowance]:
    """Watch the clock and the event while a search goes on, and raise the flag for it."""
    deadline = None if deterministic else time.monotonic() + time_limit_s
    # Where no clock decides, work does; 2^62 is more than a clock ever lets pass.
    found = Allowance(deadline, int(time_limit_s * WORK_PER_S) if deterministic else 2**62)

    def look() -> None:
        is_late = deadline is not None and time.monotonic() >= deadline
        if is_late or (cancelled is not None and cancelled.is_set()):
            found.flag[0] = 1

    with meanwhile(look, _LOOK_EVERY_S, "order-deadline"):
        yield found
