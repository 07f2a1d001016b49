"""When a search for proofs stops: at a time, or once it is cancelled; its kernels look at a flag."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from memplan.planner.model.buffer_table import I64


@dataclass(frozen=True, eq=False)
class Limit:
    """The end of a search: a time of the monotonic clock, or an event."""

    at: float
    cancelled: threading.Event | None

    @property
    def is_over(self) -> bool:
        """True once there is nothing more to do."""
        return time.monotonic() >= self.at or (self.cancelled is not None and self.cancelled.is_set())

    @contextmanager
    def raising(self, flag: I64) -> Iterator[None]:
        """Set a flag when the time is over."""
        clock = threading.Timer(max(0.0, self.at - time.monotonic()), flag.__setitem__, (0, 1))
        clock.daemon = True
        clock.start()
        try:
            yield
        finally:
            clock.cancel()
