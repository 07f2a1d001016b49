"""The gate for developers: `python -m tests` runs format, lint, types, layers, words and tests, in that order.

The tests run in parallel, a process a core and one more, as those of one group wait more than they work. `python -m
tests --fast` takes under a minute: the same checks, and those tests of the domain, of searches, and of what keeps and
runs jobs that are neither marked `slow`, nor draw their cases (hypothesis), nor need PostgreSQL. Everything else on the
command line goes to pytest: `python -m tests -k verify`.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PLUGINS = ("--disable-plugin-autoload", "-p", "xdist", "-p", "_hypothesis_pytestplugin")
"""The plugins that are needed: pytest compiles the packages of others that are installed anew, 6 s of CPU a process."""
N_PROCESSES = min(len(os.sched_getaffinity(0)) + 1, 8)
CHECKS = (
    ("format", ["ruff", "format", "--check", "--quiet", "."]),
    ("lint", ["ruff", "check", "--quiet", "."]),
    ("types", ["mypy", "--num-workers=2"]),
    ("layers", ["lint-imports", "--no-cache"]),
    ("words", [sys.executable, "-m", "tests.words"]),
    ("tests", ["pytest", *PLUGINS, f"--numprocesses={N_PROCESSES}", "--dist=loadscope", "--no-loadscope-reorder"]),
)
FAST_LANE = (
    "tests/test_layout.py",
    "tests/memplan",
    *(f"tests/planner/{room}" for room in ("bounds", "formats", "instance", "lint", "model", "operations", "verify")),
    "tests/planner/liveness",
    *(f"tests/solvers/{room}" for room in ("exact", "formulation", "heuristics", "packing", "search")),
    *(f"tests/api/{room}" for room in ("checks", "jobs", "reports", "service", "store")),
)
"""The tests that `--fast` chooses from."""


def main() -> int:
    """Run the checks until one fails; return its exit status."""
    told = [argument for argument in sys.argv[1:] if argument != "--fast"]
    fast = ["-m", "not slow and not hypothesis", "-k", "not postgresql", *FAST_LANE] if "--fast" in sys.argv[1:] else []
    for name, (program, *options) in CHECKS:
        extra = [*fast, *told] if name == "tests" else []
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
