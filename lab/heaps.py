"""Heaps of at most a half, a quarter and an eighth of the live bytes: `python -m lab.heaps FILE ... [--seconds 3]`."""

from __future__ import annotations

import argparse
import time

from memplan import MemplanError, heaps, read_problem
from memplan.capabilities.plan.heaps import HeapsOptions
from memplan.planner.bounds.lower_bound import live_bytes
from memplan.planner.instance.compile import compile_problem


def main() -> None:
    """Plan files in heaps of three sizes, a line each, and count those whose number of heaps is proved."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+")
    parser.add_argument("--seconds", type=float, default=3.0)
    given = parser.parse_args()
    fewest = least = count = 0
    over = []
    for path in given.files:
        problem = read_problem(path)
        live = max((load for _, load in live_bytes(compile_problem(problem))), default=1)
        for part in (2, 4, 8):
            size = -(-max(int(problem.buffers.size.max()), -(-live // part)) // 64) * 64
            began = time.perf_counter()
            try:
                found = heaps(problem, options=HeapsOptions(heap_limit=size, time_limit_s=given.seconds))
            except MemplanError as error:
                print(f"{path} {size}: {error}", flush=True)
                continue
            count += 1
            fewest += len(found.heaps) == found.least_heaps
            least += found.total == found.least_bytes
            over.append(found.total / found.least_bytes)
            spent = time.perf_counter() - began
            print(f"{path} live/{live / size:.2f}: {len(found.heaps)} heaps ({found.least_heaps}),", end=" ")
            print(f"bytes {over[-1]:.4f} of the bound, {spent:.2f} s", flush=True)
    print(f"fewest proved {fewest} of {count}, least bytes {least}, mean {sum(over) / max(1, len(over)):.4f}")


if __name__ == "__main__":
    main()
