"""The tables of kernels: a graph with access maps, ranges of rows or columns step by step, and the regions found."""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.tables import Rows, step

ROLL, RECOMPUTE, FULL = range(3)
NEVER = 1 << 60
FARTHEST = 1 << 40
"""As far as ranges are followed beyond borders; further ones are cut, so that no product overflows."""
STRIPED, SUM, BARRIER = range(3)
SCALE, DIVISOR, LOW, HIGH, USED_FIRST, USED_END = range(6)
N_WINDOW = 6
FOUND_FROM, FOUND_TO, FOUND_PEAK, FOUND_MACS, FOUND_TRAFFIC = 0, 1, 2, 3, 4
FOUND_RUNS, FOUND_KIND, FOUND_HEIGHT, FOUND_WIDTH, FOUND_SAVED = 5, 6, 7, 8, 9
N_FOUND = 10
KIND_WHOLE, KIND_ROWS, KIND_TILES, KIND_PANELS, KIND_CHANNELS, KIND_THIN, KIND_PIECES, KIND_AGAIN = range(8)
"""`KIND_THIN` are panels in which what one pixel widens is made again, so that the narrow tensor before it rolls.

`KIND_PIECES` are rows that are made piece by piece: rows roll, and columns inside each of them. In `KIND_AGAIN` each
step makes all rows that it reads, where in `KIND_ROWS` they roll.
"""
COUNT, LOST, EVALUATED = range(3)


class Access(NamedTuple):
    """A graph: operations in order, tensors, and an edge for each tensor that an operation reads.

    The edges are sorted by operation. Bytes are rounded up to the alignment where they are those of a buffer.
    """

    role: I64  # (ops,): STRIPED, SUM or BARRIER
    out: I64  # (ops,): the tensor that it makes
    macs: I64  # (ops,): for a pixel of the output; for all of it where it is not striped
    weights: I64  # (ops,)
    sums: I64  # (ops,): bytes of a sum while it is accumulated, rounded
    edge_first: I64  # (ops + 1,)
    source: I64  # (edges,): the tensor read
    reader: I64  # (edges,): the operation that reads
    window: Rows  # (edges, 12): scale, divisor, low, high, first and end that read anything, of rows and of columns
    size: Rows  # (tensors, 2): rows, columns
    pixel: I64  # (tensors,)
    whole: I64  # (tensors,): bytes of the tensor, rounded
    maker: I64  # (tensors,): -1 for an input
    last: I64  # (tensors,): the last reader; the number of operations for a kept one
    is_streamed: I64  # (tensors,): 1 for an input that is delivered, or an output that is taken, in pieces
    reader_first: I64  # (tensors + 1,)
    reading: I64  # (edges,): for each tensor the edges that read it, ascending
    live: I64  # (ops + 1,): bytes of tensors made before, with a use at or behind
    alignment: int


class Ranges(NamedTuple):
    """Ranges in every step, a slot for each; (0, 0) or an empty range where nothing is made."""

    first: Rows  # (slots, steps)
    end: Rows  # (slots, steps)
    reach: Rows  # (slots, steps): how far the end would be without borders, in parts of a row
    total: I64  # (slots,): of the lengths
    runs: I64  # (slots,): the steps in which something is made
    low: I64  # (steps,): scratch
    high: I64  # (steps,)
    up: I64  # (steps,)
    parts: I64  # (1,): the parts of a row in which reaches are counted


@step
def rounded(bytes_: int, alignment: int) -> int:
    """Round bytes up to the alignment."""
    return (bytes_ + alignment - 1) // alignment * alignment


@step
def first_read(access: Access, edge: int, axis: int, first: int) -> int:
    """Return where the range begins that an output from `first` reads, cut to the input."""
    at = N_WINDOW * axis
    window = access.window
    first = max(first, window[edge, at + USED_FIRST])
    a = (first * window[edge, at + SCALE] + window[edge, at + LOW]) // window[edge, at + DIVISOR]
    return int(min(max(a, 0), access.size[access.source[edge], axis]))


