"""What is kept of original planners: `python -m integrations.planners.record inputs`, PLANNER OFFSETS, or compare.

`inputs` prints the inputs that the programs beside this read, a line each. With the lines that one of them printed, in
the file OFFSETS, PLANNER's hashes are written into extensions/systems/tests/runtime_planners.json, which tests hold the
reference planners against. `compare NAME=PROGRAM...` runs programs made of planners.cpp twice, on plans of the system
and on memplan's in its interface, verifies all, and writes table.json.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from pathlib import Path

from integrations.tables import record
from memplan.extensions.systems.tests.planner_inputs import Row, digest, planner_input
from memplan.planner.foreign.imported import plan_of
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify

RECORD = Path(__file__).parents[2] / "packages" / "systems" / "tests" / "runtime_planners.json"
COUNTS = (100, 1000)
COMPARED = 3000


def lines_of(count: int) -> str:
    return "".join(" ".join(f"{a} {b} {c}" for a, b, c in planner_input(seed)) + "\n" for seed in range(count))


def planned(program: str, *name: str) -> tuple[list[list[int]], int]:
    """Return the offsets of all inputs, and the CPU milliseconds that they took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([program, *name], input=lines_of(COMPARED), capture_output=True, text=True, check=True)
    took = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    return [[int(field) for field in line.split()] for line in done.stdout.splitlines()], round(1000 * took)


def peak(rows: list[Row], offsets: list[int]) -> int:
    """Return the peak of a plan; ends the run where it is not valid."""
    buffers = [{"id": k, "size": size, "start": start, "end": end} for k, (size, start, end) in enumerate(rows)]
    problem = Problem.model_validate({"buffers": buffers})
    plan = plan_of(problem, dict(enumerate(offsets)))
    if plan is None or verify(problem, plan):
        raise SystemExit(f"must be a plan of {rows}, got {offsets}")
    return max(offset + row[0] for offset, row in zip(offsets, rows, strict=True))


def compared(name: str, program: str) -> dict[str, object]:
    (theirs, their_ms), (ours, our_ms) = planned(program), planned(program, "memplan")
    inputs = [planner_input(seed) for seed in range(COMPARED)]
    bounds = [max(sum(s for s, a, b in rows if a <= t < b) for _, t, _ in rows) for rows in inputs]
    peaks = [
        (peak(*each), peak(each[0], mine)) for each, mine in zip(zip(inputs, theirs, strict=True), ours, strict=True)
    ]
    return {
        "interface": name,
        "lists": COMPARED,
        "its planner": sum(a for a, _ in peaks),
        "its own at the bound": sum(a == bound for (a, _), bound in zip(peaks, bounds, strict=True)),
        "memplan": sum(b for _, b in peaks),
        "memplan at the bound": sum(b == bound for (_, b), bound in zip(peaks, bounds, strict=True)),
        "above its planner": sum(b > a for a, b in peaks),
        "bound": sum(bounds),
        "CPU ms of all: its own": their_ms,
        "memplan's": our_ms,
    }


def main() -> None:
    if sys.argv[1:] == ["inputs"]:
        print(lines_of(COUNTS[-1]), end="")
        return
    if sys.argv[1] == "compare":
        record(Path(__file__).with_name("table.json"), (compared(*each.split("=", 1)) for each in sys.argv[2:]))
        return
    planner, path = sys.argv[1:]
    answers = [[int(field) for field in line.split()] for line in Path(path).read_text().splitlines()]
    recorded = json.loads(RECORD.read_text())
    recorded[planner] = {str(count): digest(answers[:count]) for count in COUNTS}
    RECORD.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
