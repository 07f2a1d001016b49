"""The gate's budget of lines: all of product and tests together have at most the number of lines in `.ci/lines`.

`python -m tests.lines --table` prints the lines of each folder. Only an issue raises the budget: a commit that adds
lines removes others.
"""

import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUDGET = ROOT / ".ci" / "lines"
CODE = {".py", ".pyi", ".c", ".cpp", ".h", ".hpp", ".js", ".mjs", ".css", ".html", ".rs", ".v", ".ml", ".bzl", ".sh"}
"""Suffixes of the files whose lines (including blank ones) are counted."""
GENERATED = {
    Path("proofs/proved.ml"),
    Path("memplan/__init__.pyi"),
    Path("extensions/page/static/built/page.js"),
    Path("extensions/page/static/built/live.js"),
    Path("extensions/page/static/vendor/preact.js"),
}
"""Files that a program writes, which are not counted."""


def place_of(path: Path) -> tuple[str, str] | None:
    """Return the folder of a file and `product` or `tests`; None for files that are not counted."""
    parts = path.parts
    if path.suffix not in CODE or len(parts) == 1 or path in GENERATED:
        return None
    folder = "/".join(parts[:2]) if parts[0] in ("runtimes", "extensions") and len(parts) > 2 else parts[0]
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


def main() -> int:
    """Return 1 if there are more lines than the budget allows; with `--table`, print the lines of each folder."""
    lines, most = count_lines(), int(BUDGET.read_text(encoding="utf-8"))
    if "--table" in sys.argv[1:]:
        kinds = ("product", "tests")
        lines.update(
            {("all", kind): sum(count for (_, each), count in lines.items() if each == kind) for kind in kinds}
        )
        print("folder,product,tests")
        for folder in sorted({folder for folder, _ in lines}, key=lambda folder: (folder == "all", folder)):
            print(folder, *(lines[folder, kind] for kind in kinds), sep=",")
        return 0
    if lines.total() > most:
        print(f".ci/lines: product and tests must have at most {most} lines, got {lines.total()}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
