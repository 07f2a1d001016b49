"""Runs the certificate checkers as users run them; each run returns an exit status and a sentence."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memplan.checkers import check
from tests.checkers import proved_checker

CHECKERS = Path(__file__).parents[2] / "checkers"
SCRIPT = str(CHECKERS / "check.py")
CHECKER: Any = check


def answers(arguments: Sequence[str | Path], *, python_flags: Sequence[str] | None = None) -> tuple[int, str]:
    """Return the exit status and the sentence of the Python checker, which runs as a script if flags are given.

    If the Coq-verified checker can be built, also check that it gives the same verdict.
    """
    words = [*map(str, arguments)]
    said = CHECKER.main(words) if python_flags is None else _run_program(sys.executable, *python_flags, SCRIPT, *words)
    assert said[0] in (0, 2, 3), said
    if proved := proved_checker.program():
        status, sentence = _run_program(proved, *words)
        assert status in (0, 2, 3), sentence
        assert (status == 0) == (said[0] == 0), sentence
    return said


def _run_program(*words: str) -> tuple[int, str]:
    run = subprocess.run(words, capture_output=True, timeout=20, check=False)
    return run.returncode, run.stdout.decode().strip() or run.stderr.decode()