@step
def end_read(access: Access, edge: int, axis: int, end: int) -> int:
    """Return where the range ends that an output up to `end` reads, cut to the input."""
    at = N_WINDOW * axis
    window = access.window
    end = min(end, window[edge, at + USED_END])
    b = ((end - 1) * window[edge, at + SCALE] + window[edge, at + HIGH]) // window[edge, at + DIVISOR] + 1
    return int(min(max(b, 0), access.size[access.source[edge], axis]))


@step
def end_made(access: Access, edge: int, axis: int, read: int) -> int:
    """Return the most rows of an output that read no more than the first `read` rows of a tensor."""
    at = N_WINDOW * axis
    scale, size = access.window[edge, at + SCALE], access.size[access.out[access.reader[edge]], axis]
    if scale == 0 or read >= access.size[access.source[edge], axis]:
        return int(size)
    end = (read * access.window[edge, at + DIVISOR] - 1 - access.window[edge, at + HIGH]) // scale + 1
    return int(min(max(end, 0), size))


@step
def count_made(ranges: Ranges, slot: int, steps: int) -> None:
    """Write how much the ranges of a slot make in all, and in how many steps they make anything."""
    total, runs = 0, 0
    for y in range(steps):
        made = ranges.end[slot, y] - ranges.first[slot, y]
        total += made
        if made > 0:
            runs += 1
    ranges.total[slot], ranges.runs[slot] = total, runs


