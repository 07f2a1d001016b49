"""Regions in stripes of whole rows: grown backwards from their last operation, a beam of modes for each tensor.

A state is a region [v, j) with a mode for each tensor inside: rolled, or recomputed; whole where somebody outside wants
it. Every state that is within the limit of recomputation is offered.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.cache import CASCADE
from memplan.solvers.kernels.cascade.access import (
    FULL,
    RECOMPUTE,
    ROLL,
    STRIPED,
    SUM,
    Access,
    Ranges,
    add_need,
    bytes_read,
    cut_in_steps,
    end_read,
    first_read,
    make,
    rounded,
    start_need,
)
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.tables import Rows, step

KEPT, LEAD, MACS, TRAFFIC, RUNS, MASK, INSIDE, IS_ROLLED = range(8)
FOUND_FROM, FOUND_TO, FOUND_PEAK, FOUND_MACS, FOUND_TRAFFIC, FOUND_RUNS, FOUND_KIND, FOUND_HEIGHT, FOUND_WIDTH = range(
    9
)
FOUND_SAVED, N_FOUND = 9, 10
KIND_WHOLE, KIND_ROWS, KIND_TILES, KIND_PANELS, KIND_CHANNELS = range(5)
COUNT, CUTS, LOST, EVALUATED = range(4)


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
    row = answer[COUNT]
    if row == len(search.found):
        answer[LOST] += 1
        return
    answer[COUNT] += 1
    found = search.found
    found[row, FOUND_FROM], found[row, FOUND_TO], found[row, FOUND_PEAK] = v, j, peak
    found[row, FOUND_MACS], found[row, FOUND_TRAFFIC] = state[at, MACS], state[at, TRAFFIC]
    found[row, FOUND_RUNS], found[row, FOUND_KIND] = state[at, RUNS], KIND_ROWS
    found[row, FOUND_HEIGHT], found[row, FOUND_WIDTH] = search.height, state[at, MASK]
    found[row, FOUND_SAVED] = saved


@step
def begin(access: Access, ranges: Ranges, search: RowSearch) -> int:
    """Write the state of the last operation alone; return the multiplications it makes layer by layer."""
    j, state = search.j, search.state
    v, sink = j - 1, access.out[j - 1]
    is_sum = access.role[v] == SUM
    drives = access.source[access.edge_first[v]] if is_sum else sink
    cut_in_steps(ranges, 0, access.size[drives, 0], search.height, search.warm_up, search.steps)
    for k in range(state.shape[1]):
        state[0, k] = 0
    search.slot[0, 0], search.profile[0, 0], state[0, IS_ROLLED] = 0, 0, 1
    if is_sum:
        state[0, INSIDE] = access.sums[v]
    elif access.is_streamed[sink] == 1:
        piece = min(search.height, access.size[sink, 0]) * access.size[sink, 1] * access.pixel[sink]
        search.profile[0, 0] = rounded(piece, access.alignment)
    else:
        state[0, INSIDE] = access.whole[sink]
    count_work(access, ranges, search, 0, v, 0)
    stream_inputs(access, ranges, search, 0, v, len(ranges.total) - 1)
    return int(access.macs[v] if is_sum else access.macs[v] * access.size[sink, 0] * access.size[sink, 1])


@step
def grow(access: Access, ranges: Ranges, search: RowSearch, parent: int, at: int, v: int, mode: int, slot: int) -> None:
    """Write the state that a state becomes with operation v, whose needs are written, in a mode."""
    j, state = search.j, search.state
    k = j - 1 - v
    tensor = access.out[v]
    capacity = make(ranges, slot, mode, access.size[tensor, 0], search.steps)
    copy_state(search, at, parent, k)
    search.slot[at, k], search.profile[at, k] = slot, state[at, LEAD]
    bytes_ = rounded(abs(capacity) * access.size[tensor, 1] * access.pixel[tensor], access.alignment)
    if mode == FULL:
        state[at, INSIDE] += access.whole[tensor]
    elif capacity < 0:
        state[at, KEPT] += bytes_
    else:
        latest = v
        for r in range(access.reader_first[tensor], access.reader_first[tensor + 1]):
            reader = access.reader[access.reading[r]]
            if reader < j:
                latest = max(latest, reader)
        for i in range(j - 1 - latest, k + 1):
            search.profile[at, i] += bytes_
    if mode == RECOMPUTE:
        state[at, MASK] |= 1 << k
        state[at, IS_ROLLED] = 0
    count_work(access, ranges, search, at, v, slot)


@step
def is_same(ranges: Ranges, a: int, b: int, steps: int) -> bool:
    """Return True if two slots hold the same ranges."""
    for y in range(steps):
        if ranges.end[a, y] != ranges.end[b, y] or ranges.first[a, y] != ranges.first[b, y]:
            if ranges.end[a, y] > ranges.first[a, y] or ranges.end[b, y] > ranges.first[b, y]:
                return False
    return True


@step
def weigh(access: Access, ranges: Ranges, search: RowSearch, at: int, row: int, v: int) -> None:
    """Write what a candidate is compared by: peak so far, bytes kept, multiplications, rows still to be read."""
    j, worth, within, open_rows = search.j, search.worth, 0, 0
    for k in range(j - v):
        within = max(within, search.profile[at, k])
        reader = j - 1 - k
        for edge in range(access.edge_first[reader], access.edge_first[reader + 1]):
            if access.maker[access.source[edge]] < v:
                open_rows += ranges.total[search.slot[at, k]]
    kept = search.state[at, KEPT]
    worth[row, 0], worth[row, 1], worth[row, 2], worth[row, 3] = kept + within, kept, search.state[at, MACS], open_rows


@step
def choose(search: RowSearch, first: int, candidates: int, n: int) -> int:
    """Copy the best candidates, none of which is worse in all, into the beam; return how many there are."""
    worth, ranked, beam = search.worth, search.ranked, len(search.slot) // 3
    # 1. Those that no other is at least as good as in everything, by their peak.
    kept = 0
    for a in range(candidates):
        is_best = True
        for b in range(candidates):
            if a == b:
                continue
            is_within, is_equal = True, True
            for k in range(4):
                is_within = is_within and worth[b, k] <= worth[a, k]
                is_equal = is_equal and worth[b, k] == worth[a, k]
            if is_within and (not is_equal or b < a):
                is_best = False
                break
        if is_best or search.state[first + a, IS_ROLLED] == 1:
            place = kept
            while place > 0 and worth[ranked[place - 1], 0] > worth[a, 0]:
                ranked[place] = ranked[place - 1]
                place -= 1
            ranked[place] = a
            kept += 1
    # 2. Of too many some from all over, and always the one that rolls everything.
    if kept <= beam:
        for k in range(kept):
            copy_state(search, k, first + ranked[k], n)
        return kept
    search.answer[CUTS] += kept - beam
    rolled = -1
    for k in range(kept):
        if search.state[first + ranked[k], IS_ROLLED] == 1:
            rolled = k
    for k in range(beam):
        chosen = k * (kept - 1) // max(1, beam - 1)
        following = (k + 1) * (kept - 1) // max(1, beam - 1)
        if rolled >= 0 and (chosen <= rolled < following or beam == 1):
            chosen, rolled = rolled, -1
        copy_state(search, k, first + ranked[chosen], n)
    return beam


@partial(Kernel, group=CASCADE)
def grow_rows(access: Access, ranges: Ranges, search: RowSearch) -> int:
    """Write the regions in stripes of rows that end with operation j - 1; return their number."""
    j, beam = search.j, len(search.slot) // 3
    base = begin(access, ranges, search)
    offer(access, ranges, search, 0, j - 1, 1)
    states, spare = 1, len(ranges.total) - 1
    for v in range(j - 2, max(-1, j - 1 - search.longest), -1):
        # 1. The operation must lead into the region, and run in parts.
        if access.role[v] != STRIPED:
            break
        tensor = access.out[v]
        if access.reader_first[tensor] == access.reader_first[tensor + 1]:
            break
        if access.reader[access.reading[access.reader_first[tensor]]] >= j:
            break
        base += access.macs[v] * access.size[tensor, 0] * access.size[tensor, 1]
        limit = int(search.worst * base) + 1

        # 2. Each state grows by it in each mode.
        candidates, k = 0, j - 1 - v
        for parent in range(states):
            need_of(access, ranges, search, parent, tensor, v)
            last_slot = -1
            for mode in (ROLL, RECOMPUTE):
                is_wanted = search.can_roll if mode == ROLL else search.can_recompute
                if access.last[tensor] >= j:
                    if last_slot >= 0:
                        continue
                    is_wanted = True
                if not is_wanted:
                    continue
                at, slot = beam + candidates, 1 + (k - 1) * 2 * beam + candidates
                grow(access, ranges, search, parent, at, v, FULL if access.last[tensor] >= j else mode, slot)
                if search.state[at, MACS] > limit or (
                    last_slot >= 0 and is_same(ranges, last_slot, slot, search.steps)
                ):
                    continue
                last_slot = slot
                weigh(access, ranges, search, at, candidates, v)
                candidates += 1
        if candidates == 0:
            break

        # 3. The best of them are the states of the next round, and are offered.
        states = choose(search, beam, candidates, k + 1)
        for at in range(states):
            stream_inputs(access, ranges, search, at, v, spare)
            offer(access, ranges, search, at, v, k + 1)
    return int(search.answer[COUNT])
