"""The gate for developers: `python -m tests` runs format, lint, types, layers, words and tests, in that order.

What follows on the command line goes to pytest: `python -m tests -k verify`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
CHECKS = (
    ("format", ["ruff", "format", "--check", "--quiet", "."]),
    ("lint", ["ruff", "check", "--quiet", "."]),
    ("types", ["mypy"]),
    ("layers", ["lint-imports", "--no-cache"]),
    ("words", [sys.executable, "-m", "tests.words", "--report"]),  # without --report, findings fail the gate
    ("tests", ["pytest"]),
)


def main() -> int:
    """Run the checks until one fails; return its exit status."""
    for name, (program, *options) in CHECKS:
        extra = sys.argv[1:] if name == "tests" else []
        print(f"== {name}", flush=True)
        started = time.monotonic()
        status = subprocess.run([str(BIN / program), *options, *extra], cwd=ROOT, check=False).returncode
        if status:
            print(f"== {name} failed (status {status})", file=sys.stderr)
            return status
        if name != "tests":  # pytest's closing line is the last one
            print(f"== {name}: ok, {time.monotonic() - started:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
