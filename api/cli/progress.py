"""A line that shows how far a command is, and the end of its time."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Sequence
from typing import TextIO, TypeVar

from memplan.api.abandoning import run_in_thread
from memplan.capabilities.capability import due
from memplan.planner.errors import OptionError

Result = TypeVar("Result")
_GRACE_S = 0.25
_WRITING_S = 0.2
"""The seconds after its limit when a command without an answer is ended; those that its files have after that."""
_ERASE = "\r\033[K"


class ProgressLine:
    """One line on a terminal, drawn over and over: the time, and how far the work is."""

    def __init__(self, terminal: TextIO | None) -> None:
        self.terminal = terminal
        self.latest: str | None = None

    def take(self, text: str) -> None:
        """Remember how far the search is; called from its threads."""
        self.latest = text

    def draw(self, elapsed_s: float) -> None:
        """Draw what is known, if there is a terminal."""
        if self.terminal is None or self.latest is None:
            return
        width = shutil.get_terminal_size().columns - 1  # the last column stays free: some terminals wrap after it
        self.terminal.write(f"{_ERASE}{f'{elapsed_s:6.1f} s  {self.latest}'[:width]}")
        self.terminal.flush()

    def erase(self) -> None:
        """Make room for what comes after."""
        if self.terminal is not None:
            self.terminal.write(_ERASE)
            self.terminal.flush()


class TimeGiven:
    """The time of a command from now on: what looks at no clock, and goes on beyond it, is abandoned.

    It is over a quarter of a second after its limit; on a machine that is busy, not before this process has had as much
    of a processor. Without a limit nothing is abandoned.
    """

    def __init__(self, limit_s: float | None) -> None:
        self._limit_s = limit_s
        self.deadline = None if limit_s is None else due(limit_s)
        self._cpu_until = time.process_time() + (limit_s or 0.0)

    def left_s(self, most_s: float) -> float:
        """Return the seconds for what follows the answer: where a limit was given, what is left of it."""
        return most_s if self.deadline is None else max(0.01, min(most_s, self.deadline.left_s))

    def run(
        self,
        work: Callable[[], Result],
        noted: Sequence[Result] = (),
        meanwhile: Callable[[], None] = lambda: None,
        *,
        is_answered: bool = False,
    ) -> Result:
        """Return what the work returns, which runs in a thread; where its time is over before, what was noted last.

        What is written once it `is_answered` has a little more. Raises OptionError where nothing was noted.
        """
        if (deadline := self.deadline) is None:
            return run_in_thread(work, meanwhile)
        more_s = _GRACE_S + (_WRITING_S if is_answered else 0.0)
        try:
            return run_in_thread(
                work, meanwhile, lambda: more_s + max(deadline.left_s, self._cpu_until - time.process_time())
            )
        except TimeoutError:
            if noted:
                return noted[-1]
            what = "what is written with the answer" if is_answered else "an answer"
            raise OptionError(f"time-limit: must be enough for {what}, got {self._limit_s:g}") from None
