"""Pack one pool in a given order, first fit or best fit, without listing the pairs that conflict.

Time, counted in live sets, is cut into blocks. A placed buffer is filed as an item in each block that it covers partly,
sorted by offset. Where it covers whole blocks, its addresses are merged into a segment tree over the blocks: one list
of runs for what covers a node's whole span, one for whatever touches that span. What a buffer must keep clear of then
stands in a few sorted lists, which are walked side by side, upwards only, until none of them lifts the offset any more.
Buffers at fixed distances from each other are a body, which walks the lists of all of them.
"""

from __future__ import annotations

from typing import NamedTuple

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.packing.lists import (
    add,
    blocks,
    file_item,
    gather,
    merge_run,
    moved,
    nodes,
    space_to_move,
    touched,
)
from memplan.solvers.kernels.packing.offsets import legal, lifted, lowest_shared, tightest
from memplan.solvers.kernels.tables import ZERO, Rows

DONE, FULL = 1, 0


class PackRules(NamedTuple):
    """The facts of one pool and of `n` buffers; all lengths and offsets in units.

    A body may lie where `lowest` and every `step` above it up to `highest` of its first buffer says, if none of its
    buffers ends above `capacity` and each of them, at offset o, has page 0 or (o + page_shift) % page + size <= page. A
    bank begins at each offset o with (o + bank_shift) % bank == 0; bank 0 says that there are none. Buffers that a row
    of pairs names keep so much clearance, with a border of its grid between them, which begins as banks do; grid 1
    requires none. `width` is the number of live sets in a block; a flat pack has no tree, but an item in each block
    that a buffer touches.
    """

    distance: I64  # (n,): how far above its body's offset a buffer lies
    size: I64  # (n,)
    first: I64  # (n + 1,): the lifetimes of each buffer, in live sets
    start: I64
    end: I64
    lowest: I64  # (n,)
    highest: I64  # (n,)
    step: I64  # (n,)
    page: I64  # (n,)
    page_shift: I64  # (n,)
    pair_first: I64  # (n + 1,): the rules of pairs that name it, symmetric
    pair: I64
    clearance: I64
    grid: I64
    share_first: I64  # (n + 1,): the buffers that it may share an offset with, symmetric
    share: I64
    border_first: I64  # (n + 1,): bytes of a bank that must be left where it begins, because of others of its body
    border: I64
    reserved: Rows  # (r, 2): disjoint ascending address ranges
    capacity: int
    bank: int
    bank_shift: int
    width: int
    is_flat: bool


class PackWorkspace(NamedTuple):
    """The arrays that a pack works in.

    Rows of lists are as in packing_lists. Of the nodes of the tree, numbered from 1 as in a heap, the list at row v is
    of what covers node v's span, that at row 2 * leaves + v of whatever touches it. `runs` begins with the reserved
    ranges, and has rows left for the neighbours of one body.
    """

    block_lists: Rows  # (blocks, 3): empty, with rows for all that can be filed there
    node_lists: Rows  # (4 leaves, 3), zeros
    items: Rows  # (rows, 4): low, high, start, end
    runs: Rows  # (rows, 2): low, high
    placed_at: I64  # (n,), ABSENT; or none, where no rule names another buffer
    stamp: I64  # (2 leaves,), ABSENT
    lows: I64  # (neighbours,)
    highs: I64  # (neighbours,)
    files: Rows  # (files, 4)
    covers: Rows  # (nodes, 2)
    above: Rows  # (nodes, 2)
    cursor: I64  # (lists,)
    stop: I64  # (lists,)
    part: Rows  # (lists, 2)
    alive: Rows  # (files, 2)
    pages: Rows  # (members and their borders, 4)
    levels: Rows  # (64, 3), see first_multiple
    stands: I64  # (4,): see below


BODY, TOP, NEEDED, NOW = range(4)
"""The fields of `stands`: the next body, how full `runs` is, which length of it is wanted, and the last stamp."""


class PackOrder(NamedTuple):
    """The `k` buffers to place, body by body, and their offsets."""

    order: I64  # (k,): buffers
    body_first: I64  # (bodies + 1,): where each body begins in it
    best_fit: bool
    flag: I64  # (1,)
    offsets: I64  # (k,), ABSENT


