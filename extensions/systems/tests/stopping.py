"""Questions that are stopped at their n-th check whether they are over: cancelled, or by deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import inf
from typing import Any
from unittest.mock import patch

from memplan.extensions.systems.tests.answer_schemas import unlike_schema
from memplan.planner.errors import InputError, MemplanError, TimeOverError
from memplan.questions.question import Control, Question
from memplan.questions.question.wire import read_body_options, read_question
from memplan.solvers.search.control import Deadline, ignore_report

LATER = 1e6
"""The seconds by which the remaining time is reduced when a clock ends a call."""


@dataclass
class Asks:
    """Counts how often a call checks whether it is over, and ends it after check `last`."""

    last: float = inf
    count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def is_over(self) -> bool:
        """Count a check."""
        with self.lock:
            self.count += 1
        return self.count > self.last


class CancelledAt(threading.Event):
    """An event that is set after the n-th check."""

    def __init__(self, asks: Asks) -> None:
        super().__init__()
        self.asks = asks

    def is_set(self) -> bool:
        """Return True after the last check."""
        return super().is_set() or self.asks.is_over()


@contextmanager
def clock_of(asks: Asks) -> Iterator[None]:
    """Expire all deadlines after the n-th check.

    Deadlines made from the remaining time are then in the past for every clock, a search's clock included.
    """

    def remaining_s(deadline: Deadline) -> float:
        return deadline.at - time.monotonic() - LATER * asks.is_over()

    with patch.object(Deadline, "remaining_s", property(remaining_s)):
        yield


def stop_question(
    question: Question[Any],
    body: dict[str, Any],
    asks: Asks,
    *,
    by_clock: bool,
    take: Callable[[Any], object] = ignore_report,
) -> str:
    """Answer a body's question, stop it after the n-th check, and return the answer, note or refusal.

    All that is answered or noted is verified, and is what the schema says; a fault of memplan is raised. `take` gets
    the answer.
    """
    notes = list[Any]()
    running = Control(cancelled=threading.Event() if by_clock else CancelledAt(asks), note=notes.append)
    try:
        values, options = read_question(question, body), read_body_options(question, body, {})
        if by_clock:
            with clock_of(asks):
                found = question.answer_verified(values, options, running)
        else:
            found = question.answer_verified(values, options, running)
    except TimeOverError:
        return "not in time"
    except InputError as error:
        return f"refused: {error}"
    except MemplanError as error:
        if type(error).__name__ != "NotInTimeError":
            raise
        return "noted" if notes else "not in time"
    for answer in (found, *notes):
        assert (why := unlike_schema(question.name, question.write(answer))) is None, why
    take(found)
    return "answered"
