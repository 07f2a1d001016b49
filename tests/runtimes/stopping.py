"""Stops a question at its n-th check whether to stop, by cancellation or by an expired deadline."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from math import inf
from typing import Any
from unittest.mock import patch

import jsonschema_rs

from memplan.api.http.app import create_app
from memplan.planner.errors import InputError, MemplanError, TimeOverError
from memplan.questions import QUESTIONS
from memplan.questions.question import Control, Question
from memplan.questions.question.wire import read_body_options, read_question
from memplan.solvers.search.control import Deadline, ignore_report


@cache
def _answer_validators() -> dict[str, jsonschema_rs.Validator]:
    spec = create_app().openapi()
    answers = {name: spec["paths"][f"/v1/{name}"]["post"]["responses"]["200"]["content"] for name in QUESTIONS}
    schemas = {name: content["application/json"]["schema"] for name, content in answers.items()}
    parts = {"components": spec["components"]}
    return {name: jsonschema_rs.validator_for({**schema, **parts}) for name, schema in schemas.items()}


def unlike_schema(name: str, answer: bytes) -> str | None:
    """Return where and why a JSON answer to the question `name` violates its schema, or None if it conforms."""
    wrong = next(_answer_validators()[name].iter_errors(json.loads(answer)), None)
    return None if wrong is None else f"{'.'.join(map(str, wrong.instance_path))}: {wrong.message[:500]}"


LATER = 1e6
"""The seconds that are subtracted from the remaining time, so that every deadline expires."""


@dataclass
class CheckCounter:
    """Counts how often a call checks whether to stop, and stops the call after check number `last`."""

    last: float = inf
    count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def is_over(self) -> bool:
        """Count a check, and return True for all checks after number `last`."""
        with self.lock:
            self.count += 1
        return self.count > self.last


class CancelledAt(threading.Event):
    """An event that counts as set after the n-th check."""

    def __init__(self, asks: CheckCounter) -> None:
        super().__init__()
        self.asks = asks

    def is_set(self) -> bool:
        """Count a check, and return True if the event was set or the check comes after number `last`."""
        return super().is_set() or self.asks.is_over()


@contextmanager
def clock_of(asks: CheckCounter) -> Iterator[None]:
    """Expire all deadlines after the n-th check.

    Deadlines derived from the remaining time, such as those of a search, are then in the past, too.
    """

    def remaining_s(deadline: Deadline) -> float:
        return deadline.at - time.monotonic() - LATER * asks.is_over()

    with patch.object(Deadline, "remaining_s", property(remaining_s)):
        yield


def stop_question(
    question: Question[Any],
    body: dict[str, Any],
    asks: CheckCounter,
    *,
    by_clock: bool,
    take: Callable[[Any], object] = ignore_report,
) -> str:
    """Answer a question for a request body, stop it after the n-th check, and return a word for the kind of its result.

    All final and interim answers are verified and validated against the schema; internal errors of memplan are raised.
    `take` is called with the final answer.
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
