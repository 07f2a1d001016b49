"""Audit the plans of another system's planner: `python -m lab.audit_planner FOLDER [PLANNER]`.

FOLDER holds problems in CSV, such as the buffers that ExecuTorch plans of its models; PLANNER is a reference planner,
by default `executorch-greedy`. A row for each problem, as docs/audit.md has them: buffers, the planner's peak, the best
one, bytes too much, buffers that end above the best peak, the fewest moves to it, if the best peak is proved, and
seconds of CPU; then sums.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from memplan import Problem, read_problem, solve
from memplan.capabilities.verify.better import beside_best

_LIMIT_S = 20.0


def main(folder: str, planner: str) -> int:
    """Print the table."""
    worse = proved = 0
    for file in sorted(Path(folder).glob("*.csv")):
        problem = Problem.model_validate({"buffers": list(read_problem(file).buffers)})
        plan, before = solve(problem, solver=f"reference:{planner}"), time.process_time()
        found = beside_best(problem, plan, time_limit_s=_LIMIT_S)
        seconds, moves = time.process_time() - before, found.fewest_moves
        above = sum(len(pool.above_line) for pool in found.pools)
        worse += bool(found.too_much_bytes)
        proved += moves is None or moves.proved
        known = "" if moves is None or moves.proved else f" (at least {moves.at_least})"
        sizes = " | ".join(f"{value or 0:,}" for value in (found.peak, found.best, found.too_much_bytes, above))
        best = "proved" if found.best == found.lower_bound else "open"
        sys.stdout.write(
            f"| {file.stem} | {len(problem.buffers)} | {sizes} | {moves.count if moves else 0}{known} |"
            f"{best}, {seconds:.2f} s\n"
        )
        sys.stdout.flush()
    sys.stdout.write(f"{worse} take too much; the fewest moves of {proved} are proved\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "executorch-greedy"))
