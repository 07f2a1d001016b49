"""The states of the search for regions in stripes of rows: what one costs, and what is offered of it."""

from __future__ import annotations

from typing import NamedTuple

from memplan.capabilities.cascade.kernels.access import (
    ROLL,
    SUM,
    Access,
    Ranges,
    add_need,
    bytes_read,
    end_made,
    end_read,
    first_read,
    make,
    rounded,
    start_need,
)
from memplan.capabilities.cascade.kernels.found import EVALUATED, KIND_ROWS, write_region, write_shape
from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.tables import Rows, step

KEPT, LEAD, MACS, TRAFFIC, RUNS, MASK, INSIDE, IS_ROLLED = range(8)


class RowSearch(NamedTuple):
    """One last operation `j - 1` with one height of stripes, and the states: a beam of them, then candidates.

    `b` states are in the beam, `l` operations in the longest region, `m` modes tried. A region's operations count from
    its last one backwards: `slot` and `profile` have operation j - 1 - k at k.
    """

    j: int
    height: int
    warm_up: int
    steps: int
    longest: int
    can_roll: bool
    can_recompute: bool
    slides: bool
    worst: float  # the most multiplications of a region, as a multiple of its own layer by layer
    slot: Rows  # (3b, l): the ranges that an operation makes
    profile: Rows  # (3b, l): bytes of what lives within a step, while an operation runs
    state: (
        Rows  # (3b, 8): bytes kept over steps, of pieces of inputs, macs, traffic, runs, mask, bytes of whole tensors
    )
    worth: Rows  # (2b, 4): what states are compared by
    ranked: I64  # (2b,): scratch
    found: Rows  # (f, 10): the regions offered
    answer: I64  # (4,): regions offered, states that did not fit into the beam, regions that did not fit, all looked at


@step
def count_work(access: Access, ranges: Ranges, search: RowSearch, at: int, v: int, slot: int) -> None:
    """Add an operation's work for the ranges of a slot to a state."""
    steps, state = search.steps, search.state
    out = access.out[v]
    traffic = access.weights[v] * ranges.runs[slot]
    if access.role[v] == SUM:
        traffic += access.size[out, 0] * access.size[out, 1] * access.pixel[out]
        state[at, MACS] += access.macs[v]
    else:
        row = access.size[out, 1]
        traffic += ranges.total[slot] * row * access.pixel[out]
        state[at, MACS] += ranges.total[slot] * row * access.macs[v]
    for edge in range(access.edge_first[v], access.edge_first[v + 1]):
        source = access.source[edge]
        rows = bytes_read(access, ranges, edge, slot, 0, steps)
        columns = access.size[source, 1]
        if access.role[v] != SUM:
            columns = max(0, end_read(access, edge, 1, access.size[out, 1]) - first_read(access, edge, 1, 0))
        traffic += rows * columns * access.pixel[source]
    state[at, TRAFFIC] += traffic
    state[at, RUNS] += ranges.runs[slot]


@step
def need_of(access: Access, ranges: Ranges, search: RowSearch, at: int, tensor: int, first: int) -> int:
    """Write what the operations [first, j) of a state read of a tensor in each step; return the last of them."""
    start_need(ranges, search.steps)
    latest = -1
    for k in range(access.reader_first[tensor], access.reader_first[tensor + 1]):
        edge = access.reading[k]
        reader = access.reader[edge]
        if first <= reader < search.j:
            add_need(access, ranges, edge, search.slot[at, search.j - 1 - reader], 0, search.steps)
            latest = max(latest, reader)
    return latest


