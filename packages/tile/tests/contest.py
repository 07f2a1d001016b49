"""Schedules of the contest's problems: the latency beside the best known one, the bound, the proof and the seconds.

    python packages/tile/tests/contest.py FOLDER
        [--share 0.6] [--only 5,13] [--copies 2] [--alignment 64] [--residency several]

FOLDER has `index.json` with the `file` and `best_latency` of each problem. Each has the contest's limit, by its number,
times the share; seconds are of CPU, all in all, and of the search alone on a clock. With another machine (two copies of
a streamed slice, an alignment, residency over several steps), the ratio to the best latency is its price.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from memplan_tile.contest import steps_of
from memplan_tile.simulator import simulate

from memplan import ScheduleOptions, ScheduleProblem, Target, schedule

_LIMITS = ((4, 2.0), (8, 5.0), (12, 15.0), (16, 30.0), (20, 60.0), (24, 120.0))
"""The last problem of each class of the contest, and the seconds that the class has."""


def main() -> None:
    """Print a row for each problem, and how many are above what is known."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--share", type=float, default=1.0, help="the part of the contest's limits")
    parser.add_argument("--only", default="", help="numbers of problems, with commas")
    parser.add_argument("--copies", type=int, default=1, help="the copies of a streamed slice")
    parser.add_argument("--alignment", type=int, default=1, help="the multiple that slots are rounded up to")
    parser.add_argument("--residency", choices=("one", "several"), default="one", help="steps that a tensor may stay")
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
        target = _target(problem.target, given)
        found = schedule(problem, target, options=ScheduleOptions(time_limit_s=limit_s))
        cpu, clock = time.process_time() - cpu, time.monotonic() - clock
        violations = simulate(problem.graph, target, steps_of(found)).violations
        ratio = found.latency / row["best_latency"]
        is_own = target == problem.target
        above += (is_own and ratio > 1.000001) or bool(violations)
        of_bound = found.latency / found.lower_bound
        proof = found.proof or ("exhausted" if found.is_exhausted else "-")
        shown = f"{found.latency:>16,.1f}{ratio:>10.5f}{of_bound:>10.3f}{proof:>12}{len(found.subgraphs):>7}"
        print(f"{number:>8}{shown}{cpu:>8.2f}{clock:>8.1f}", *violations[:1], flush=True)
    print(f"{above} above the best known latency, or not valid")
    raise SystemExit(1 if above else 0)


def _target(target: Target, given: argparse.Namespace) -> Target:
    """Return a machine with the copies, the alignment and the residency that are given."""
    fast, slow = target.memories
    changes = {
        "memories": (fast.model_copy(update={"alignment": given.alignment}), slow),
        "engine": target.engine.model_copy(update={"copies": given.copies}),
        "residency": "one step" if given.residency == "one" else "several steps",
    }
    return target.model_copy(update=changes)


if __name__ == "__main__":
    main()
