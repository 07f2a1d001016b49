"""Regions in stripes of whole rows: grown backwards from their last operation, all tensors inside in one mode.

A tensor inside is rolled, or recomputed; it is whole where somebody outside wants it. Each region that is within the
limit of recomputation is offered.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from memplan.capabilities.cascade.kernels import GROUP
from memplan.capabilities.cascade.kernels.access import (
    FULL,
    ROLL,
    STRIPED,
    SUM,
    Access,
    Ranges,
    bytes_read,
    cut_in_steps,
    end_made,
    end_read,
    first_read,
    make,
    read_by,
    rounded,
)
from memplan.capabilities.cascade.kernels.found import COUNT, EVALUATED, KIND_ROWS, write_region, write_shape
from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.tables import Rows, step

KEPT, LEAD, MACS, TRAFFIC, RUNS, INSIDE = range(6)
"""The columns of `cost`: bytes kept over steps, bytes of pieces of inputs, multiplications, traffic, runs, and bytes of
whole tensors."""


class RowSearch(NamedTuple):
    """One last operation `j - 1` with one height of stripes; `l` operations in the longest region.

    A region's operations count from its last one backwards: operation j - 1 - k makes the ranges of slot k.
    """

    j: int
    height: int
    warm_up: int
    steps: int
    longest: int
    mode: int  # ROLL or RECOMPUTE
    slides: bool
    worst: float  # the most multiplications of a region, as a multiple of its own layer by layer
    profile: I64  # (l,): bytes of what lives within a step, while an operation runs
    cost: I64  # (6,), see above
    found: Rows  # (f, 10): the regions offered
    answer: I64  # (3,): regions offered, regions that did not fit, all looked at


@step
def count_work(access: Access, ranges: Ranges, search: RowSearch, v: int) -> None:
    """Add an operation's work to the costs of the region."""
    steps, cost, slot = search.steps, search.cost, search.j - 1 - v
    out = access.out[v]
    traffic = access.weights[v] * ranges.runs[slot]
    if access.role[v] == SUM:
        traffic += access.size[out, 0] * access.size[out, 1] * access.pixel[out]
        cost[MACS] += access.macs[v]
    else:
        row = access.size[out, 1]
        traffic += ranges.total[slot] * row * access.pixel[out]
        cost[MACS] += ranges.total[slot] * row * access.macs[v]
    for edge in range(access.edge_first[v], access.edge_first[v + 1]):
        source = access.source[edge]
        rows = bytes_read(access, ranges, edge, slot, 0, steps)
        columns = access.size[source, 1]
        if access.role[v] != SUM:
            columns = max(0, end_read(access, edge, 1, access.size[out, 1]) - first_read(access, edge, 1, 0))
        traffic += rows * columns * access.pixel[source]
    cost[TRAFFIC] += traffic
    cost[RUNS] += ranges.runs[slot]


@step
def make_beside(access: Access, ranges: Ranges, search: RowSearch, v: int) -> int:
    """Write the ranges of what nothing in the region reads; return the most rows that are made in a step.

    Each step makes all that others have read the rows for; where nothing else reads them, as much as of the last one.
    """
    size, steps, slot, is_bound = access.size[access.out[v], 0], search.steps, search.j - 1 - v, False
    for y in range(steps):
        ranges.end[slot, y] = size
    for edge in range(access.edge_first[v], access.edge_first[v + 1]):
        if read_by(access, ranges, search.j, access.source[edge], v + 1, 0, steps) < 0:
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
def stream_inputs(access: Access, ranges: Ranges, search: RowSearch, v: int) -> None:
    """Let inputs that this region alone reads, from operation v on, come in pieces instead of whole."""
    cost, spare = search.cost, len(ranges.total) - 1
    for edge in range(access.edge_first[v], access.edge_first[v + 1]):
        tensor = access.source[edge]
        is_first = access.reading[access.reader_first[tensor]] == edge
        if access.maker[tensor] >= 0 or access.is_streamed[tensor] == 0 or not is_first:
            continue
        if access.last[tensor] >= search.j:
            continue
        latest = read_by(access, ranges, search.j, tensor, v, 0, search.steps)
        capacity = make(ranges, spare, ROLL, access.size[tensor, 0], search.steps)
        bytes_ = rounded(abs(capacity) * access.size[tensor, 1] * access.pixel[tensor], access.alignment)
        cost[INSIDE] -= access.whole[tensor]
        if capacity < 0:
            cost[KEPT] += bytes_
        else:
            cost[LEAD] += bytes_
            for k in range(search.j - 1 - latest, search.j - v):
                search.profile[k] += bytes_


