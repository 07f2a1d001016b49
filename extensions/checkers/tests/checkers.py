"""Certificate checkers as users call them: their exit status and sentence."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from memplan.extensions.checkers import check
from memplan.extensions.checkers.tests import proved_checker

CHECKERS = Path(__file__).parents[3] / "packages" / "checkers" / "memplan.extensions.checkers"
SCRIPT = str(CHECKERS / "check.py")
CHECKER: Any = check


def compiled(folder: Path) -> str:
    """Compile the C checker with traps for wrong indices and overflows."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler")
    found = folder / "check"
    strict = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O0", "-fsanitize=address,undefined"]
    subprocess.run([compiler, *strict, "-o", str(found), str(CHECKERS / "check.c")], check=True)
    return str(found)


def answers(
    program: str, arguments: Sequence[str | Path], *, python_flags: Sequence[str] | None = None
) -> tuple[int, str]:
    """Return the status and sentence of both checkers, which must agree except on wrong input.

    The proved checker, where it can be built, must take or refuse the same.

    With flags, Python's runs as a script.
    """
    said = both(program, arguments, python_flags)
    assert said[0][0] == said[1][0], said
    assert said[0][0] in (0, 2, 3), said
    if said[0][0] == 0:
        assert said[0] == said[1]
    if proved := proved_checker.program():
        status, sentence = _run(proved, *map(str, arguments))
        assert status in (0, 2, 3), sentence
        assert (status == 0) == (said[0][0] == 0), sentence
    return said[0]


def both(
    program: str, arguments: Sequence[str | Path], python_flags: Sequence[str] | None = None
) -> list[tuple[int, str]]:
    """Return the status and the output of the Python checker and of the C checker."""
    words = [*map(str, arguments)]
    said = [CHECKER.main(words) if python_flags is None else _run(sys.executable, *python_flags, SCRIPT, *words)]
    return [*said, _run(program, *words)]


def _run(*words: str) -> tuple[int, str]:
    run = subprocess.run(words, capture_output=True, timeout=20, check=False)
    return run.returncode, run.stdout.decode().strip() or run.stderr.decode()
