"""Options without effect are refused unless the option that they need is given or they equal their default."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

import memplan
from memplan.planner.errors import OptionError
from memplan.planner.model.problem import Problem
from memplan.questions import QUESTIONS
from memplan.questions.question import Control

_OTHERS = {
    "least": "bytes",
    "most_changes": 1,
    "capacity": ("a=1",),
    "kinds": ("pool",),
    "with_plans": True,
}
_OTHERS |= {"more": 64, "shrunk_to": 0.5, "tolerance": "2%", "differences": True, "unmoved": True}


def rows() -> Iterator[tuple[str, str]]:
    for name, question in QUESTIONS.items():
        yield from ((name, option) for option in question.options.needs)


@pytest.mark.parametrize(("name", "option"), [*rows()])
def test_an_option_without_effect_is_refused_with_the_option_that_it_requires(name: str, option: str) -> None:
    model: Any = QUESTIONS[name].options
    partners = model.needs[option]
    rule = f"^{option}: applies only with {' or '.join(partners)}, got "
    with pytest.raises(OptionError, match=rule):
        model(**{option: _OTHERS[option]}).refuse_idle({"problem"})
    model(**{option: model.model_fields[option].get_default()}).refuse_idle({"problem"})
    for partner in partners:
        said = {partner: 2 if partner == "repairs" else True} if partner in model.model_fields else {}
        model(**{option: _OTHERS[option], **said}).refuse_idle({"problem"} | ({partner} - said.keys()))


def test_each_entrance_refuses_an_option_without_effect() -> None:
    problem = Problem.model_validate({"buffers": [{"id": "a", "size": 4, "start": 0, "end": 2}]})
    rule = re.escape('least: applies only with keep, got "bytes"')
    with pytest.raises(OptionError, match=rule):
        memplan.plan(problem, least="bytes")
    plan: Any = QUESTIONS["plan"]
    with pytest.raises(OptionError, match=rule):
        plan.answer_verified({"problem": problem}, plan.options(least="bytes"), Control())


@pytest.mark.parametrize("option", ["solver", "heaps", "profile", "seed", "explain_s"])
def test_shared_objects_refuse_options_without_effect(option: str) -> None:
    question: Any = QUESTIONS["plan"]
    rows = [{"id": "a", "size": 4, "start": 0, "end": 2}]
    problem = question.inputs[0].from_json({"kind": "objects", "buffers": rows})
    value = {"solver": "greedy", "heaps": 64, "profile": "size", "seed": 7, "explain_s": 1}[option]
    with pytest.raises(OptionError, match=f"^{option}: must be left out for shared objects"):
        question.answer_verified({"problem": problem}, question.options(**{option: value}), Control())
