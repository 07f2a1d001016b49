"""`python -m integrations.planners.record inputs`, or `... record PLANNER OFFSETS`: what is kept of original planners.

`inputs` prints the 1,000 inputs that the programs beside this read, a line each. With the lines that one of them
printed, in the file OFFSETS, PLANNER's hashes are written into tests/solvers/reference/runtime_planners.json, which
tests hold the reference planners against.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from tests.support.planner_inputs import digest, planner_input

RECORD = Path(__file__).parents[2] / "tests" / "solvers" / "reference" / "runtime_planners.json"
COUNTS = (100, 1000)


def main() -> None:
    if sys.argv[1:] == ["inputs"]:
        for seed in range(COUNTS[-1]):
            print(" ".join(f"{size} {start} {end}" for size, start, end in planner_input(seed)))
        return
    planner, path = sys.argv[1:]
    answers = [[int(field) for field in line.split()] for line in Path(path).read_text().splitlines()]
    recorded = json.loads(RECORD.read_text())
    recorded[planner] = {str(count): digest(answers[:count]) for count in COUNTS}
    RECORD.write_text(json.dumps(recorded, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
