"""What the README shows is so."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from memplan.api.cli.main import main
from memplan.solvers.portfolio import registry

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture
def beside_the_examples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blocks(language: str) -> list[str]:
    """Return the code blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_the_commands_do_what_they_say(beside_the_examples: Path) -> None:
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(lines) > 5
    for line in lines:
        program, *arguments = shlex.split(line)
        status = 1 if arguments[0] == "explain" else 0  # 1: it does not fit, which is what is explained
        assert (program, line, main(arguments)) == ("memplan", line, status)
    assert {"plan.json", "plan.svg", "problem.json", "program.lp"} <= {
        path.name for path in beside_the_examples.iterdir()
    }


def test_the_library_does_what_it_says(beside_the_examples: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (code,) = blocks("python")
    exec(compile(code, "README.md", "exec"), {})
    assert int(capsys.readouterr().out) >= 0


def test_every_solver_is_in_the_table() -> None:
    table = README.partition("## Solvers")[2]
    assert [row.name for row in registry.SOLVERS if f"`{row.name}`" not in table] == []


def test_the_picture_is_that_of_the_example() -> None:
    assert "default: peak 1,505,280 bytes (1.436 MiB), optimal" in (ROOT / "docs" / "plan.svg").read_text(
        encoding="utf-8"
    )
