"""The effort of a search of schedules: time on a clock, or steps that are tried where work is counted."""

from __future__ import annotations

from collections.abc import Callable

WORK_PER_S = 90_000
"""The steps that a search tries in a second where work is counted: one core tried 89,000 to 96,000 on four graphs."""


class ScheduleEffort:
    """The part of its limit that a search has spent; `share` is that of a clock, without which steps are counted."""

    def __init__(
        self, time_limit_s: float, share: Callable[[], float] | None, is_cancelled: Callable[[], bool]
    ) -> None:
        self._most = time_limit_s * WORK_PER_S
        self._share, self._is_cancelled = share, is_cancelled
        self.work = 0
        self.within = 1.0
        """The part of the limit that the search in hand has."""

    def spend(self, work: int) -> None:
        """Count steps that were tried."""
        self.work += work

    def is_over(self, share: float = 1.0) -> bool:
        """Return True if the search was cancelled, or has spent this share of its part of the limit."""
        return self._is_cancelled() or self.share >= share * self.within

    @property
    def share(self) -> float:
        """The part of the limit that is spent."""
        return self.work / self._most if self._share is None else self._share()
