"""The control of a running call: its deadline, cancellation, progress reports and limit of counted work."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from memplan.planner.model.buffer_table import I64
from memplan.solvers.search.meanwhile import polling_flag

_ENDLESS = 2**62
"""An amount of work that no time limit allows."""
_LEAST_S = 0.02
"""The least seconds of a search, enough for the greedy orders of a small problem."""


class Deadline(NamedTuple):
    """The start and the end of a request as times of time.monotonic(); the end `at` may be infinite.

    A deadline is pickled as the seconds passed and the seconds left, because this clock starts elsewhere on another
    machine.
    """

    began: float
    at: float

    @classmethod
    def from_limit(cls, limit_s: float, began: float | None = None) -> Deadline:
        """Return the deadline `limit_s` seconds after now, or after `began`, a time of time.monotonic()."""
        began = time.monotonic() if began is None else began
        return cls(began, began + limit_s)

    @classmethod
    def from_parts(cls, passed_s: float, left_s: float) -> Deadline:
        """Return the deadline of a request that began `passed_s` seconds ago and has `left_s` seconds left."""
        now = time.monotonic()
        return cls(now - passed_s, now + left_s)

    @property
    def remaining_s(self) -> float:
        """The seconds until the deadline; negative once it has passed."""
        return self.at - time.monotonic()

    @property
    def passed_s(self) -> float:
        """The seconds since the request began."""
        return time.monotonic() - self.began

    def limit_to(self, limit_s: float) -> Deadline:
        """Return this deadline, or one that is `limit_s` seconds from now if that is earlier."""
        return Deadline(self.began, min(self.at, time.monotonic() + limit_s))

    def bring_forward(self, by_s: float) -> Deadline:
        """Return a deadline that is `by_s` seconds earlier, but not before the request began."""
        return Deadline(self.began, max(self.began, self.at - by_s))

    def __reduce__(self) -> tuple[Callable[[float, float], Deadline], tuple[float, float]]:
        """Pickle the seconds passed and left instead of the times, which are wrong on the clock of another machine."""
        return Deadline.from_parts, (self.passed_s, self.remaining_s)


NEVER = Deadline(0.0, inf)
"""The infinite deadline."""


class TimeOptions(Protocol):
    """The time options of a call: its time limit, and whether work is counted instead of time."""

    @property
    def time_limit_s(self) -> float:
        """The time limit of the call in seconds."""

    @property
    def counts_work(self) -> bool:
        """True if work is counted instead of time, so that the answer is the same on every machine."""


def ignore_report(_: Any) -> None:
    """Do nothing with a progress report. This function is the default for callbacks that get reports."""


@dataclass(frozen=True, slots=True, eq=False)
class Control:
    """The control of a running call, which is a question, a solve or a search.

    - `deadline`: the time at which the answer is due; infinite until the call begins, if only its time limit decides.
    - `cancelled`: an event that ends the search early, with the best answer so far.
    - `report`: a function that receives each progress report, a JSON object for a question or Progress for a solve.
    - `is_local`: True if the caller runs this process and may name code to run.
    - `note`: a function that receives each valid answer, for use if the call is abandoned.
    - `counted_s`: the time limit as counted work, or None. With it, only the caller's clock may end the call.
    - `raised`: the flag, an array (1,), that compiled loops poll to stop.
    - `work_left`: the work that is left, as an array (1,), if work is counted.
    - `is_alone`: True if a named solver starts without the plans of the greedy orders, to measure it by itself.
    """

    deadline: Deadline = NEVER
    cancelled: threading.Event = field(default_factory=threading.Event)
    report: Callable[[Any], object] = ignore_report
    is_local: bool = False
    note: Callable[[Any], None] | None = None
    counted_s: float | None = None
    raised: I64 = field(default_factory=lambda: np.zeros(1, np.int64))
    work_left: I64 = field(default_factory=lambda: np.full(1, _ENDLESS))
    is_alone: bool = False

    @classmethod
    def from_limit(cls, limit_s: float, deterministic: bool = False, cancelled: threading.Event | None = None) -> Self:
        """Return the control of a call that begins now, limited in seconds or, if deterministic, in counted work."""
        deadline, counted_s = (NEVER, limit_s) if deterministic else (Deadline.from_limit(limit_s), None)
        return cls(deadline, cancelled or threading.Event(), counted_s=counted_s)

    def begin(self, options: TimeOptions) -> Self:
        """Return the control of a call that begins now with the given time options."""
        counted_s = options.time_limit_s if options.counts_work else None
        due = Deadline.from_limit(inf if options.counts_work else options.time_limit_s)
        return replace(self, deadline=self.deadline if self.has_deadline else due, counted_s=counted_s)

    @property
    def has_deadline(self) -> bool:
        """True if the call has a finite deadline, so that the clock may end it."""
        return self.deadline.at < inf

    @property
    def counts_work(self) -> bool:
        """True if work is counted instead of time."""
        return self.counted_s is not None

    @property
    def remaining_s(self) -> float:
        """The seconds left: at least enough for a small problem; the whole limit in seconds if work is counted."""
        return self.counted_s if self.counted_s is not None else max(_LEAST_S, self.deadline.remaining_s)

    @property
    def is_over(self) -> bool:
        """True once the call was cancelled, or its time or its counted work is used up."""
        return self.cancelled.is_set() or (
            self.work_left[0] <= 0 if self.counts_work else self.deadline.remaining_s <= 0
        )

    @property
    def wall_time_s(self) -> float | None:
        """The seconds since the call began, or None if work is counted, as the answer must not depend on a clock."""
        return None if self.counts_work else round(self.deadline.passed_s, 6)

    def flag(self) -> AbstractContextManager[I64]:
        """Yield a flag array (1,) for compiled loops, whose entry becomes 1 once the call is over."""
        return polling_flag(lambda: self.is_over)

    @contextmanager
    def search_control(self, work_per_s: int) -> Iterator[Self]:
        """Yield the control of a search inside this call, with its own flag; a second is `work_per_s` units of work."""
        work = _ENDLESS if self.counted_s is None else int(self.counted_s * work_per_s)
        # Stopping a kernel halfway would give different results on each run, so counted work never sets the flag.
        # Searches with a limit on counted work check it between loops, so they always end at the same point.
        with self.flag() as raised:
            yield replace(self, raised=raised, work_left=np.full(1, work))

    def spend(self, work: int) -> None:
        """Subtract `work` from the work left, if work is counted."""
        if self.counts_work:
            self.work_left[0] -= work

    def limit_to(self, limit_s: float) -> Self:
        """Return the control of a part of the call: limited to `limit_s` seconds, and without the callback `note`."""
        counted_s = None if self.counted_s is None else min(limit_s, self.counted_s)
        deadline = Deadline.from_limit(min(limit_s, self.deadline.remaining_s))
        return replace(self, deadline=deadline, counted_s=counted_s, note=None)

    def child(self, share: float) -> Self:
        """Return the control of one part of the call, which may use this share of the remaining seconds."""
        return self.limit_to(share * self.remaining_s)

    def reserve(self, kept_s: float) -> Self:
        """Return the control of a part of the call, whose deadline leaves `kept_s` seconds for the rest."""
        return replace(self, deadline=self.deadline.bring_forward(max(0.0, kept_s))) if self.has_deadline else self

    def solve_control(self, *, keeping_s: float = 0.0, report: Callable[[Any], object] | None = None) -> Self:
        """Return the control of a solve inside the call, whose deadline leaves `keeping_s` seconds for the rest."""
        deadline = NEVER if self.counted_s is not None else self.deadline.bring_forward(max(0.0, keeping_s))
        return replace(self, deadline=deadline, report=report or ignore_report, note=None)
