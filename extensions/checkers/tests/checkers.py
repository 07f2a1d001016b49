"""Certificate checkers as users call them: their exit status and sentence."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memplan.extensions.checkers import check
from memplan.extensions.checkers.tests import proved_checker

CHECKERS = Path(__file__).parents[1]
SCRIPT = str(CHECKERS / "check.py")
CHECKER: Any = check


def answers(arguments: Sequence[str | Path], *, python_flags: Sequence[str] | None = None) -> tuple[int, str]:
    """Return the status and the sentence of the checker in Python.

    The proved checker, where it can be built, must take or refuse the same. With flags, Python's runs as a script.
    """
    words = [*map(str, arguments)]
    said = CHECKER.main(words) if python_flags is None else _run(sys.executable, *python_flags, SCRIPT, *words)
    assert said[0] in (0, 2, 3), said
    if proved := proved_checker.program():
        status, sentence = _run(proved, *words)
        assert status in (0, 2, 3), sentence
        assert (status == 0) == (said[0] == 0), sentence
    return said


def _run(*words: str) -> tuple[int, str]:
    run = subprocess.run(words, capture_output=True, timeout=20, check=False)
    return run.returncode, run.stdout.decode().strip() or run.stderr.decode()
