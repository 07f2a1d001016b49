"""Schedules of the contest's problems: the latency beside the best known one, the bound, the proof and the seconds.

    python -m lab.schedules FOLDER [--share 0.6] [--only 5,13]

FOLDER has `index.json` with the `file` and `best_latency` of each problem. Each has the contest's limit, by its number,
times the share; seconds are of CPU, all in all, and of the search alone on a clock.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from memplan import ScheduleOptions, ScheduleProblem, schedule
from memplan.planner.schedules.simulator import simulate

_LIMITS = ((4, 2.0), (8, 5.0), (12, 15.0), (16, 30.0), (20, 60.0), (24, 120.0))
"""The last problem of each class of the contest, and the seconds that the class has."""


def main() -> None:
    """Print a row for each problem, and how many are above what is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="the part of the contest's limits")
    parser.add_argument("--only", default="", help="numbers of problems, with commas")
    given = parser.parse_args()
    wanted = {int(number) for number in given.only.split(",") if number}
    above = 0
    print(f"{'problem':>8}{'latency':>16}{'of best':>10}{'of bound':>10}{'proof':>12}{'steps':>7}{'CPU s':>8}{'s':>8}")
    for row in json.loads((given.folder / "index.json").read_text()):
        number = int(row["file"].rpartition("-")[2].partition(".")[0])
        if wanted and number not in wanted:
            continue
        limit_s = next(seconds for last, seconds in _LIMITS if number <= last) * given.share
        problem = ScheduleProblem.model_validate(json.loads((given.folder / row["file"]).read_text()))
        cpu, clock = time.process_time(), time.monotonic()
        found = schedule(problem, options=ScheduleOptions(time_limit_s=limit_s))
        cpu, clock = time.process_time() - cpu, time.monotonic() - clock
        violations = simulate(problem.graph, problem.target, found.schedule).violations
        ratio = found.latency / row["best_latency"]
        above += ratio > 1.000001 or bool(violations)
        of_bound = found.latency / found.lower_bound
        proof = found.proof or ("exhausted" if found.is_exhausted else "-")
        shown = f"{found.latency:>16,.1f}{ratio:>10.5f}{of_bound:>10.3f}{proof:>12}{len(found.subgraphs):>7}"
        print(f"{number:>8}{shown}{cpu:>8.2f}{clock:>8.1f}", *violations[:1], flush=True)
    print(f"{above} above the best known latency, or not valid")
    raise SystemExit(1 if above else 0)


if __name__ == "__main__":
    main()
