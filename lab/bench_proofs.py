"""Up to which size engines prove: `python -m lab.bench_proofs RESULTS [--limit S] [SUITE ...]`.

`{n}` in a suite stands for each of the sizes. Prints a table: how many problems of a size each solver proved, and the
median of the CPU times (a problem that it did not prove counts as infinite). What RESULTS holds is not run again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path
from statistics import median

from memplan.api.bench.results import Result, appending, write_result
from memplan.api.bench.running import jobs, run, still_to_do
from memplan.api.bench.suites import instances

SIZES = (15, 20, 30, 40, 60, 80)
SOLVERS = ("cbc", "highs", "cp-sat")
SUITES = ("perfect:n={n},kind=guillotine", "perfect:n={n},kind=pinwheel", "tight:n={n},seeds=3")
"""Full rectangles, whose optimum is known, and pools that are full at every time, whose optimum is often higher."""
_MEMORY_LIMIT = 4 << 30


def members(suites: Iterable[str], n: int) -> list[str]:
    """Return the instances of the suites at one size."""
    return [name for suite in suites for name in instances(suite.replace("{n}", str(n)))]


def cell(results: Sequence[Result]) -> str:
    """Return "proved/tried, median CPU seconds" of some runs."""
    times = [row.cpu_time_s or 0.0 for row in results if row.status == "optimal"]
    middle = median(times + [inf] * (len(results) - len(times))) if results else inf
    return f"{len(times)}/{len(results)}, {middle:.2f}" if middle < inf else f"{len(times)}/{len(results)}"


def table(
    results: Iterable[Result], suites: Iterable[str], solvers: Iterable[str], sizes: Sequence[int], limit_s: float
) -> str:
    """Return the table: a row a solver, a column a size."""
    rows = [row for row in results if row.time_limit_s == limit_s]
    lines = [f"{'':<12}" + "".join(f"{f'n = {n}':>14}" for n in sizes)]
    selected = {n: set(members(suites, n)) for n in sizes}
    for solver in solvers:
        cells = [cell([row for row in rows if row.solver == solver and row.instance in selected[n]]) for n in sizes]
        lines.append(f"{solver:<12}" + "".join(f"{text:>14}" for text in cells))
    return "\n".join(lines)


def main() -> None:
    """Run what has no row yet, one after the other, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m lab.bench_proofs", description=__doc__)
    parser.add_argument("results", type=Path, metavar="RESULTS")
    parser.add_argument("suites", nargs="*", metavar="SUITE", default=SUITES)
    parser.add_argument("--limit", type=float, default=60.0, metavar="S")
    parser.add_argument("--solvers", default=",".join(SOLVERS))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    selected = parser.parse_intermixed_args()
    solvers, sizes = selected.solvers.split(","), [int(n) for n in selected.sizes.split(",")]
    names = [name for n in sizes for name in members(selected.suites, n)]
    with appending(selected.results) as (results, file), ThreadPoolExecutor(1) as executor:
        wanted = jobs(names, solvers, [1], selected.limit, _MEMORY_LIMIT)
        for result in run(still_to_do(wanted, results), executor):
            write_result(file, result)
            results.append(result)
    sys.stdout.write(table(results, selected.suites, solvers, sizes, selected.limit) + "\n")


if __name__ == "__main__":
    main()
