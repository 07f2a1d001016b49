"""A command ends soon after the time limit that it was given, with the last answer that was noted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from memplan.api.cli.from_capability import Local, command_of
from memplan.api.cli.progress import TimeGiven
from memplan.capabilities.capability import Answer, Capability, CapabilityOptions, Control
from memplan.planner.errors import OptionError


class Count(Answer):
    """A number."""

    count: int


class NotedOptions(CapabilityOptions):
    """How many answers are noted."""

    notes: int = 0


NOTED, CONTROL = NotedOptions(), Control()


def endless(options: NotedOptions = NOTED, control: Control = CONTROL) -> Count:
    """Look at no clock, once answers are noted."""
    assert control.note is not None
    for count in range(options.notes):
        control.note(Count(count=count))
    while True:
        sum(range(1000))


ENDLESS = Capability(endless, inputs=(), lines=lambda found: [str(found.count)], example={})


def test_a_command_that_looks_at_no_clock_ends_with_what_was_noted_last() -> None:
    app = typer.Typer()
    app.command("endless")(command_of(ENDLESS))
    ran = CliRunner().invoke(app, ["--time-limit", "0.01", "--notes", "2", "-o", "-"])
    assert (ran.exit_code, json.loads(ran.stdout)) == (0, {"count": 1})
    ran = CliRunner().invoke(app, ["--time-limit", "0.01"])
    assert str(ran.exception) == "time-limit: must be enough for an answer, got 0.01"


def test_an_answer_is_there_where_the_time_is_over_before_its_files_are(tmp_path: Path) -> None:
    app, answer = typer.Typer(), tmp_path / "answer.json"
    local = Local(finish=lambda _given, _answer: [str(0) for _ in iter(int, 1)])
    app.command("endless")(command_of(ENDLESS, local))
    ran = CliRunner().invoke(app, ["--time-limit", "0.01", "--notes", "1", "-o", str(answer)])
    assert str(ran.exception) == "time-limit: must be enough for what is written with the answer, got 0.01"
    assert json.loads(answer.read_text()) == {"count": 0}


def test_what_has_no_limit_is_not_ended_and_what_ends_in_time_is_returned() -> None:
    assert TimeGiven(None).run(lambda: "done") == "done"
    assert TimeGiven(60.0).run(lambda: "done", noted=["earlier"]) == "done"
    with pytest.raises(OptionError):
        TimeGiven(0.01).run(lambda: [0 for _ in iter(int, 1)])
