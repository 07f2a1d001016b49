"""Beam search over sets of macros, one level for each number of macros that have run.

Where nothing is dropped for want of width, that is a dynamic program over all states within the cap: it is exact then.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from memplan.capabilities.order.kernels import GROUP
from memplan.capabilities.order.kernels.moves import Moves
from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.tables import Rows, step

BEAM_FOUND, BEAM_EXHAUSTED, BEAM_STOPPED, BEAM_LOST = 1, 0, -1, -2
WORD_BITS, WORD_SHIFT = 32, 5
"""The macros that one word of a set stands for, and the base-2 logarithm of their number."""


class Beam(NamedTuple):
    """The question of a beam w states wide, and its states: those of one level and of the next one take turns.

    Orders whose peak is above `cap` are left out. The best states of a level are those with the lowest peak so far and
    then the fewest bytes alive (`by_peak`), or the other way round. The search ends when flag[0] is set.
    """

    cap: int
    by_peak: bool
    ran: Rows  # (2w, words): the set of macros that have run, as bits
    ready: Rows  # (2w, n)
    n_ready: I64  # (2w,)
    live: I64  # (2w,): bytes alive
    peak: I64  # (2w,): the largest so far
    key: Rows  # (2w, 2): the key of the set
    parent: Rows  # (n, w): for each level and state, the state of the level before, and the macro that ran there
    choice: Rows  # (n, w)
    heap: I64  # (w,): the candidates, the worst one first
    of_state: I64  # (w,) of each candidate: state, macro, bytes alive, peak and key
    of_macro: I64
    new_live: I64
    new_peak: I64
    new_key: Rows  # (w, 2)
    looked_live: I64  # (n,): scratch
    looked_peak: I64  # (n,)
    seen: Rows  # (2^b, 3): keys and the level they were seen in, all zero
    flag: I64  # (1,)
    order: I64  # (n,): the order found
    answer: I64  # (3,): its peak; the least peak above the cap; states

    def start(self, ready: I64, live: int, peak: int) -> None:
        """Make the first state the only one."""
        self.ran[0], self.key[0] = 0, 1
        self.ready[0, : len(ready)] = ready
        self.n_ready[0], self.live[0], self.peak[0] = len(ready), live, peak


PEAK, ABOVE, STATES = range(3)


@step
def has_run(beam: Beam, state: int, macro: int) -> bool:
    """Return True if a macro has run in a state."""
    return bool((beam.ran[state, macro >> WORD_SHIFT] >> (macro & (WORD_BITS - 1))) & 1 == 1)


@step
def is_alone(moves: Moves, beam: Beam, state: int, macro: int, tensor: int) -> bool:
    """Return True if a macro would be the last reader of a tensor to run; backward, the first one."""
    for k in range(moves.reader_first[tensor], moves.reader_first[tensor + 1]):
        other = moves.reader[k]
        if other != macro and has_run(beam, state, other) != moves.is_forward:
            return False
    return True


@step
def spared(moves: Moves, beam: Beam, state: int, macro: int, j: int) -> int:
    """Return the bytes of outputs that a step of a macro would write over inputs."""
    total = 0
    for choice in range(moves.over_first[j], moves.over_first[j + 1]):
        bits, bit = 0, 1
        for i in range(moves.input_first[choice], moves.input_first[choice + 1]):
            if is_alone(moves, beam, state, macro, moves.over[i]):
                bits += bit
            bit += bit
        total += moves.gain[moves.gain_first[choice] + bits]
    return total


@step
def look(moves: Moves, beam: Beam, state: int, macro: int, at: int) -> None:
    """Write the bytes alive after a macro would have run, and the most of them meanwhile."""
    live = beam.live[state]
    top = live
    first, end = moves.step_first[macro], moves.step_first[macro + 1]
    for k in range(end - first):
        j = first + k if moves.is_forward else end - 1 - k
        change = 0
        for i in range(moves.free_first[j], moves.free_first[j + 1]):
            if is_alone(moves, beam, state, macro, moves.free[i]):
                change += moves.size[moves.free[i]]
        hill = moves.hill[j] - spared(moves, beam, state, macro, j)
        if moves.is_forward:
            top = max(top, live + hill)
            live += moves.net[j] - change
        else:
            live += change - moves.net[j]
            top = max(top, live + hill)
    beam.looked_live[at], beam.looked_peak[at] = live, max(top, beam.peak[state])


@step
def is_worse(beam: Beam, a: int, b: int) -> bool:
    """Return True if candidate a is worse than candidate b."""
    live, peak = beam.new_live[a] - beam.new_live[b], beam.new_peak[a] - beam.new_peak[b]
    if beam.by_peak:
        return bool(peak > 0 or (peak == 0 and live > 0))
    return bool(live > 0 or (live == 0 and peak > 0))


@step
def is_unseen(beam: Beam, first: int, second: int, stamp: int) -> bool:
    """Enter a key for a level; return False if it was there."""
    mask = len(beam.seen) - 1
    i = first & mask
    for _ in range(64):
        if beam.seen[i, 2] != stamp:
            beam.seen[i, 0], beam.seen[i, 1], beam.seen[i, 2] = first, second, stamp
            return True
        if beam.seen[i, 0] == first and beam.seen[i, 1] == second:
            return False
        i = (i + 1) & mask
    return True


@step
def sink(beam: Beam, count: int, hole: int) -> None:
    """Let the candidate at a place of the heap sink to where it belongs."""
    heap = beam.heap
    while 2 * hole + 1 < count:
        child = 2 * hole + 1
        if child + 1 < count and is_worse(beam, heap[child + 1], heap[child]):
            child += 1
        if not is_worse(beam, heap[child], heap[hole]):
            break
        heap[child], heap[hole] = heap[hole], heap[child]
        hole = child


@step
def offer(moves: Moves, beam: Beam, state: int, at: int, count: int, stamp: int) -> int:
    """Take the candidate that was looked at last among the best; return how many there are, negative if one is lost."""
    macro = beam.ready[state, at]
    first, second = beam.key[state, 0] ^ moves.code[macro, 0], beam.key[state, 1] ^ moves.code[macro, 1]
    if not is_unseen(beam, first, second, stamp):
        return count
    heap, live, peak = beam.heap, beam.looked_live[at], beam.looked_peak[at]
    is_full = count == len(heap)
    if is_full:
        worst = heap[0]
        major, minor = beam.new_live[worst] - live, beam.new_peak[worst] - peak
        if beam.by_peak:
            major, minor = minor, major
        if major < 0 or (major == 0 and minor <= 0):
            return -count
    slot = heap[0] if is_full else count
    beam.of_state[slot], beam.of_macro[slot] = state, macro
    beam.new_live[slot], beam.new_peak[slot] = live, peak
    beam.new_key[slot, 0], beam.new_key[slot, 1] = first, second
    if is_full:
        sink(beam, count, 0)
        return -count
    heap[count] = slot
    hole = count
    while hole > 0 and is_worse(beam, heap[hole], heap[(hole - 1) >> 1]):
        up = (hole - 1) >> 1
        heap[hole], heap[up] = heap[up], heap[hole]
        hole = up
    return count + 1


@step
def enter(moves: Moves, beam: Beam, slot: int, into: int) -> None:
    """Write the state that a candidate stands for."""
    state, macro = beam.of_state[slot], beam.of_macro[slot]
    for k in range(beam.ran.shape[1]):
        beam.ran[into, k] = beam.ran[state, k]
    beam.ran[into, macro >> WORD_SHIFT] |= 1 << (macro & (WORD_BITS - 1))
    beam.live[into], beam.peak[into] = beam.new_live[slot], beam.new_peak[slot]
    beam.key[into, 0], beam.key[into, 1] = beam.new_key[slot, 0], beam.new_key[slot, 1]
    count = 0
    for k in range(beam.n_ready[state]):
        if beam.ready[state, k] != macro:
            beam.ready[into, count] = beam.ready[state, k]
            count += 1
    for k in range(moves.next_first[macro], moves.next_first[macro + 1]):
        following = moves.next[k]
        is_ready = True
        for i in range(moves.before_first[following], moves.before_first[following + 1]):
            is_ready = is_ready and has_run(beam, into, moves.before[i])
        if is_ready:
            beam.ready[into, count] = following
            count += 1
    beam.n_ready[into] = count


@partial(Kernel, group=GROUP)
def beam_order(moves: Moves, beam: Beam) -> int:
    """Search for an order whose peak is within a cap; return the outcome.

    BEAM_FOUND: `beam.order` holds one. BEAM_EXHAUSTED: there is none. BEAM_LOST: none was found, but states had to be
    dropped. BEAM_STOPPED: by the flag. The first state must be written, see `Beam.start`.
    """
    n, width = beam.parent.shape
    beam.answer[PEAK], beam.answer[ABOVE], beam.answer[STATES] = 0, 2**62, 0
    count, base, is_whole = 1, 0, True
    for level in range(n):
        # 1. Look at what can run next in each state; what costs nothing is the only candidate.
        candidates = 0
        for state in range(base, base + count):
            if beam.flag[0] != 0:
                return BEAM_STOPPED
            free, most = -1, beam.peak[state] if beam.by_peak else beam.cap
            for at in range(beam.n_ready[state]):
                look(moves, beam, state, beam.ready[state, at], at)
                is_within = beam.looked_peak[at] <= beam.cap
                if not is_within:
                    beam.answer[ABOVE] = min(beam.answer[ABOVE], beam.looked_peak[at])
                elif beam.looked_live[at] <= beam.live[state] and beam.looked_peak[at] <= most:
                    free = at
                    break
            first, end = (free, free + 1) if free >= 0 else (0, beam.n_ready[state])
            for at in range(first, end):
                if beam.looked_peak[at] <= beam.cap:
                    candidates = offer(moves, beam, state, at, candidates, level + 1)
                    if candidates < 0:
                        candidates, is_whole = -candidates, False
        if candidates == 0:
            return BEAM_EXHAUSTED if is_whole else BEAM_LOST

        # 2. The candidates are the states of the next level.
        base = width - base
        count = candidates
        beam.answer[STATES] += count
        for slot in range(count):
            enter(moves, beam, slot, base + slot)
            beam.parent[level, slot], beam.choice[level, slot] = beam.of_state[slot], beam.of_macro[slot]

    # 3. Read the order of the best last state backward.
    best = base
    for state in range(base, base + count):
        if beam.peak[state] < beam.peak[best]:
            best = state
    beam.answer[PEAK] = beam.peak[best]
    state = best
    for back in range(n):
        level = n - 1 - back
        slot = state - (width if level % 2 == 0 else 0)
        beam.order[level] = beam.choice[level, slot]
        state = beam.parent[level, slot]
    return BEAM_FOUND
