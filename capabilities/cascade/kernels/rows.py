"""What only stripes of whole rows have: outputs beside the others, and outputs that grow into dying inputs."""

from __future__ import annotations

from memplan.capabilities.cascade.kernels.access import SUM, Access, Ranges, end_made, read_by, rounded
from memplan.solvers.kernels.tables import step


@step
def make_beside(access: Access, ranges: Ranges, j: int, v: int, steps: int) -> int:
    """Write the ranges of what nothing in the region reads; return the most rows that are made in a step.

    Each step makes all that others have read the rows for; where nothing else reads them, as much as of the last one.
    """
    size, slot, is_bound = access.size[access.out[v], 0], j - 1 - v, False
    for y in range(steps):
        ranges.end[slot, y] = size
    for edge in range(access.edge_first[v], access.edge_first[v + 1]):
        if read_by(access, ranges, j, access.source[edge], v + 1, 0, steps) < 0:
            continue
        is_bound, most, top = True, 0, 0
        for y in range(steps):
            most = max(most, ranges.high[y])
        for y in range(steps):
            top = max(top, max(ranges.high[y], min(max(ranges.up[y] // ranges.parts[0], 0), most)))
            ranges.end[slot, y] = min(ranges.end[slot, y], end_made(access, edge, 0, top))
    total, runs, capacity, before = 0, 0, 0, 0
    driver = ranges.end[0, steps - 1]
    for y in range(steps):
        if not is_bound:
            ranges.end[slot, y] = size * ranges.end[0, y] // driver
        if y == steps - 1:
            ranges.end[slot, y] = size
        ranges.first[slot, y], ranges.reach[slot, y] = before, ranges.end[slot, y] * ranges.parts[0]
        made = ranges.end[slot, y] - before
        capacity, total, before = max(capacity, made), total + made, ranges.end[slot, y]
        if made > 0:
            runs += 1
    ranges.total[slot], ranges.runs[slot] = total, runs
    return int(capacity)


@step
def saved_by_sliding(access: Access, ranges: Ranges, j: int, first: int, steps: int) -> int:
    """Return the most bytes saved where the output grows into the rows of an input that nothing needs any more."""
    sink = access.out[j - 1]
    if access.role[j - 1] == SUM or access.is_streamed[sink] == 1:
        return 0
    out_row, best = access.size[sink, 1] * access.pixel[sink], 0
    for edge in range(access.edge_first[first], access.edge_first[j]):
        tensor = access.source[edge]
        if access.maker[tensor] >= first or access.last[tensor] >= j or access.last[tensor] != access.reader[edge]:
            continue
        if access.is_streamed[tensor] == 1 and access.reader[access.reading[access.reader_first[tensor]]] >= first:
            continue
        read_by(access, ranges, j, tensor, first, 0, steps)
        row, size = access.size[tensor, 1] * access.pixel[tensor], access.size[tensor, 0]
        low, down = size, 0
        for back in range(steps):
            y = steps - 1 - back
            low = min(low, ranges.low[y])
            down = max(down, ranges.end[0, y] * out_row - low * row)
        down = rounded(down, access.alignment)
        union = max(down + access.whole[tensor], access.whole[sink])
        best = max(best, access.whole[tensor] + access.whole[sink] - union)
    return best
