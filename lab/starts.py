"""Count what each start of memplan takes: python -m lab.starts [--record].

Counted are millions of instructions in user space, by valgrind's callgrind, which no load of the machine changes, and
the modules that are imported. Modules are compiled before, as an installation does it. What is on record is
`starts.csv`: the most that `tests/api/cli/test_starts.py` allows, and what was counted last.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = Path(__file__).with_suffix(".csv")
_MODEL = "examples/mobilenet_v2.csv"
_READ_AND_SOLVE = f"import memplan; memplan.solve(memplan.read_problem({_MODEL!r}))"
STARTS: Mapping[str, Sequence[str]] = {
    "plan": ("-m", "memplan", "plan", _MODEL, "-q"),
    "list": ("-m", "memplan", "--help"),
    "help": ("-m", "memplan", "plan", "--help"),
    "version": ("-m", "memplan", "--version"),
    "script": ("-c", _READ_AND_SOLVE),
}
"""What is started, by the arguments of Python."""
COUNTER = shutil.which("valgrind")


def environment(compiled: Path) -> dict[str, str]:
    """Return an environment in which what is imported is compiled once, into a folder."""
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return kept | {"PYTHONPYCACHEPREFIX": str(compiled), "PYDANTIC_DISABLE_PLUGINS": "__all__"}


def modules(name: str, compiled: Path) -> int:
    """Return how many modules a start imports."""
    done = _run([sys.executable, "-X", "importtime", *STARTS[name]], compiled)
    return done.stderr.count("import time:") - 1  # the head of the table


def instructions(name: str, compiled: Path) -> int:
    """Return the millions of instructions of a start whose modules are compiled."""
    assert COUNTER is not None
    command = [COUNTER, "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, *STARTS[name]]
    found = re.search(r"Collected : (\d+)", _run(command, compiled).stderr)
    assert found is not None
    return round(int(found[1]) / 1e6)


def recorded() -> dict[str, dict[str, int]]:
    """Return the rows on record by name: at `most` and last counted `millions` of instructions, and `modules`."""
    with TABLE.open(newline="") as table:
        return {row.pop("start"): {name: int(text) for name, text in row.items()} for row in csv.DictReader(table)}


def _run(command: Sequence[str], compiled: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, env=environment(compiled), capture_output=True, text=True, check=True)


def main() -> int:
    """Print what is counted beside what is on record, or record it."""
    from tempfile import TemporaryDirectory

    rows = recorded()
    with TemporaryDirectory() as folder:
        for name in STARTS:
            n_modules, millions = modules(name, Path(folder)), instructions(name, Path(folder)) if COUNTER else 0
            print(f"{name}: {millions} million instructions, {n_modules} modules; on record {rows.get(name)}")
            rows[name] = {"most": rows[name]["most"], "millions": millions, "modules": n_modules}
    if "--record" in sys.argv:
        with TABLE.open("w", newline="") as table:
            written = csv.writer(table, lineterminator="\n")
            written.writerow(["start", "most", "millions", "modules"])
            written.writerows([name, *row.values()] for name, row in rows.items())
    return 0


if __name__ == "__main__":
    sys.exit(main())
