"""Questions of several parts, stopped after each of them: what was found by then is an answer."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from memplan.questions import QUESTIONS
from memplan.questions.question import Control
from memplan.questions.question.wire import read_body_options, read_question

PARTS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "verify": ({"better": True, "again": True}, ["better", "again"]),
    "explain": ({"repairs": 1, "what_if": True}, ["repairs", "what_if"]),
    "sweep": ({}, []),
}
"""Options with which a question has several parts, and the fields of those that may lack."""


class StoppedError(Exception):
    """The question is stopped, as a worker that is killed."""


def noted(name: str, most: int) -> list[Any]:
    """Return the answers that a question notes until it is stopped after so many."""
    question, found = QUESTIONS[name], list[Any]()
    names = {each.name for each in question.inputs}
    example = dict(question.example)
    body = example if names & example.keys() else {question.inputs[0].name: example}
    given = {**body, "options": {"time_limit_s": 5.0, **PARTS[name][0]}}

    def note(answer: Any) -> None:
        found.append(answer)
        if len(found) >= most:
            raise StoppedError

    with suppress(StoppedError):
        options = read_body_options(question, given, {})
        question.answered(read_question(question, given), options, Control(note=note))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_a_question_that_is_stopped_after_a_part_has_what_it_found_by_then(name: str) -> None:
    question, fields = QUESTIONS[name], PARTS[name][1]
    for most in range(1, max(1, len(fields)) + 1):
        found = noted(name, most)
        assert len(found) == most, "each part is noted"
        assert isinstance(found[-1], question.answers)
        assert question.exit_status(found[-1]) in {0, *question.exits}
        assert [*question.lines(found[-1])]
    if fields:
        first = noted(name, 1)[0]
        assert all(getattr(first, field) is None for field in fields)


def test_a_verdict_says_what_was_not_done() -> None:
    first, second = noted("verify", 2)
    assert (first.valid, first.not_done, second.not_done) == (True, ("better", "again"), ("again",))
    assert second.better is not None
    assert [*QUESTIONS["verify"].lines(first)][-1] == "not done in time: better, again"
    assert QUESTIONS["verify"].exit_status(first) == 6
