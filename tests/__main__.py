"""The gate for developers: `python -m tests` checks format, lint, layers and words, then types and tests side by side.

The tests run in parallel, a process a core and one more, as two groups of tests wait more than they work. Failed tests
run once more, alone: tests with clocks and processes may fail next to others. `python -m tests --fast` takes under a
minute: the same checks, and the tests of the domain, of searches, of the store and of workers, without tests marked
`slow`, tests that draw their cases (hypothesis), and tests that need PostgreSQL. Tests marked `deep` run before a
release (`make deep`). All other arguments are passed to pytest: `python -m tests -k verify`.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from tests.support.depth import ENDS

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
PLUGINS = ("--disable-plugin-autoload", "-p", "xdist", "-p", "_hypothesis_pytestplugin")
"""Only the needed pytest plugins: loading all installed ones would cost each process 6 s of CPU."""
CHECKS = (
    ("format", ["ruff", "format", "--check", "--quiet", "."]),
    ("lint", ["ruff", "check", "--quiet", "."]),
    ("layers", ["lint-imports", "--no-cache"]),
    ("words", [sys.executable, "-m", "tests.words"]),
    ("lines", [sys.executable, "-m", "tests.lines"]),
)
TYPES = ("nice", str(BIN / "mypy"))
N_PROCESSES = min((os.cpu_count() or 1) + 1, 8)
PARALLEL = (f"--numprocesses={N_PROCESSES}", "--dist=loadscope", "--no-loadscope-reorder", "--assert=plain")
"""`--assert=plain` saves each process 12 s of CPU; tests rerun alone show the values in failed assertions."""
ALONE = ("--numprocesses=0", "--last-failed", "--last-failed-no-failures=none")
SOME_FAILED = 1
"""pytest's exit status if some tests failed."""
FAST_LANE = (
    "tests/test_layout.py",
    "tests/memplan",
    *(f"tests/planner/{room}" for room in ("bounds", "formats", "instance", "lint", "model", "verify")),
    *(f"tests/programs/{room}" for room in ("operations", "lifetimes", "liveness")),
    *(f"tests/solvers/{room}" for room in ("exact", "formulation", "heuristics", "packing", "search")),
    *(f"tests/api/{room}" for room in ("checks", "jobs", "reports", "service", "store")),
)
"""The tests that `--fast` chooses from."""


def main() -> int:
    """Run the checks side by side, and then the tests; return the exit status of the first that fails."""
    # Tests start hundreds of processes, each of which would otherwise recompile every import.
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    told = [argument for argument in sys.argv[1:] if argument != "--fast"]
    chosen = ["-m", "not slow and not deep and not hypothesis", "-k", "not postgresql", *FAST_LANE]
    if "--fast" not in sys.argv[1:]:
        chosen = [] if "-m" in told else ["-m", "not deep"]
    started = _begin_step("checks")
    for name, check in [(name, _start(program, *options)) for name, (program, *options) in CHECKS]:
        found, _ = check.communicate()
        print(found, end="")
        if check.returncode:
            return _report_failure(name, check.returncode)
    print(f"== checks: ok, {time.monotonic() - started:.0f} s", flush=True)
    types = subprocess.Popen(TYPES, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    _begin_step("tests")
    status = _run_tests([*chosen, *told])
    found, _ = types.communicate()
    _begin_step("types")
    print(found, end="")
    if types.returncode:
        return _report_failure("types", types.returncode)
    return _report_failure("tests", status) if status else 0


def _run_tests(told: list[str]) -> int:
    """Run the tests, and failed tests once more, alone; the second result decides."""
    pytest = (str(BIN / "pytest"), *PLUGINS)
    status = _run(*pytest, *PARALLEL, *told)
    if status != SOME_FAILED:
        return status
    _begin_step("what failed, alone")
    # Failed tests are rerun even if the time limit of the gate is over.
    os.environ.pop(ENDS, None)
    return _run(*pytest, *ALONE, *told)


def _start(program: str, *options: str) -> subprocess.Popen[str]:
    command = (str(BIN / program), *options)
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def _run(*command: str) -> int:
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def _begin_step(name: str) -> float:
    print(f"== {name}", flush=True)
    return time.monotonic()


def _report_failure(name: str, status: int) -> int:
    print(f"== {name} failed (status {status})", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
