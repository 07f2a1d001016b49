"""Copies of the packages, to which the guides of docs/extending.md are applied, and programs that run beside one."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("planner", "solvers", "api", "checkers", "memplan")


def copy_packages(folder: Path, *more: str) -> None:
    """Copy what `import memplan` reads, and `more` folders of the checkout, into a folder."""
    # With what Python has compiled: files keep their times, so that only those that a guide changes are compiled again.
    for name in (*PACKAGES, *more):
        shutil.copytree(ROOT / name, folder / name, symlinks=True)


def run_beside(
    folder: Path, program: str, *arguments: str, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the text of a program that imports the copy in a folder; by default in that folder, too."""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments],
        cwd=cwd or folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        text=True,
        capture_output=True,
        check=False,
        timeout=200,
    )
