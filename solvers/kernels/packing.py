"""Pack one memory in a given order, first fit or best fit, without listing the pairs that conflict.

Time, counted in live sets, is cut into blocks. A placed buffer is filed as an item in each block that it covers partly,
sorted by offset. Where it covers whole blocks, its addresses are merged into a segment tree over the blocks: one list
of runs for what covers a node's whole span, one for whatever touches that span. What a buffer must keep clear of then
stands in a few sorted lists, which are walked side by side, upwards only, until none of them lifts the offset any more.
Buffers at fixed distances from each other are a body, which walks the lists of all of them.
"""

from __future__ import annotations

import numpy as np
from numba import types

from planner.table import I64
from solvers.kernels.compiling import ABSENT, COLUMN, FLAG, I64_MAX, NEW_COLUMN, NUMBER, ROWS, ZERO, kernel
from solvers.kernels.packing_lists import blocks, file_item, gather, merge_run, most, moved, nodes
from solvers.kernels.packing_offsets import Rows, legal, lifted, lowest_shared, tightest

_TWO, _THREE, _FOUR = (types.UniTuple(COLUMN, count) for count in (2, 3, 4))
_BANK = types.UniTuple(NUMBER, 2)


@kernel(
    NEW_COLUMN(*(COLUMN,) * 4, _THREE, _FOUR, *(_TWO,) * 3, ROWS, NUMBER, _BANK, *(NUMBER,) * 2, FLAG, FLAG, COLUMN)
)
def pack(
    order: I64,
    body_first: I64,
    distance: I64,
    size: I64,
    lives: tuple[I64, I64, I64],
    grid: tuple[I64, I64, I64, I64],
    conflicts: Rows,
    shares: Rows,
    banks: Rows,
    reserved: I64,
    capacity: int,
    bank: tuple[int, int],
    n_live_sets: int,
    width: int,
    is_flat: bool,
    best_fit: bool,
    flag: I64,
) -> I64:
    """Return the offset of each buffer of `order`, placed body by body in one memory; ABSENT where none is free.

    order (k,): buffers; body_first (b + 1,): where each body begins in it; distance (n,): how far above its body's
    offset a buffer lies; size (n,); lives: first (n + 1,), start, end (m,), in live sets. conflicts, shares, banks:
    symmetric lists (first (n + 1,), neighbours) of who may not share bytes, may share an offset, and may touch no
    common bank; bank: (length, shift), a bank begins at each offset o with (o + shift) % length == 0, length 0 says
    that there are none. reserved (r, 2): disjoint ascending address ranges.

    grid: lowest, step, page, page_shift (n,). A body may lie where `lowest` and every `step` above it of its first
    buffer says, if none of its buffers ends above `capacity` and each of them, at offset o, has page 0 or
    (o + page_shift) % page + size <= page. First fit takes the lowest offset, best fit the lowest of those which are
    shared, or else from where the body could be moved up least. `width` is the number of live sets in a block; a flat
    pack has no tree, but an item in each block that a buffer touches. Once flag[0] is not 0, the rest is ABSENT.

    O(log(blocks)) lists are walked for a buffer, or as many as it touches blocks, if flat; linear memory. No sum passes
    2^63 - 1, whatever the sizes.
    """
    # 1. Room for the lists of the blocks and of the nodes, and for what concerns one body.
    first, start, end = lives
    lowest, step, page, page_shift = grid
    n_blocks = max(1, (n_live_sets + width - 1) // width)
    leaves, height = 1, 1
    while leaves < n_blocks and not is_flat:
        leaves *= 2
        height += 1
    n_items, n_files, n_lives, n_neighbours, n_members = most(
        order, body_first, lives, conflicts[0], banks[0], width, is_flat
    )
    n_nodes = 0 if is_flat else 2 * height * n_lives
    # List v of a node v is of what covers its span, list 2 * leaves + v of whatever touches it.
    block_lists, node_lists = np.zeros((n_blocks, 3), np.int64), np.zeros((4 * leaves, 3), np.int64)
    items, items_top = np.empty((3 * n_items + 64, 4), np.int64), ZERO
    scratch = ZERO + len(reserved)
    runs_top = scratch + n_neighbours
    runs = np.empty((runs_top + 64 + (0 if is_flat else 4 * len(order)), 2), np.int64)
    for row in range(scratch):
        runs[row, 0], runs[row, 1] = reserved[row, 0], reserved[row, 1]
    lows, highs = np.empty(n_neighbours, np.int64), np.empty(n_neighbours, np.int64)
    has_shares = len(shares[1]) > 0
    placed_at = np.full(len(size) if n_neighbours or has_shares else 0, ABSENT)
    files = np.empty((n_files, 4), np.int64)
    covers, above = np.empty((n_nodes, 2), np.int64), np.empty((n_nodes, 2), np.int64)
    stamp, now = np.full(2 * leaves, -1), ZERO
    n_rows = n_files + 2 * n_nodes + 3 * n_members
    cursor, stop, part = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64), np.empty((n_rows, 2), np.int64)
    alive, pages = np.empty((n_files, 2), np.int64), np.empty((n_members, 4), np.int64)
    offsets = np.full(len(order), ABSENT)

    for b in range(len(body_first) - 1):
        if flag[0] != 0:
            break
        # 2. Where the body may lie if nothing else is placed.
        members = order[body_first[b] : body_first[b + 1]]
        limit, n_pages = I64_MAX, ZERO
        for i in members:
            limit = min(limit, capacity - size[i] - distance[i])
            if page[i] > 0:
                pages[n_pages, 0], pages[n_pages, 1] = page[i], page_shift[i]
                pages[n_pages, 2], pages[n_pages, 3] = distance[i], size[i]
                n_pages += 1
        space = (lowest[members[0]], step[members[0]], limit, pages, n_pages)

        # 3. The blocks and nodes that its lifetimes touch.
        n_files = n_covers = n_above = ZERO
        for i in members:
            now += 1
            for life in range(first[i], first[i + 1]):
                n_files = blocks(i, start[life], end[life], width, is_flat, files, n_files)
                if not is_flat:
                    n_covers, n_above = nodes(
                        i, start[life], end[life], width, leaves, stamp, now, covers, n_covers, above, n_above
                    )

        # 4. The lists of what it must keep clear of, those which hold something.
        n_lists = ZERO
        for f in range(n_files):
            v, i = files[f, 0], files[f, 3]
            if block_lists[v, 1] > 0:
                cursor[n_lists], stop[n_lists] = block_lists[v, 0], block_lists[v, 0] + block_lists[v, 1]
                alive[n_lists, 0], alive[n_lists, 1] = files[f, 1], files[f, 2]
                part[n_lists, 0], part[n_lists, 1] = distance[i], size[i]
                n_lists += 1
        n_items = n_lists
        for c in range(n_covers + n_above):
            if c < n_covers:
                v, i = 2 * leaves + covers[n_covers - 1 - c, 0], covers[n_covers - 1 - c, 1]
            else:
                v, i = above[n_above - 1 - (c - n_covers), 0], above[n_above - 1 - (c - n_covers), 1]
            if node_lists[v, 1] > 0:
                cursor[n_lists], stop[n_lists] = node_lists[v, 0], node_lists[v, 0] + node_lists[v, 1]
                part[n_lists, 0], part[n_lists, 1] = distance[i], size[i]
                n_lists += 1
        row = scratch
        for i in members:
            if scratch > 0:
                cursor[n_lists], stop[n_lists] = 0, scratch
                part[n_lists, 0], part[n_lists, 1] = distance[i], size[i]
                n_lists += 1
            if n_neighbours > 0:
                named = conflicts[1][conflicts[0][i] : conflicts[0][i + 1]]
                cursor[n_lists] = row
                row = gather(named, (ZERO, ZERO), lows, highs, size, placed_at, runs, row)
                stop[n_lists] = row
                part[n_lists, 0], part[n_lists, 1] = distance[i], size[i]
                n_lists += 1
            if n_neighbours > 0 and bank[0] > 0:
                named = banks[1][banks[0][i] : banks[0][i + 1]]
                cursor[n_lists] = row
                row = gather(named, bank, lows, highs, size, placed_at, runs, row)
                stop[n_lists] = row
                part[n_lists, 0], part[n_lists, 1] = distance[i], size[i]
                n_lists += 1

        # 5. Its offset.
        lists = (items, runs, cursor, stop, alive, part, n_items, n_lists)
        at = legal(lowest[members[0]], space)
        at = tightest(at, space, lists) if best_fit else lifted(at, space, lists)
        if has_shares:
            below = limit + 1 if best_fit else min(at, limit + 1)
            placed = (order, offsets, body_first[b], placed_at, reserved)
            rivals = (conflicts, shares, banks, lives)
            shared = lowest_shared(members, distance, size, space, below, bank, rivals, placed)
            at = shared if shared < below else at
        if at > limit:
            continue
        for k in range(body_first[b], body_first[b + 1]):
            offsets[k] = at + distance[order[k]]
            if len(placed_at) > 0:
                placed_at[order[k]] = offsets[k]

        # 6. Filing it.
        for f in range(n_files):
            v, i = files[f, 0], files[f, 3]
            if block_lists[v, 1] == block_lists[v, 2]:
                items, items_top = moved(items, items_top, block_lists, v)
            low = at + distance[i]
            file_item(items, block_lists, v, low, low + size[i], files[f, 1], files[f, 2])
        for c in range(2 * n_covers + n_above):  # each covered node has two lists: what covers it, and what touches it
            if c < n_covers:
                v, i = covers[c, 0], covers[c, 1]
            elif c < 2 * n_covers:
                v, i = 2 * leaves + covers[c - n_covers, 0], covers[c - n_covers, 1]
            else:
                v, i = 2 * leaves + above[c - 2 * n_covers, 0], above[c - 2 * n_covers, 1]
            if node_lists[v, 1] == node_lists[v, 2]:
                runs, runs_top = moved(runs, runs_top, node_lists, v)
            low = at + distance[i]
            merge_run(runs, node_lists, v, low, low + size[i])
    return offsets
