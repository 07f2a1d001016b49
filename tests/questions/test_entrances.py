"""Every question has the same options and the same answer on all entrances, and refuses options without effect."""

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memplan
from memplan.api.cli.commands import COMMANDS
from memplan.api.cli.flag_names import flag_text, flags_of
from memplan.api.cli.main import main
from memplan.planner.errors import Option, OptionError
from memplan.planner.model.problem import Problem
from memplan.questions import QUESTIONS
from memplan.questions.question import Control, Question
from memplan.questions.question.wire import read_body_options, read_question
from tests.support.server import RunningServer

Captured = pytest.CaptureFixture[str]
TEXTS = {"sizes": ["sram=0:128:64"]}
"""Inputs of examples that the command line takes as text instead of a file."""
TIMES = {"wall_time_s"}


def body_of(question: Question[Any]) -> dict[str, Any]:
    """Return the example request of a question, changed so that nothing depends on clocks."""
    options = dict(question.example.get("options", {})) | {"time_limit_s": 5}
    if "deterministic" in question.options.model_fields:
        options["deterministic"] = True
    return {**question.example, "options": options}


def remove_times(content: str | bytes) -> Any:
    value = json.loads(content)
    return {name: field for name, field in value.items() if name not in TIMES} if isinstance(value, dict) else value


def arguments_of(question: Question[Any], body: dict[str, Any], folder: Path) -> list[str]:
    arguments = [question.name]
    values = read_question(question, body)
    for each in question.inputs:
        if each.from_file is not None and each.name in values:
            path = folder / f"{each.name}.json"
            path.write_bytes(values[each.name] if each.takes_bytes else json.dumps(body[each.name]).encode())
            arguments += [flags_of(each.name)[0], str(path)] if each.named_by_flag else [str(path)]
        elif each.name in values:
            arguments += [part for text in TEXTS[each.name] for part in (flags_of(each.name)[0], text)]
    for name, value in body["options"].items():
        flag = flags_of(name)[0]
        if isinstance(value, bool):
            arguments += [flag] if value else []
        elif isinstance(value, list):
            arguments += [part for text in value for part in (flag, str(text))]
        elif isinstance(value, dict):
            arguments += [part for key, its in value.items() for part in (flag, f"{key}={its}")]
        else:
            arguments += [flag, str(value)]
    return [*arguments, "--format", "json", "--quiet"]


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_all_entrances_give_the_same_answer(name: str, server: RunningServer, tmp_path: Path, capfd: Captured) -> None:
    question = QUESTIONS[name]
    body = body_of(question)
    values, options = read_question(question, body), read_body_options(question, body, {})
    python = remove_times(question.write(getattr(memplan, question.function.__name__)(**values, options=options)))

    answer = server.client.post(question.path, json=body)
    assert answer.status_code == 200, answer.text
    assert remove_times(answer.content) == python, "POST"

    job = server.wait_for_end(server.client.post(f"/v1/jobs?kind={name}", json=body).json())
    assert remove_times(server.client.get(f"{job['links']['self']}/result").content) == python, "job"

    arguments = arguments_of(question, body, tmp_path)
    for where in ([], ["--server", str(server.client.base_url)]):
        capfd.readouterr()
        status = main([*arguments, *where])
        out = capfd.readouterr()
        assert status in {0, *question.exits}, out.err
        assert remove_times(out.out) == python, where


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_an_answer_read_back_from_json_has_the_same_table_and_exit_status(name: str) -> None:
    from pydantic import TypeAdapter

    question = QUESTIONS[name]
    body = body_of(question)
    found = question.answer_verified(read_question(question, body), read_body_options(question, body, {}), Control())
    read = TypeAdapter(question.answer).validate_json(question.write(found))
    assert list(question.lines(read)) == list(question.lines(found))
    assert question.exit_status(read) == question.exit_status(found)


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_every_option_has_a_description_and_exists_on_every_entrance(name: str, server: RunningServer) -> None:
    question = QUESTIONS[name]
    fields = question.options.model_fields
    assert [field for field, about in fields.items() if not about.description] == []
    described = server.client.get("/openapi.json").json()["paths"][question.path]["post"]
    assert set(fields) <= {parameter["name"] for parameter in described["parameters"]}
    taken = inspect.signature(question.function).parameters.values()
    assert [each.name for each in taken if each.kind is not each.KEYWORD_ONLY][-2:] == ["options", "control"]


@pytest.mark.parametrize("name", list(QUESTIONS))
@pytest.mark.parametrize("option", [{"time_limit_s": 1e6}, {"time_limit_s": "soon"}, {"no_such_option": 1}])
def test_the_error_for_a_wrong_option_in_python_names_the_option(name: str, option: dict[str, Any]) -> None:
    with pytest.raises(OptionError, match=rf"^{next(iter(option))}: "):
        QUESTIONS[name].options(**option)


def test_commands_without_a_question_do_not_share_a_questions_name() -> None:
    assert not set(COMMANDS) & set(QUESTIONS)


@pytest.mark.parametrize("name", ["schedule", "cascade", "order", "sweep", "compare", "liveness", "explain"])
def test_a_question_records_an_interim_answer_before_its_final_one(name: str) -> None:
    question, noted = QUESTIONS[name], list[Any]()
    body = dict(question.example)
    body = body if body.keys() & {each.name for each in question.inputs} else {question.inputs[0].name: body}
    options = read_body_options(question, body, {})
    answer = question.answer_verified(read_question(question, body), options, Control(note=noted.append))
    assert noted
    assert type(noted[0]) is type(answer)
    assert question.write(noted[0])


def test_error_messages_write_options_in_the_syntax_of_each_entrance() -> None:
    error = OptionError.from_rule(
        "budgets", "needs its dims, as in ", Option("dims", "n=[1]"), ", or ", Option("least", "")
    )
    assert str(error) == "budgets: needs its dims, as in dims=n=[1], or least"
    assert tuple(error.sentences_in_syntax(flag_text)) == ("budget: needs its dims, as in --dim 'n=[1]', or --least",)


_OTHERS = {"least": "bytes", "most_changes": 1, "capacity": ("a=1",), "kinds": ("pool",), "with_plans": True}
_OTHERS |= {"more": 64, "shrunk_to": 0.5, "tolerance": "2%", "differences": True, "unmoved": True}


def rows() -> Iterator[tuple[str, str]]:
    for name, question in QUESTIONS.items():
        yield from ((name, option) for option in question.options.needs)


@pytest.mark.parametrize(("name", "option"), [*rows()])
def test_an_option_without_effect_is_refused_with_the_option_that_it_requires(name: str, option: str) -> None:
    model: Any = QUESTIONS[name].options
    partners = model.needs[option]
    with pytest.raises(OptionError, match=f"^{option}: applies only with {' or '.join(partners)}, got "):
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
