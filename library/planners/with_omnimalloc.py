"""omnimalloc: with_omnimalloc.py PROBLEM.csv PLAN.csv SECONDS [supermalloc]; sizes are rounded up to alignments."""

import csv
import math
import sys

from omnimalloc import Allocation, allocate
from omnimalloc.allocators import OmniAllocator, SupermallocAllocator


def main(problem: str, plan: str, seconds: str, which: str = "omni") -> None:
    """Write the plan of omnimalloc's greedy portfolio, or of its branch and bound."""
    with open(problem, newline="") as file:  # noqa: PTH123
        rows = list(csv.DictReader(file))
    step = math.lcm(*(int(row.get("alignment") or 1) for row in rows))
    first = min(int(row["lower"]) for row in rows)
    wanted = [
        Allocation(k, -(-int(row["size"]) // step) * step, int(row["lower"]) - first, int(row["upper"]) - first)
        for k, row in enumerate(rows)
    ]
    planner = OmniAllocator() if which == "omni" else SupermallocAllocator(timeout=float(seconds), num_threads=6)
    offsets = {int(placed.id): placed.offset for placed in allocate(wanted, planner)}
    with open(plan, "w", newline="") as file:  # noqa: PTH123
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["id", "offset"])
        table.writerows((row["id"], offsets[k]) for k, row in enumerate(rows))


if __name__ == "__main__":
    main(*sys.argv[1:])
