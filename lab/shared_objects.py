"""Shared objects against all partitions, and on files: proved or how far, never above the ways of others.

`python -m lab.shared_objects 2000` draws so many small problems of bytes and of textures;
`python -m lab.shared_objects FILE ... [--seconds 5]` plans files, a line each.
"""

from __future__ import annotations

import argparse
import time

from memplan import objects, read_problem
from memplan.capabilities.plan.objects import ObjectsOptions
from tests.support.partitions import drawn_objects, least_sum, rows_of


def small(count: int) -> int:
    """Return how many of the drawn problems differ from the best partition, or are not proved."""
    wrong = 0
    for seed in range(count):
        for textures in (False, True):
            problem = drawn_objects(seed, textures=textures)
            found = objects(problem)
            is_right = (found.status, found.total) == ("optimal", least_sum(rows_of(problem), problem.ratio))
            wrong += not is_right or min(found.ways.values(), default=found.total) < found.total
    print(f"{2 * count} small problems: {wrong} wrong")
    return wrong


def main() -> None:
    """Draw problems, or plan files."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="+", help="a number of problems, or files")
    parser.add_argument("--seconds", type=float, default=5.0)
    given = parser.parse_args()
    if given.what[0].isdigit():
        raise SystemExit(bool(small(int(given.what[0]))))
    proved = above = 0
    for path in given.what:
        began, problem = time.perf_counter(), read_problem(path)
        found = objects(problem, options=ObjectsOptions(time_limit_s=given.seconds))
        proved += found.status == "optimal"
        above += found.total > min(found.ways.values())
        spent = time.perf_counter() - began
        best = min(found.ways.values())
        print(
            f"{path}: {len(problem.buffers)} buffers, {found.status}, {found.total}, gap {found.gap or 0:.3%},", end=" "
        )
        print(f"the best way {best / max(1, found.total):.3f}, {spent:.2f} s", flush=True)
    print(f"proved {proved} of {len(given.what)}, above the best way {above}")


if __name__ == "__main__":
    main()
