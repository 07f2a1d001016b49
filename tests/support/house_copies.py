"""Copies of the packages, for applying the guides of docs/adding.md to them, and programs that import a copy."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("checkers", "planner", "solvers", "questions", "api", "programs", "runtimes", "extensions", "memplan")


def copy_packages(folder: Path, *more: str) -> None:
    """Copy the files that `import memplan` needs, and `more` folders of the checkout, into a folder."""
    # Compiled files are copied with the sources' times, so that only files that a guide changes are compiled again.
    for name in (*PACKAGES, *more):
        shutil.copytree(ROOT / name, folder / name, symlinks=True)


def run_beside(
    folder: Path, program: str, *arguments: str, cwd: Path | None = None, limit_s: float = 200
) -> subprocess.CompletedProcess[str]:
    """Run a program text that imports the copy in a folder, which is also the default working folder."""
    words, env = [sys.executable, "-c", program, *arguments], {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(words, cwd=cwd or folder, env=env, text=True, capture_output=True, timeout=limit_s)


Patch = Mapping[str, Sequence[tuple[str, str]]]
"""The edits of each file: a text that occurs once, with its replacement; the key "" appends to the file."""


def insertion_before(anchor: str, text: str) -> tuple[str, str]:
    return anchor, text + anchor


def extend(folder: Path, patch: Patch) -> None:
    for name, edits in patch.items():
        file = folder / name
        file.parent.mkdir(exist_ok=True)
        text = file.read_text() if file.exists() else ""
        for found, new in edits:
            assert not found or text.count(found) == 1, f"{name}: the guide expects {found!r} once"
            text = text.replace(found, new) if found else text + new
        file.write_text(text)


def guide(section: str) -> set[str]:
    text = (ROOT / "docs/adding.md").read_text().split(f"## {section}\n")[1].split("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", text, re.MULTILINE))
