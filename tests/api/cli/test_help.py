"""The help of commands: written down as the one parser formats it, and shown without what commands import."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from lab import help as lab_help
from memplan.api.cli.commands import Runnable, app, listed, made, names
from memplan.api.cli.main import main
from memplan.api.cli.texts import text_for, written
from memplan.questions import Command

ROOT = Path(__file__).parents[3]
LOCKED = f"click=={version('click')} " in (ROOT / "requirements-dev.lock").read_text()


@pytest.mark.skipif(not LOCKED, reason="the texts are of the click of the lock file, and this is another")
def test_the_stored_help_equals_the_text_that_the_parser_formats() -> None:
    made = lab_help.texts()
    assert made == {name: written(name) for name in made}, "write it anew by `python -m lab.help`"
    assert made.keys() == {file.stem for file in lab_help.FOLDER.glob("*.txt")}


@pytest.mark.skipif(not LOCKED, reason="the texts are of the click of the lock file, and this is another")
def test_the_list_of_commands_includes_those_of_other_distributions(monkeypatch: pytest.MonkeyPatch) -> None:
    frob = Command("nowhere:frob", "Frob a plan, " * 9 + "twice.", "Networks")
    rows: dict[str, dict[str, Command]] = {"questions": {}, "commands": {"frob": frob}}
    for module in ("memplan.planner.extensions", "memplan.api.cli.commands"):
        monkeypatch.setattr(f"{module}.extensions", lambda table: rows[table])
    whole = app([*lab_help.OWN, "frob"], lambda name: (listed if name == "frob" else made)(name))
    text = lab_help.shown(Runnable(whole, "memplan", ["--help"]))
    assert text_for([]) == text
    assert "  frob      Frob a plan" in text


@pytest.mark.parametrize("words", [["-h"], ["--help"], ["plan", "-h"], ["keys", "--help"], ["serve", "--help"]])
def test_help_waits_for_nothing_that_answers_or_reads_command_lines(words: list[str]) -> None:
    script = (
        "import sys; from memplan.api.cli.main import main; status = main(sys.argv[1:]);"
        "print(status, sorted({'numpy', 'pydantic', 'click', 'rich'} & set(sys.modules)), file=sys.stderr)"
    )
    command = [sys.executable, "-c", script, *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == "0 []\n"
    assert done.stdout == text_for(words[:-1])


def test_a_command_of_another_distribution_is_formatted_when_its_help_is_shown(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("memplan.api.cli.texts.written", lambda _name: None)
    assert main(["plan", "--help"]) == 0
    shown = capfd.readouterr().out
    assert shown.startswith("Usage: memplan plan [OPTIONS]")
    assert [line for line in ("Arguments:", "Options:", "Search:", "Output:", "Memory:") if line in shown.splitlines()]


@pytest.mark.parametrize("words", [["keys", "add", "--help"], ["plan", "--solver", "exact", "--help"]])
def test_help_after_the_words_of_a_command_is_the_help_of_that_command(
    words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 0
    assert capfd.readouterr().out.startswith(f"Usage: memplan {words[0]}")


@pytest.mark.parametrize("word", ["frob", "__init__", "memplan", "../texts/plan"])
def test_a_word_that_is_no_command_has_no_help(word: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert word not in names()
    assert main([word, "--help"]) == 2
    assert "No such command" in capfd.readouterr().err
