"""Print the CPU seconds needed to start memplan in several ways (median of seven runs): python -m lab.starts."""

import resource
import subprocess
import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
_MODEL = "examples/mobilenet_v2.csv"
STARTS = {
    "plan": ("-m", "memplan", "plan", _MODEL, "-q"),
    "list": ("-m", "memplan", "--help"),
    "help": ("-m", "memplan", "plan", "--help"),
    "version": ("-m", "memplan", "--version"),
    "script": ("-c", f"import memplan; memplan.solve(memplan.read_problem({_MODEL!r}))"),
}
"""Maps the name of each measured command to its arguments for the Python interpreter."""


def cpu_s(name: str) -> float:
    """Run one of `STARTS` in a new process; return its user and system CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *STARTS[name]], cwd=ROOT, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print one line for each command: its name and its median CPU seconds."""
    for name in STARTS:
        print(f"{name:8} {median(cpu_s(name) for _ in range(7)):.2f} s of CPU")


if __name__ == "__main__":
    main()