@step
def make_beside(access: Access, ranges: Ranges, search: RowSearch, at: int, v: int, slot: int) -> int:
    """Write the ranges of what nothing in the region reads; return the most rows that are made in a step.

    Each step makes all that others have read the rows for; where nothing else reads them, as much as of the last one.
    """
    size, steps, is_bound = access.size[access.out[v], 0], search.steps, False
    for y in range(steps):
        ranges.end[slot, y] = size
    for edge in range(access.edge_first[v], access.edge_first[v + 1]):
        if need_of(access, ranges, search, at, access.source[edge], v + 1) < 0:
            continue
        is_bound, most, top = True, 0, 0
        for y in range(steps):
            most = max(most, ranges.high[y])
        for y in range(steps):
            top = max(top, max(ranges.high[y], min(max(ranges.up[y] // ranges.parts[0], 0), most)))
            ranges.end[slot, y] = min(ranges.end[slot, y], end_made(access, edge, 0, top))
    total, runs, capacity, before = 0, 0, 0, 0
    driver = ranges.end[search.slot[at, 0], steps - 1]
    for y in range(steps):
        if not is_bound:
            ranges.end[slot, y] = size * ranges.end[search.slot[at, 0], y] // driver
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
def copy_state(search: RowSearch, into: int, source: int, n: int) -> None:
    """Copy a state of n operations."""
    for k in range(n):
        search.slot[into, k] = search.slot[source, k]
        search.profile[into, k] = search.profile[source, k]
    for k in range(search.state.shape[1]):
        search.state[into, k] = search.state[source, k]


@step
def stream_inputs(access: Access, ranges: Ranges, search: RowSearch, at: int, v: int, spare: int) -> None:
    """Let inputs that this region alone reads, from operation v on, come in pieces instead of whole."""
    for edge in range(access.edge_first[v], access.edge_first[v + 1]):
        tensor = access.source[edge]
        is_first = access.reading[access.reader_first[tensor]] == edge
        if access.maker[tensor] >= 0 or access.is_streamed[tensor] == 0 or not is_first:
            continue
        if access.last[tensor] >= search.j:
            continue
        latest = need_of(access, ranges, search, at, tensor, v)
        capacity = make(ranges, spare, ROLL, access.size[tensor, 0], search.steps)
        bytes_ = rounded(abs(capacity) * access.size[tensor, 1] * access.pixel[tensor], access.alignment)
        search.state[at, INSIDE] -= access.whole[tensor]
        if capacity < 0:
            search.state[at, KEPT] += bytes_
        else:
            search.state[at, LEAD] += bytes_
            for k in range(search.j - 1 - latest, search.j - v):
                search.profile[at, k] += bytes_


@step
def saved_by_sliding(access: Access, ranges: Ranges, search: RowSearch, at: int, first: int) -> int:
    """Return the most bytes saved where the output grows into the rows of an input that nothing needs any more."""
    j, steps = search.j, search.steps
    sink = access.out[j - 1]
    if access.role[j - 1] == SUM or access.is_streamed[sink] == 1:
        return 0
    made = search.slot[at, 0]
    out_row, best = access.size[sink, 1] * access.pixel[sink], 0
    for edge in range(access.edge_first[first], access.edge_first[j]):
        tensor = access.source[edge]
        if access.maker[tensor] >= first or access.last[tensor] >= j or access.last[tensor] != access.reader[edge]:
            continue
        if access.is_streamed[tensor] == 1 and access.reader[access.reading[access.reader_first[tensor]]] >= first:
            continue
        need_of(access, ranges, search, at, tensor, first)
        row, size = access.size[tensor, 1] * access.pixel[tensor], access.size[tensor, 0]
        low, down = size, 0
        for back in range(steps):
            y = steps - 1 - back
            low = min(low, ranges.low[y])
            down = max(down, ranges.end[made, y] * out_row - low * row)
        down = rounded(down, access.alignment)
        union = max(down + access.whole[tensor], access.whole[sink])
        best = max(best, access.whole[tensor] + access.whole[sink] - union)
    return best


@step
def offer(access: Access, ranges: Ranges, search: RowSearch, at: int, v: int, n: int) -> None:
    """Write the region [v, j) of a state, and its costs, among those found."""
    j, answer, state = search.j, search.answer, search.state
    answer[EVALUATED] += 1
    within = 0
    for k in range(n):
        within = max(within, search.profile[at, k])
    peak = access.live[v] + state[at, INSIDE] + state[at, KEPT] + within
    saved = saved_by_sliding(access, ranges, search, at, v) if search.slides else 0
    peak -= saved
    if access.role[j - 1] == SUM:
        sink = access.out[j - 1]
        dead = access.whole[sink] if access.last[sink] < j else 0
        peak = max(peak, access.sums[j - 1] + access.live[j] + dead)
    row = write_region(search.found, answer, v, j, peak, state[at, MACS], state[at, TRAFFIC], state[at, RUNS])
    if row >= 0:
        write_shape(search.found, row, KIND_ROWS, search.height, state[at, MASK], saved)
