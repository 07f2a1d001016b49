"""What a plan of millions of buffers takes: `python -m lab.many_buffers [--buffers 10000000] [--seconds 300]`.

The file is written piece by piece: about 200 buffers are alive at a time, and sizes are lognormal, as in the generated
family `random`. Then `memplan plan` reads it, in a process of its own. Printed are the plan's status, its peak above
the bound, the time, the CPU time and the largest memory of that process.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

PIECE = 100_000
LIVE, SIGMA = 200, 0.7


def write_problem(file: Path, buffers: int, seed: int) -> None:
    """Write a table of so many buffers, a piece at a time."""
    rng, now = np.random.default_rng(seed), 0
    with file.open("w") as out:
        out.write("id,lower,upper,size\n")
        for first in range(0, buffers, PIECE):
            n = min(PIECE, buffers - first)
            start = now + np.cumsum(rng.random(n) < 0.5)
            end = start + rng.geometric(2 / LIVE, n)
            size = np.maximum(1, rng.lognormal(10, SIGMA, n).astype(np.int64))
            now = int(start[-1])
            rows = np.column_stack((np.arange(first, first + n), start, end, size)).tolist()
            out.writelines(f"{i},{lower},{upper},{bytes_}\n" for i, lower, upper, bytes_ in rows)


def main() -> None:
    """Write the file, plan it, and print what that took."""
    parser = argparse.ArgumentParser(description="What a plan of millions of buffers from a file takes.")
    parser.add_argument("--buffers", type=int, default=10_000_000)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        file, plan = Path(folder, "problem.csv"), Path(folder, "plan.json")
        write_problem(file, given.buffers, given.seed)
        asked = ["plan", str(file), "-o", str(plan), "--time-limit", str(given.seconds)]
        began = time.monotonic()
        command = [sys.executable, "-m", "memplan.api.cli.main", *asked]
        done = subprocess.run(command, check=False)
        wall_s, used = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu_s, memory = used.ru_utime + used.ru_stime, used.ru_maxrss * 1024
        print(f"exit {done.returncode}, {wall_s:.0f} s, {cpu_s:.0f} s of CPU, {memory / 2**30:.2f} GiB at most")
        with plan.open() as written:
            head = written.read(1000)
        print(head[: head.index('"placements"')])


if __name__ == "__main__":
    main()
