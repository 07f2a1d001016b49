"""Questions that compute several parts record a usable interim answer after each part."""

from contextlib import suppress
from typing import Any

import pytest

from memplan.planner.foreign.imported import plan_of_offsets
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions import QUESTIONS
from memplan.questions.plan.plan import PlanOptions
from memplan.questions.question import Control
from memplan.questions.question.wire import read_body_options, read_question

_HEAPS = [{"id": k, "size": 48 + k % 3, "start": 0, "end": 4} for k in range(6)]
PARTS: dict[str, tuple[dict[str, Any], list[str], dict[str, Any]]] = {
    "verify": ({"better": True, "again": True}, ["better", "again"], {}),
    "explain": ({"repairs": 1, "what_if": True}, ["repairs", "what_if"], {}),
    "sweep": ({}, [], {}),
    "plan": ({"heaps": 128}, [], {"problem": {"buffers": _HEAPS}}),
    "check": ({"budgets": ["1KiB"], "differences": False}, [], {"plan": None, "baseline": None}),
    "order": ({}, [], {}),
    "schedule": ({"frontier": True}, [], {}),
    "cascade": ({}, [], {}),
    "liveness": ({"compare": True, "match_range": 16}, ["peaks", "storages"], {}),
    "shapes": ({"limits": True}, ["limits"], {}),
    "compare": ({}, [], {}),
}
"""For each question: options that give it several parts, the answer's fields of later parts, and inputs that replace
those of its example."""
SINGLE = {"certify", "convert"}
"""Questions of a single part, which record no interim answer."""


class StoppedError(Exception):
    """Raised to stop a question after an interim answer, as if its worker were killed."""


def noted_answers(name: str, most: int) -> list[Any]:
    question, found = QUESTIONS[name], list[Any]()
    names = {each.name for each in question.inputs}
    example = dict(question.example)
    body = example if names & example.keys() else {question.inputs[0].name: example}
    options, _, inputs = PARTS[name]
    given = {**body, **inputs, "options": {**body.get("options", {}), "time_limit_s": 5.0, **options}}
    given = {key: value for key, value in given.items() if value is not None}

    def note(answer: Any) -> None:
        found.append(answer)
        if len(found) >= most:
            raise StoppedError

    with suppress(StoppedError):
        read = read_body_options(question, given, {})
        question.answer_verified(read_question(question, given), read, Control(note=note))
    return found


def test_every_question_is_listed_with_or_without_interim_answers() -> None:
    assert {*PARTS} | SINGLE == {*QUESTIONS}


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_a_question_stopped_after_an_interim_answer_returns_that_answer(name: str) -> None:
    question, fields = QUESTIONS[name], PARTS[name][1]
    for most in range(1, max(1, len(fields)) + 1):  # stop the question after its first part, then its second, ...
        found = noted_answers(name, most)
        assert len(found) == most, "each part is noted"
        assert isinstance(found[-1], question.answers)
        assert question.exit_status(found[-1]) in {0, *question.exits}
        assert [*question.lines(found[-1])]
    if fields:
        first = noted_answers(name, 1)[0]
        assert all(getattr(first, field) is None for field in fields)


def test_a_verdict_lists_the_checks_that_were_not_done_in_time() -> None:
    first, second = noted_answers("verify", 2)
    assert (first.valid, first.not_done, second.not_done) == (True, ("better", "again"), ("again",))
    assert second.better is not None
    assert [*QUESTIONS["verify"].lines(first)][-1] == "not done in time: better, again"
    assert QUESTIONS["verify"].exit_status(first) == 6


def test_a_plan_to_keep_is_noted_before_the_search_for_a_better_one() -> None:
    problem = Problem.model_validate({"buffers": [{"id": k, "size": 8, "start": 0, "end": 1} for k in range(60)]})
    places: dict[int | str, int] = {k: 8 * (59 - k) for k in range(60)}
    found = list[Plan]()

    def note(answer: Plan) -> None:
        found.append(answer)
        raise StoppedError

    keep = plan_of_offsets(problem, places)
    assert keep is not None
    with pytest.raises(StoppedError):
        QUESTIONS["plan"].answer_verified({"problem": problem, "keep": keep}, PlanOptions(), Control(note=note))
    assert found[0].placements.offset.tolist() == list(places.values())
    assert (found[0].peak, found[0].kept and found[0].kept.moved) == (480, 0)
