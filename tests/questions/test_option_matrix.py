"""Each reading option of each question is either honoured or refused for each kind of file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.advice import parameter_words
from memplan.api.cli.flags import flag_of
from memplan.api.cli.main import main
from memplan.questions import QUESTIONS
from memplan.questions.reading import ReadOptions
from tests.support.option_matrix import (
    BOUNDS,
    EXAMPLES,
    HOW_LONG,
    OWN,
    ask_with_files,
    options_of,
    silent_options,
    silent_own_options,
    values_of,
)

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.mark.parametrize("file", EXAMPLES)
@pytest.mark.parametrize("name", [name for name, question in QUESTIONS.items() if options_of(question)])
def test_no_reading_option_is_silently_ignored(name: str, file: str) -> None:
    assert [*silent_options(name, file)] == []


def test_each_reading_option_has_a_value_in_the_option_matrix() -> None:
    assert {*values_of("json")} == {*ReadOptions.model_fields}


@pytest.mark.slow
@pytest.mark.parametrize("file", ["json", "program", "graph", "tflite", "objects", "stablehlo"])
@pytest.mark.parametrize("name", OWN)
def test_no_option_of_a_question_itself_is_silently_ignored(name: str, file: str) -> None:
    assert [*silent_own_options(name, file)] == []


def test_each_option_of_a_question_has_a_value_in_the_option_matrix() -> None:
    for name, question in QUESTIONS.items():
        own = {*question.options.model_fields} - {*ReadOptions.model_fields} - HOW_LONG
        assert (name, own - {*OWN[name]}) == (name, set())
        assert BOUNDS.get(name, set()) <= {*OWN[name]}


_POOLS = [{"name": "fast", "size": 128, "cost": 1}, {"name": "slow", "cost": 4}]
_ROWS = [
    {"id": name, "size": size, "start": 0, "end": 3, "traffic": k} for name, size, k in (("a", 96, 1), ("b", 64, 9))
]
_OF_SEVERAL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plan": ({}, {}),
    "check": ({}, {"budgets": ("slow=1KiB",)}),
    "sweep": ({"sizes": {"fast": [128, 160]}}, {}),
}


@pytest.mark.parametrize("name", _OF_SEVERAL)
def test_a_profile_of_several_pools_changes_the_answer(name: str) -> None:
    more, options = _OF_SEVERAL[name]
    question, files = QUESTIONS[name], {"problem": {"buffers": _ROWS, "pools": _POOLS}} | more
    plain, changed = (
        ask_with_files(question, files, {"deterministic": True, "profile": profile} | options)[0]
        for profile in ("speed", "size")
    )
    rows = "points" if name == "sweep" else "pools"
    assert plain[rows] != changed[rows]


_FILES = {
    "plan": "json",
    "explain": "json",
    "check": "json",
    "order": "graph",
    "liveness": "program",
    "convert": "tflite",
}
_NEEDED = {"check": ["--budget", "1KiB"], "explain": ["--capacity", "200"], "convert": ["-o", "out.json"]}


@pytest.mark.parametrize("name", _FILES)
def test_no_option_of_a_command_is_silently_ignored(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    example, fields = EXAMPLES[_FILES[name]], QUESTIONS[name].options.model_fields
    Path(example.name).write_bytes(example.data)

    def answer(words: list[str]) -> tuple[int, str, str]:
        """Run the command, and return its exit status and what it prints, without times."""
        status = main([name, example.name, *_NEEDED.get(name, []), *words])
        out, err = capfd.readouterr()
        return status, re.sub(r'"\\w+_s": ?[-+.0-9e]+', "", out), re.sub(r"[0-9.]+ s\\b", "", err)

    plain, silent = answer([]), []
    for option in OWN[name].keys() - BOUNDS.get(name, set()) - {"to"}:
        values = OWN[name][option] if isinstance(OWN[name][option], tuple) else (OWN[name][option],)
        flag = flag_of(option, fields[option])
        silent += [option] if answer([*parameter_words(flag, list(values))]) == plain else []
    assert silent == []