@step
def cut_in_steps(ranges: Ranges, slot: int, size: int, stride: int, warm_up: int, steps: int) -> None:
    """Write the ranges of what drives a region: `stride` more in each step, none in the steps of the warm-up.

    A stride of -n is a part of n of one row.
    """
    parts = max(1, -stride)
    stride, ranges.parts[0] = max(1, stride), parts
    for y in range(steps):
        up = (y - warm_up + 1) * stride
        ranges.first[slot, y] = min(max((up - stride) // parts, 0), size)
        ranges.end[slot, y], ranges.reach[slot, y] = min(max(up // parts, 0), size), min(up, size * parts)
    count_made(ranges, slot, steps)


@step
def start_need(ranges: Ranges, steps: int) -> None:
    """Begin the hull of what is read of a tensor in each step: nothing."""
    for y in range(steps):
        ranges.low[y], ranges.high[y], ranges.up[y] = NEVER, -1, -NEVER


@step
def add_need(access: Access, ranges: Ranges, edge: int, slot: int, axis: int, steps: int) -> None:
    """Add the reads of one edge, whose operation makes the ranges of a slot."""
    is_sum, parts, at = access.role[access.reader[edge]] == SUM, ranges.parts[0], N_WINDOW * axis
    scale, divisor = access.window[edge, at + SCALE], access.window[edge, at + DIVISOR]
    high = access.window[edge, at + HIGH] * parts
    for y in range(steps):
        a, b, c = ranges.first[slot, y], ranges.end[slot, y], ranges.reach[slot, y]
        if not is_sum:
            c = ((c - parts) * scale + high) // divisor + parts
            if b > a:
                a, b = first_read(access, edge, axis, a), end_read(access, edge, axis, b)
        if b > a:
            ranges.low[y], ranges.high[y] = min(ranges.low[y], a), max(ranges.high[y], b)
        ranges.up[y] = max(ranges.up[y], min(max(c, -FARTHEST), FARTHEST))


@step
def read_by(access: Access, ranges: Ranges, j: int, tensor: int, first: int, axis: int, steps: int) -> int:
    """Write what the operations [first, j) read of a tensor in each step; return the last of them, -1 for none.

    Operation j - 1 - k makes the ranges of slot k.
    """
    start_need(ranges, steps)
    latest = -1
    for k in range(access.reader_first[tensor], access.reader_first[tensor + 1]):
        edge = access.reading[k]
        reader = access.reader[edge]
        if first <= reader < j:
            add_need(access, ranges, edge, j - 1 - reader, axis, steps)
            latest = max(latest, reader)
    return latest


@step
def make(ranges: Ranges, slot: int, mode: int, size: int, steps: int) -> int:
    """Write the ranges of a tensor that is needed as `low`, `high` and `up` say; return its capacity in rows.

    The capacity is negative for a buffer that keeps something from one step to the next.
    """
    low, high, up = ranges.low, ranges.high, ranges.up
    capacity, is_kept = 0, False
    if mode == RECOMPUTE:
        for y in range(steps):
            a, b = (low[y], high[y]) if high[y] > low[y] else (0, 0)
            ranges.first[slot, y], ranges.end[slot, y], ranges.reach[slot, y] = a, b, up[y]
            capacity = max(capacity, b - a)
    else:
        # 1. As far as it is made after each step.
        most, top = 0, 0
        for y in range(steps):
            most = max(most, high[y])
        for y in range(steps):
            top = max(top, max(high[y], min(max(up[y] // ranges.parts[0], 0), most)))
            ranges.end[slot, y] = top
            ranges.reach[slot, y] = up[y]
        if mode == FULL:
            ranges.end[slot, steps - 1] = size
        # 2. From where it is needed, now or later; rows that nothing reads are not made.
        needed = NEVER
        for back in range(steps):
            y = steps - 1 - back
            before = ranges.end[slot, y - 1] if y > 0 else 0
            if y + 1 < steps and needed < NEVER and ranges.end[slot, y] > needed:
                is_kept = True
            needed = min(needed, low[y])
            b = ranges.end[slot, y]
            ranges.first[slot, y] = before if mode == FULL else min(max(before, needed), b)
            if needed < NEVER:
                capacity = max(capacity, b - needed)
        if mode == FULL:
            capacity, is_kept = size, True
    count_made(ranges, slot, steps)
    return -capacity if is_kept else capacity


@step
def make_all(ranges: Ranges, slot: int, size: int) -> int:
    """Write the range of a tensor that is made in one step; return its capacity."""
    ranges.first[slot, 0], ranges.end[slot, 0], ranges.reach[slot, 0] = 0, size, size
    ranges.total[slot], ranges.runs[slot] = size, 1
    return size


@step
def make_whole_again(ranges: Ranges, slot: int, size: int, steps: int) -> None:
    """Write the ranges of a tensor that is recomputed, and that somebody outside wants: all of it is made."""
    top = 0
    for y in range(steps):
        a, b = (ranges.low[y], ranges.high[y]) if ranges.high[y] > ranges.low[y] else (top, top)
        if y + 1 == steps:
            b = size
        if b > top:
            a = min(a, top)
        ranges.first[slot, y], ranges.end[slot, y], ranges.reach[slot, y] = a, b, ranges.up[y]
        top = max(top, b)
    count_made(ranges, slot, steps)


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
    capacity, before = 0, 0
    driver = ranges.end[0, steps - 1]
    for y in range(steps):
        if not is_bound:
            ranges.end[slot, y] = size * ranges.end[0, y] // driver
        if y == steps - 1:
            ranges.end[slot, y] = size
        ranges.first[slot, y], ranges.reach[slot, y] = before, ranges.end[slot, y] * ranges.parts[0]
        capacity, before = max(capacity, ranges.end[slot, y] - before), ranges.end[slot, y]
    count_made(ranges, slot, steps)
    return int(capacity)


@step
def saved_by_sliding(access: Access, ranges: Ranges, slide: I64, j: int, first: int, steps: int) -> int:
    """Return the most bytes saved where the output grows into the rows of an input that nothing needs any more.

    Write that input, and how many bytes below it the output begins.
    """
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
        saved = access.whole[tensor] + access.whole[sink] - max(down + access.whole[tensor], access.whole[sink])
        if saved > best:
            best, slide[0], slide[1] = saved, tensor, down
    return best


@step
def bytes_read(access: Access, ranges: Ranges, edge: int, slot: int, axis: int, steps: int) -> int:
    """Return the rows or columns that the reads of one edge add up to."""
    total = 0
    is_sum = access.role[access.reader[edge]] == SUM
    for y in range(steps):
        a, b = ranges.first[slot, y], ranges.end[slot, y]
        if b > a:
            if is_sum:
                total += b - a
            else:
                total += max(0, end_read(access, edge, axis, b) - first_read(access, edge, axis, a))
    return total
