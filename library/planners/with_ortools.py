"""OR-Tools by hand: with_ortools.py PROBLEM.csv PLAN.csv CAPACITY SECONDS; exit status 1 where nothing fits."""

import csv
import sys

from ortools.sat.python import cp_model


def main(problem: str, plan: str, capacity: str, seconds: str) -> int:
    """Write the plan with the least peak that CP-SAT finds below the capacity, or below the sum of all sizes."""
    with open(problem, newline="") as file:  # noqa: PTH123
        rows = list(csv.DictReader(file))
    sizes, steps = [int(row["size"]) for row in rows], [int(row.get("alignment") or 1) for row in rows]
    high = int(capacity) if capacity else sum(sizes) + sum(steps)
    model = cp_model.CpModel()
    peak = model.new_int_var(0, high, "peak")
    spans, places, offsets = [], [], []
    for k, (row, size, step) in enumerate(zip(rows, sizes, steps, strict=True)):
        if size > high:
            return 1
        times = int(row["lower"]), int(row["upper"])
        at = model.new_int_var(0, (high - size) // step, f"at{k}")
        offsets.append(at)
        model.add(at * step + size <= peak)
        spans.append(model.new_fixed_size_interval_var(times[0], times[1] - times[0], f"time{k}"))
        places.append(model.new_interval_var(at * step, size, at * step + size, f"bytes{k}"))
    model.add_no_overlap_2d(spans, places)
    model.minimize(peak)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = float(seconds)
    solver.parameters.num_workers = 2
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return 1 if status == cp_model.INFEASIBLE else 0
    with open(plan, "w", newline="") as file:  # noqa: PTH123
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["id", "offset"])
        table.writerows(
            (row["id"], solver.value(at) * step) for row, at, step in zip(rows, offsets, steps, strict=True)
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