@step
def saved_by_sliding(access: Access, ranges: Ranges, search: RowSearch, first: int) -> int:
    """Return the most bytes saved where the output grows into the rows of an input that nothing needs any more."""
    j, steps = search.j, search.steps
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


@step
def offer(access: Access, ranges: Ranges, search: RowSearch, v: int) -> None:
    """Write the region [v, j), and its costs, among those found."""
    j, answer, cost = search.j, search.answer, search.cost
    answer[EVALUATED] += 1
    within = 0
    for k in range(j - v):
        within = max(within, search.profile[k])
    peak = access.live[v] + cost[INSIDE] + cost[KEPT] + within
    saved = saved_by_sliding(access, ranges, search, v) if search.slides else 0
    peak -= saved
    if access.role[j - 1] == SUM:
        sink = access.out[j - 1]
        dead = access.whole[sink] if access.last[sink] < j else 0
        peak = max(peak, access.sums[j - 1] + access.live[j] + dead)
    row = write_region(search.found, answer, v, j, peak, cost[MACS], cost[TRAFFIC], cost[RUNS])
    if row >= 0:
        write_shape(search.found, row, KIND_ROWS, search.height, search.mode, saved)


@step
def begin(access: Access, ranges: Ranges, search: RowSearch) -> int:
    """Begin with the last operation alone; return the multiplications it makes layer by layer."""
    v, cost = search.j - 1, search.cost
    sink, is_sum = access.out[v], access.role[v] == SUM
    drives = access.source[access.edge_first[v]] if is_sum else sink
    cut_in_steps(ranges, 0, access.size[drives, 0], search.height, search.warm_up, search.steps)
    for k in range(len(cost)):
        cost[k] = 0
    search.profile[0] = 0
    if is_sum:
        cost[INSIDE] = access.sums[v]
    elif access.is_streamed[sink] == 1:
        piece = min(max(1, search.height), access.size[sink, 0]) * access.size[sink, 1] * access.pixel[sink]
        search.profile[0] = rounded(piece, access.alignment)
    else:
        cost[INSIDE] = access.whole[sink]
    count_work(access, ranges, search, v)
    stream_inputs(access, ranges, search, v)
    return int(access.macs[v] if is_sum else access.macs[v] * access.size[sink, 0] * access.size[sink, 1])


@step
def grow(access: Access, ranges: Ranges, search: RowSearch, v: int) -> None:
    """Let the region grow by operation v."""
    j, cost, tensor = search.j, search.cost, access.out[v]
    k = j - 1 - v
    latest = read_by(access, ranges, j, tensor, v, 0, search.steps)
    if latest < 0:
        capacity = make_beside(access, ranges, search, v)
    else:
        mode = FULL if access.last[tensor] >= j else search.mode
        capacity = make(ranges, k, mode, access.size[tensor, 0], search.steps)
    search.profile[k] = cost[LEAD]
    bytes_ = rounded(abs(capacity) * access.size[tensor, 1] * access.pixel[tensor], access.alignment)
    if access.last[tensor] >= j:
        cost[INSIDE] += access.whole[tensor]
    elif capacity < 0:
        cost[KEPT] += bytes_
    else:
        for i in range(j - 1 - max(latest, v), k + 1):
            search.profile[i] += bytes_
    count_work(access, ranges, search, v)


@partial(Kernel, group=GROUP)
def grow_rows(access: Access, ranges: Ranges, search: RowSearch) -> int:
    """Write the regions in stripes of rows that end with operation j - 1; return their number."""
    j = search.j
    base = begin(access, ranges, search)
    offer(access, ranges, search, j - 1)
    for v in range(j - 2, max(-1, j - 1 - search.longest), -1):
        # The operation must lead into the region, and run in parts.
        if access.role[v] != STRIPED:
            break
        tensor, first = access.out[v], access.reader_first[access.out[v]]
        # What only others read later would be whole; an output that nothing reads may be made beside the rest.
        if first < access.reader_first[tensor + 1] and access.reader[access.reading[first]] >= j:
            break
        base += access.macs[v] * access.size[tensor, 0] * access.size[tensor, 1]
        grow(access, ranges, search, v)
        if search.cost[MACS] > int(search.worst * base) + 1:
            break
        stream_inputs(access, ranges, search, v)
        offer(access, ranges, search, v)
    return int(search.answer[COUNT])
