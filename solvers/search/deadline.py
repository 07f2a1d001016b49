"""The moment by which a request must be answered."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import inf


@dataclass(frozen=True)
class Deadline:
    """The time of one request: when it began and when it ends, both time.monotonic(); `at` may be infinite.

    It is pickled as what has passed and what is left, since the clock of another machine has another zero.
    """

    began: float
    at: float

    @classmethod
    def after(cls, limit_s: float, began: float | None = None) -> Deadline:
        """Return the deadline of what began now, or at a time.monotonic(), and has so many seconds."""
        began = time.monotonic() if began is None else began
        return cls(began, began + limit_s)

    @classmethod
    def of_parts(cls, passed_s: float, left_s: float) -> Deadline:
        """Return the deadline of which so much has passed and so much is left now."""
        now = time.monotonic()
        return cls(now - passed_s, now + left_s)

    @property
    def left_s(self) -> float:
        """The seconds that are left; negative once the deadline has passed."""
        return self.at - time.monotonic()

    @property
    def passed_s(self) -> float:
        """The seconds since the request began."""
        return time.monotonic() - self.began

    def within(self, limit_s: float) -> Deadline:
        """Return the deadline, or one in so many seconds from now where that is earlier."""
        return Deadline(self.began, min(self.at, time.monotonic() + limit_s))

    def earlier(self, by_s: float) -> Deadline:
        """Return a deadline that is so many seconds earlier, but not before the request began."""
        return Deadline(self.began, max(self.began, self.at - by_s))

    def __reduce__(self) -> tuple[Callable[[float, float], Deadline], tuple[float, float]]:
        return Deadline.of_parts, (self.passed_s, self.left_s)


NEVER = Deadline(0.0, inf)
"""The deadline of what has none."""