@Kernel
def pack(rules: PackRules, workspace: PackWorkspace, wanted: PackOrder) -> int:
    """Place the buffers of an order, each once; return DONE, or FULL: to be called again with more rows for runs.

    Each gets an offset, ABSENT where none is free. First fit takes the lowest, best fit the lowest of those which are
    shared, or else from where the body could be moved up least. Once flag[0] is not 0, the rest is ABSENT.

    O(log(blocks)) lists are walked for a buffer, or as many as it touches blocks, if flat. No sum passes 2^63 - 1,
    whatever the sizes.
    """
    # 1. What is read over and over.
    order, body_first, offsets = wanted.order, wanted.body_first, wanted.offsets
    size, distance, page, page_shift = rules.size, rules.distance, rules.page, rules.page_shift
    lowest, step, capacity = rules.lowest, rules.step, rules.capacity
    lives = first, start, end = rules.first, rules.start, rules.end
    pairs = (rules.pair_first, rules.pair, rules.clearance, rules.grid, rules.bank_shift)
    shares, bank = (rules.share_first, rules.share), (rules.bank, rules.bank_shift)
    reserved, width, is_flat = rules.reserved, rules.width, rules.is_flat != 0
    block_lists, node_lists, items, runs = workspace.block_lists, workspace.node_lists, workspace.items, workspace.runs
    files, covers, above, stamp = workspace.files, workspace.covers, workspace.above, workspace.stamp
    cursor, stop, part, alive, pages = (
        workspace.cursor,
        workspace.stop,
        workspace.part,
        workspace.alive,
        workspace.pages,
    )
    walk = (cursor, stop, part)
    placed_at, lows, highs, stands = workspace.placed_at, workspace.lows, workspace.highs, workspace.stands
    leaves, scratch, has_neighbours, has_shares = len(stamp) // 2, len(reserved), len(lows) > 0, len(shares[1]) > 0

    for b in range(stands[BODY], len(body_first) - 1):
        if wanted.flag[0] != 0:
            break
        # 2. Where the body may lie if nothing else is placed.
        members = order[body_first[b] : body_first[b + 1]]
        limit, n_pages = rules.highest[members[0]], ZERO
        for i in members:
            limit = min(limit, capacity - size[i] - distance[i])
            if page[i] > 0:
                pages[n_pages, 0], pages[n_pages, 1] = page[i], page_shift[i]
                pages[n_pages, 2], pages[n_pages, 3] = distance[i], size[i]
                n_pages += 1
            for x in range(rules.border_first[i], rules.border_first[i + 1]):
                pages[n_pages, 0], pages[n_pages, 1] = bank
                pages[n_pages, 2], pages[n_pages, 3] = distance[i], rules.border[x]
                n_pages += 1
        space = (lowest[members[0]], step[members[0]], limit, pages, n_pages, workspace.levels)

        # 3. The blocks and nodes that its lifetimes touch.
        n_files = n_covers = n_above = ZERO
        for i in members:
            stands[NOW] += 1
            for life in range(first[i], first[i + 1]):
                n_files = blocks(i, start[life], end[life], width, is_flat, files, n_files)
                if not is_flat:
                    n_covers, n_above = nodes(
                        i, start[life], end[life], width, leaves, stamp, stands[NOW], covers, n_covers, above, n_above
                    )

        # 4. The lists of what it must keep clear of.
        n_lists = ZERO
        for f in range(n_files):
            v, i = files[f, 0], files[f, 3]
            alive[n_lists, 0], alive[n_lists, 1] = files[f, 1], files[f, 2]
            n_lists = add(block_lists[v, 0], block_lists[v, 1], distance[i], size[i], walk, n_lists)
        n_items = n_lists
        for c in range(n_covers + n_above):
            if c < n_covers:
                v, i = 2 * leaves + covers[n_covers - 1 - c, 0], covers[n_covers - 1 - c, 1]
            else:
                v, i = above[n_above - 1 - (c - n_covers), 0], above[n_above - 1 - (c - n_covers), 1]
            n_lists = add(node_lists[v, 0], node_lists[v, 1], distance[i], size[i], walk, n_lists)
        row = ZERO + scratch
        for i in members:
            n_lists = add(ZERO, ZERO + scratch, distance[i], size[i], walk, n_lists)
            if has_neighbours:
                count = gather(pairs[0][i], pairs[0][i + 1], pairs, lows, highs, size, placed_at, runs, row)
                n_lists, row = add(row, count, distance[i], size[i], walk, n_lists), row + count

        # 5. Its offset.
        lists = (items, runs, cursor, stop, alive, part, n_items, n_lists)
        at = legal(lowest[members[0]], space)
        at = tightest(at, space, lists) if wanted.best_fit else lifted(at, space, lists)
        if has_shares:
            below = limit + 1 if wanted.best_fit else min(at, limit + 1)
            placed = (order, offsets, body_first[b], placed_at, reserved)
            rivals = (pairs, shares, lives)
            shared = lowest_shared(members, distance, size, space, below, rivals, placed)
            at = shared if shared < below else at
        if at > limit:
            continue

        # 6. The lists of nodes where it is filed: all of them might have to move.
        n_touched, needed = 2 * n_covers + n_above, stands[TOP]
        for c in range(n_touched):
            needed += space_to_move(node_lists, touched(c, covers, n_covers, above, leaves)[0])
        if needed > len(runs):
            stands[BODY], stands[NEEDED] = b, needed
            return FULL

        # 7. Filing it.
        for k in range(body_first[b], body_first[b + 1]):
            offsets[k] = at + distance[order[k]]
            if len(placed_at) > 0:
                placed_at[order[k]] = offsets[k]
        for f in range(n_files):
            v, i = files[f, 0], files[f, 3]
            low = at + distance[i]
            file_item(items, block_lists, v, low, low + size[i], files[f, 1], files[f, 2])
        for c in range(n_touched):
            v, i = touched(c, covers, n_covers, above, leaves)
            if node_lists[v, 1] == node_lists[v, 2]:
                stands[TOP] = moved(runs, stands[TOP], node_lists, v)
            low = at + distance[i]
            merge_run(runs, node_lists, v, low, low + size[i])
    return DONE
