"""Measure in which CPU time the wrong plans are named: `python -m integrations.check.table CHECKER`.

CHECKER is the program made of memplan_check.c. Each plan is a table, and where a reader knows the system, what that
would have printed, in tests/dumps/wrong. A plan that is not named ends the run with an error.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

from integrations.tables import record

HERE = Path(__file__).parent
PRINTS = HERE.parents[1] / "tests" / "dumps" / "wrong"


def named_s(*command: str) -> float:
    """Return the least CPU seconds of three runs of a command that must find its plan wrong: exit status 3."""
    took = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 3:
            raise SystemExit(f"{' '.join(command)}: must name what is wrong: {done.stdout}{done.stderr}")
        took.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(took)


def row(table: Path, checker: str) -> dict[str, object]:
    verify = (str(Path(sys.executable).with_name("memplan")), "verify")
    files = [str(path) for path in sorted(PRINTS.glob(f"{table.stem}.*"))]  # a model stands before its plan
    return {
        "plan": f"`{table.stem}`",
        "`memplan_check`": round(named_s(checker, str(table)), 4),
        "`memplan verify`: its table": round(named_s(*verify, str(table), str(table)), 2),
        "what its system prints": round(named_s(*verify, *files), 2) if files else "no reader",
    }


def main() -> None:
    record(HERE / "table.json", (row(table, sys.argv[1]) for table in sorted((HERE / "wrong").glob("*.csv"))))


if __name__ == "__main__":
    main()
