"""The help of commands, which is generated only when it is requested."""

import subprocess
import sys
from pathlib import Path

import pytest

from memplan.api.cli.commands import command_names, listing_entry, make_command
from memplan.api.cli.main import main
from memplan.questions import Command, question_rows

Captured = pytest.CaptureFixture[str]
ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", command_names())
def test_the_command_listing_shows_the_first_sentence_of_each_commands_help(name: str) -> None:
    assert listing_entry(name).help == " ".join((make_command(name).help or "").partition("\n\n")[0].split())


def test_the_listing_has_commands_of_installed_extensions(monkeypatch: pytest.MonkeyPatch, capfd: Captured) -> None:
    rows = {"commands": {"frob": Command("nowhere:frob", "Frob a plan, " * 9 + "twice.", "Networks")}}
    monkeypatch.setattr("memplan.api.cli.commands.extensions", lambda table: rows.get(table, {}))
    assert main(["--help"]) == 0
    shown = capfd.readouterr().out
    assert "  frob      Frob a plan" in shown.partition("\nNetworks:\n")[2].partition("\n\n")[0]
    assert all(f"\n  {name} " in shown for name in question_rows())


def test_help_does_not_import_solver_server_or_database_libraries() -> None:
    script = (
        "import sys; from memplan.api.cli.main import main;"
        "status = [main(words.split()) for words in ('-h', '--help', 'keys --help', 'serve --help')];"
        "print(status, sorted({'fastapi', 'ortools', 'pulp', 'sqlalchemy'} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.stderr, done.stdout.count("Usage: memplan ")) == ("[0, 0, 0, 0] []\n", 4)


def test_the_help_of_plan_groups_its_options_in_sections(capfd: Captured) -> None:
    assert main(["plan", "--help"]) == 0
    shown = capfd.readouterr().out
    assert shown.startswith("Usage: memplan plan [OPTIONS]")
    assert {"Arguments:", "Options:", "Search:", "Output:"} <= {*shown.splitlines()}


@pytest.mark.parametrize("words", [["keys", "add", "--help"], ["plan", "--solver", "exact", "--help"]])
def test_the_help_flag_after_other_arguments_shows_the_help_of_the_command(words: list[str], capfd: Captured) -> None:
    assert main(words) == 0
    assert capfd.readouterr().out.startswith(f"Usage: memplan {words[0]}")


@pytest.mark.parametrize("word", ["frob", "__init__", "memplan", "../texts/plan"])
def test_help_for_an_unknown_command_is_refused(word: str, capfd: Captured) -> None:
    assert word not in command_names()
    assert main([word, "--help"]) == 2
    assert "No such command" in capfd.readouterr().err
