"""The table of regions that a search found: its columns, kinds of regions, and the counters of the search."""

from __future__ import annotations

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.tables import Rows, step

FOUND_FROM, FOUND_TO, FOUND_PEAK, FOUND_MACS, FOUND_TRAFFIC = 0, 1, 2, 3, 4
FOUND_RUNS, FOUND_KIND, FOUND_HEIGHT, FOUND_WIDTH, FOUND_SAVED = 5, 6, 7, 8, 9
N_FOUND = 10
KIND_WHOLE, KIND_ROWS, KIND_TILES, KIND_PANELS, KIND_CHANNELS, KIND_THIN, KIND_PIECES, KIND_AGAIN = range(8)
"""`KIND_THIN` are panels in which what one pixel widens is made again, so that the narrow tensor before it rolls.

`KIND_PIECES` are rows that are made piece by piece: rows roll, and columns inside each of them. In `KIND_AGAIN` each
step makes all rows that it reads, where in `KIND_ROWS` they roll.
"""
COUNT, LOST, EVALUATED = range(3)


@step
def write_region(found: Rows, answer: I64, v: int, j: int, peak: int, macs: int, traffic: int, runs: int) -> int:
    """Write the region [v, j) and its costs behind those found; return its row, -1 where there is no room for it."""
    row: int = answer[COUNT]
    if row == len(found):
        answer[LOST] += 1
        return -1
    answer[COUNT] += 1
    found[row, FOUND_FROM], found[row, FOUND_TO], found[row, FOUND_PEAK] = v, j, peak
    found[row, FOUND_MACS], found[row, FOUND_TRAFFIC], found[row, FOUND_RUNS] = macs, traffic, runs
    return row


@step
def write_shape(found: Rows, row: int, kind: int, height: int, width: int, saved: int) -> None:
    """Write how a region is cut: the height and the width of its parts, and the bytes saved by sliding."""
    found[row, FOUND_KIND], found[row, FOUND_SAVED] = kind, saved
    found[row, FOUND_HEIGHT], found[row, FOUND_WIDTH] = height, width
