"""Tests that every question returns a verified answer if it is cancelled or runs out of time at any moment."""

import json
import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from lab import stops
from lab.stops import HERE, Tally, contradiction, draw_question, stopped_here
from lab.support.drawn_calls import draw_inputs
from memplan.questions import QUESTIONS
from tests.runtimes import stopping
from tests.runtimes.stopping import CheckCounter, stop_question
from tests.support.depth import seeds
from tests.support.small_problems import small_problems

MOMENTS = 12
WAYS: dict[str, list[dict[str, Any]]] = {
    "schedule": [{}, {"frontier": True}, {"objective": "peak"}],
    "order": [{}, {"recompute": True}, {"goal": "placed"}],
    "explain": [{}, {"what_if": False, "repairs": 0}],
}


def bodies(name: str) -> Iterator[dict[str, Any]]:
    """Yield request bodies for a question: its example and small random ones, each with several sets of options."""
    example = QUESTIONS[name].example
    drawn: list[dict[str, Any]] = []
    if name in ("plan", "explain", "certify"):
        drawn = [{"problem": json.loads(row.model_dump_json())} for k in seeds(2) for row in small_problems(k, 1, 7)]
    if name == "schedule":
        drawn = [draw_inputs(random.Random(k), name, 60)[0] for k in seeds(2)]
    for way in WAYS.get(name, [{}]):
        for change in ({}, *drawn):
            yield {**example, **change, "options": {**example.get("options", {}), **way, "time_limit_s": 2}}


@pytest.mark.drawn
@pytest.mark.parametrize("by_clock", [False, True])
@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_cancelled_or_out_of_time_at_any_moment_returns_a_valid_answer(name: str, by_clock: bool) -> None:
    for body in bodies(name):
        whole = CheckCounter()
        assert stop_question(QUESTIONS[name], body, whole, by_clock=by_clock) == "answered", body
        for last in range(0, whole.count + 1, max(1, whole.count // MOMENTS)):
            assert stop_question(QUESTIONS[name], body, CheckCounter(last), by_clock=by_clock) == "answered", (
                last,
                body,
            )


@pytest.mark.drawn
@pytest.mark.parametrize("name", QUESTIONS)
def test_answers_to_interrupted_random_questions_do_not_contradict_complete_answers(name: str) -> None:
    tally = Tally()
    for k in seeds(3):
        stopped_here(draw_question("tests", k, name, (3, 30)), random.Random(k), HERE, MOMENTS // 2, tally)
    assert tally.wrong == []


def test_faults_in_interrupted_questions_are_counted_and_printed(capsys: pytest.CaptureFixture[str]) -> None:
    tally, question = Tally(), ("certify", {**QUESTIONS["certify"].example, "options": {}}, "the example")
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(stopping, "read_question", lambda *_: 1 // 0)
        assert stopped_here(question, random.Random(0), HERE, 5, tally) == 1
    assert (tally.counts["certify"]["500"], len(tally.wrong)) == (1, 1)
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(stops, "contradiction", lambda *_: "they differ")
        stopped_here(question, random.Random(0), HERE, 3, tally)
    assert tally.counts["certify"]["wrong"] == len(tally.wrong) - 1 >= 1
    assert "certify: wrong: the example" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "options", "whole", "found", "says"),
    [
        ("plan", {}, {"peak": 9, "lower_bound": 8}, {"peak": 12, "lower_bound": 9}, None),
        ("plan", {}, {"peak": 9}, {"lower_bound": 10}, "lower_bound 10 is above peak 9 of the other response"),
        ("plan", {}, {"lower_bound": 8}, {"peak": 7}, "lower_bound 8 is above peak 7 of the other response"),
        ("schedule", {}, {"peak": 9}, {"lower_bound": 10}, None),
        ("order", {"recompute": True}, {"peak": 9}, {"lower_bound": 10}, None),
        ("schedule", {"objective": "peak"}, {"peak": 9}, {"lower_bound": 10}, "lower_bound 10 is above peak 9"),
    ],
)
def test_contradictions_between_bounds_of_two_answers_are_found(
    name: str, options: dict[str, Any], whole: dict[str, int], found: dict[str, int], says: str | None
) -> None:
    why = contradiction(name, {"options": options}, SimpleNamespace(**whole), SimpleNamespace(**found))
    assert (why or "").startswith(says or "")
    assert (why is None) == (says is None)
