"""The gate's budget of lines: `.ci/lines.csv` limits the lines of product and tests in each folder.

`python -m tests.lines` lists the folders above their limits; `--table` prints the lines of all folders. A commit that
raises a limit lowers another one by as much, or its message states the benefit for users.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUDGET = ROOT / ".ci" / "lines.csv"
CODE = {".py", ".pyi", ".c", ".cpp", ".h", ".hpp", ".js", ".mjs", ".css", ".html", ".rs", ".v", ".ml", ".bzl", ".sh"}
"""Suffixes of the files whose lines (including blank ones) are counted."""


def place_of(path: Path) -> tuple[str, str] | None:
    """Return the budget folder of a file and `product` or `tests`; None for files that are not counted."""
    parts = path.parts
    if path.suffix not in CODE or len(parts) == 1:
        return None
    folder = "/".join(parts[:2]) if parts[0] == "extensions" and len(parts) > 2 else parts[0]
    if parts[:3] == ("extensions", "checkers", "verified"):
        folder = "/".join(parts[:3])
    return folder, "tests" if "tests" in parts else "product"


def count_lines() -> Counter[tuple[str, str]]:
    """Return the number of lines by folder and kind (`product` or `tests`)."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    lines: Counter[tuple[str, str]] = Counter()
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        place = place_of(Path(name))
        if place is not None and path.is_file() and not path.is_symlink():
            lines[place] += path.read_bytes().count(b"\n")
    return lines


def read_budget() -> dict[tuple[str, str], int]:
    """Return the line limit by folder and kind (`product` or `tests`)."""
    with BUDGET.open(encoding="utf-8", newline="") as file:
        return {(row["folder"], kind): int(row[kind]) for row in csv.DictReader(file) for kind in ("product", "tests")}


def excess_sentences(lines: Counter[tuple[str, str]], most: dict[tuple[str, str], int]) -> list[str]:
    """Return a message for each folder that exceeds its line limit."""
    return [
        f".ci/lines.csv: {folder}: must have at most {most.get((folder, kind), 0)} lines of {kind}, got {count}"
        for (folder, kind), count in sorted(lines.items())
        if count > most.get((folder, kind), 0)
    ]


def main() -> int:
    """Print the folders above their limits and return 1 if there are any; with `--table`, print all folders' lines."""
    lines = count_lines()
    if "--table" in sys.argv[1:]:
        print("folder,product,tests")
        for folder in sorted({folder for folder, _ in lines}):
            print(f"{folder},{lines[folder, 'product']},{lines[folder, 'tests']}")
        return 0
    found = excess_sentences(lines, read_budget())
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
