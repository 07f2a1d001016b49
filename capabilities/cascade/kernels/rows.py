"""Regions in stripes of whole rows: grown backwards from their last operation, a beam of modes for each tensor.

A state is a region [v, j) with a mode for each tensor inside: rolled, or recomputed; whole where somebody outside wants
it. Every state that is within the limit of recomputation is offered.
"""

from __future__ import annotations

from functools import partial

from memplan.capabilities.cascade.kernels import GROUP
from memplan.capabilities.cascade.kernels.access import (
    BESIDE,
    FULL,
    RECOMPUTE,
    ROLL,
    STRIPED,
    SUM,
    Access,
    Ranges,
    cut_in_steps,
    make,
    rounded,
)
from memplan.capabilities.cascade.kernels.found import COUNT, CUTS
from memplan.capabilities.cascade.kernels.row_states import (
    INSIDE,
    IS_ROLLED,
    KEPT,
    LEAD,
    MACS,
    MASK,
    RowSearch,
    copy_state,
    count_work,
    make_beside,
    need_of,
    offer,
    stream_inputs,
)
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.tables import step


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
        piece = min(max(1, search.height), access.size[sink, 0]) * access.size[sink, 1] * access.pixel[sink]
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
    if mode == BESIDE:
        capacity = make_beside(access, ranges, search, parent, v, slot)
    else:
        capacity = make(ranges, slot, mode, access.size[tensor, 0], search.steps)
    copy_state(search, at, parent, k)
    search.slot[at, k], search.profile[at, k] = slot, state[at, LEAD]
    bytes_ = rounded(abs(capacity) * access.size[tensor, 1] * access.pixel[tensor], access.alignment)
    if access.last[tensor] >= j:
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


@partial(Kernel, group=GROUP)
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
        tensor, first = access.out[v], access.reader_first[access.out[v]]
        # What only others read later would be whole; an output that nothing reads may be made beside the rest.
        if first < access.reader_first[tensor + 1] and access.reader[access.reading[first]] >= j:
            break
        base += access.macs[v] * access.size[tensor, 0] * access.size[tensor, 1]
        limit = int(search.worst * base) + 1

        # 2. Each state grows by it in each mode.
        candidates, k = 0, j - 1 - v
        for parent in range(states):
            latest = need_of(access, ranges, search, parent, tensor, v)
            only = BESIDE if latest < 0 else FULL if access.last[tensor] >= j else -1
            last_slot = -1
            for mode in (ROLL, RECOMPUTE):
                is_wanted = search.can_roll if mode == ROLL else search.can_recompute
                if only >= 0:
                    if last_slot >= 0:
                        continue
                    is_wanted = True
                if not is_wanted:
                    continue
                at, slot = beam + candidates, 1 + (k - 1) * 2 * beam + candidates
                grow(access, ranges, search, parent, at, v, mode if only < 0 else only, slot)
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
