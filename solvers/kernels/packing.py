"""Pack one memory in a given order, first fit or best fit, without listing the pairs that conflict.

Time, counted in live sets, is cut into blocks. A placed buffer is filed as an item in each block that it covers partly,
sorted by offset. Where it covers whole blocks, its addresses are merged into a segment tree over the blocks: one list
of runs for what covers a node's whole span, one for whatever touches that span. What a buffer must keep clear of then
stands in a few sorted lists, which are walked side by side, upwards only, until none of them lifts the offset any more.
"""

from __future__ import annotations

import numpy as np

from planner.table import I64
from solvers.kernels.compiling import ABSENT, COLUMN, FLAG, I64_MAX, NEW_COLUMN, NUMBER, ROWS, ZERO, compiled, kernel

Lists = tuple[I64, I64, I64, I64, I64, int, int]
"""(items, runs, cursor, stop, mine, n_items, n): what a buffer must keep clear of, as `n` lists sorted by address.

List k is the rows cursor[k]:stop[k]: for k < n_items of `items` (low, high, start, end), where only those alive in
mine[k, 0]:mine[k, 1] count, else of `runs` (low, high).
"""


@compiled
def _rounded_up(at: int, lowest: int, step: int, limit: int) -> int:
    """Return the least lowest + k * step (k >= 0) that is not below `at`; something above `limit` where that is."""
    if at <= lowest:
        return lowest
    if step == 1:
        return at
    waste = (lowest - at) % step
    return limit + 1 if waste > limit - at else at + waste


@compiled
def _lifted(at: int, size: int, lowest: int, step: int, limit: int, lists: Lists) -> int:
    """Return the least possible offset, not below `at`, where `size` is clear of all lists; above `limit` if none is.

    The cursors go on to the first rows that end above it.
    """
    items, runs, cursor, stop, mine, n_items, n_lists = lists
    k = quiet = 0
    while quiet < n_lists and at <= limit:
        row, last = cursor[k], stop[k]
        before = at
        if k < n_items:
            mine_start, mine_end = mine[k, 0], mine[k, 1]
            while row < last:
                if items[row, 1] > at and items[row, 2] < mine_end and items[row, 3] > mine_start:
                    if items[row, 0] >= at + size:
                        break
                    at = _rounded_up(items[row, 1], lowest, step, limit)
                    if at > limit:
                        break
                row += 1
        else:
            while row < last:
                if runs[row, 1] > at:
                    if runs[row, 0] >= at + size:
                        break
                    at = _rounded_up(runs[row, 1], lowest, step, limit)
                    if at > limit:
                        break
                row += 1
        cursor[k] = row
        quiet = quiet + 1 if at == before else 1
        k = k + 1 if k + 1 < n_lists else 0
    return at


@compiled
def _tightest(at: int, size: int, lowest: int, step: int, limit: int, lists: Lists) -> int:
    """Return the lowest possible offset in the smallest gap between the rows of all lists; see _lifted."""
    items, runs, cursor, stop, _, n_items, n_lists = lists
    best, tightest = limit + 1, I64_MAX
    while tightest > size:
        at = _lifted(at, size, lowest, step, limit, lists)
        if at > limit:
            break
        ceiling = I64_MAX
        for k in range(n_lists):
            if cursor[k] < stop[k]:
                ceiling = min(ceiling, items[cursor[k], 0] if k < n_items else runs[cursor[k], 0])
        if best > limit or ceiling - at < tightest:
            best, tightest = at, ceiling - at
        if ceiling == I64_MAX:
            break
        at = _rounded_up(ceiling, lowest, step, limit)
    return best


@compiled
def _moved(rows: I64, top: int, lists: I64, v: int) -> tuple[I64, int]:
    """Move list `v`, which is full, to the top of `rows`, with twice the room."""
    at, count, room = lists[v, 0], lists[v, 1], max(2, 2 * lists[v, 1])
    if top + room > len(rows):
        larger = np.empty((max(2 * len(rows), top + room), rows.shape[1]), np.int64)
        for row in range(top):
            for c in range(rows.shape[1]):
                larger[row, c] = rows[row, c]
        rows = larger
    for row in range(count):
        for c in range(rows.shape[1]):
            rows[top + row, c] = rows[at + row, c]
    lists[v, 0], lists[v, 2] = top, room
    return rows, top + room


@compiled
def _file_item(items: I64, lists: I64, v: int, low: int, high: int, start: int, end: int) -> None:
    """Insert an item into list `v`, which has room and stays sorted by `low`."""
    at = lists[v, 0]
    row = at + lists[v, 1]
    while row > at and items[row - 1, 0] > low:
        for c in range(4):
            items[row, c] = items[row - 1, c]
        row -= 1
    items[row, 0], items[row, 1], items[row, 2], items[row, 3] = low, high, start, end
    lists[v, 1] += 1


@compiled
def _merge_run(runs: I64, lists: I64, v: int, low: int, high: int) -> None:
    """Merge the addresses low:high into list `v`, which has room; its runs stay sorted and apart."""
    first, last = lists[v, 0], lists[v, 0] + lists[v, 1]
    right = last
    while first < right:
        middle = (first + right) >> 1
        if runs[middle, 1] >= low:
            right = middle
        else:
            first = middle + 1
    after = first
    while after < last and runs[after, 0] <= high:
        after += 1
    if after > first:  # the runs first:after touch the new one, and all become one
        low, high = min(runs[first, 0], low), max(runs[after - 1, 1], high)
        gone = after - first - 1
        if gone > 0:
            for row in range(after, last):
                runs[row - gone, 0], runs[row - gone, 1] = runs[row, 0], runs[row, 1]
            lists[v, 1] -= gone
    else:
        for row in range(last, first, -1):
            runs[row, 0], runs[row, 1] = runs[row - 1, 0], runs[row - 1, 1]
        lists[v, 1] += 1
    runs[first, 0], runs[first, 1] = low, high


@compiled
def _gather_neighbours(neighbours: I64, lows: I64, highs: I64, size: I64, placed_at: I64, runs: I64, at: int) -> int:
    """Write the runs of the placed ones of `neighbours` into `runs` from row `at` on, sorted; return the row after."""
    count = 0
    for j in neighbours:
        if placed_at[j] != ABSENT:
            lows[count] = placed_at[j]
            highs[count] = placed_at[j] + size[j]
            count += 1
    # Starts and ends, each sorted for itself, cover the same addresses: the k-th start is never above the k-th end,
    # and below every address there are as many of either as before.
    lows[:count].sort()
    highs[:count].sort()
    for k in range(count):
        runs[at + k, 0], runs[at + k, 1] = lows[k], highs[k]
    return at + count


@compiled
def _blocks(start: int, end: int, width: int, is_flat: bool, files: I64, n_files: int) -> int:
    """Collect the blocks that a lifetime is filed in as (block, start, end): those it covers partly, or all if flat."""
    low, high = start // width, (end - 1) // width
    block = low
    while block <= high:
        if is_flat or start > block * width or end < (block + 1) * width:
            files[n_files, 0], files[n_files, 1], files[n_files, 2] = block, start, end
            n_files += 1
        block = block + 1 if is_flat else max(block + 1, high)
    return n_files


@compiled
def _nodes(
    start: int,
    end: int,
    width: int,
    leaves: int,
    stamp: I64,
    now: int,
    covers: I64,
    n_covers: int,
    above: I64,
    n_above: int,
) -> tuple[int, int]:
    """Collect the nodes of the tree for a lifetime, which covers whole blocks from:to.

    `covers` gets the fewest nodes whose spans make up those blocks, `above` the other nodes on the ways from the root
    to the first and the last block that the lifetime touches, each once for one `now`.
    """
    from_leaf, to_leaf = (start + width - 1) // width + leaves, end // width + leaves
    left, right = from_leaf, to_leaf
    while left < right:
        if left & 1:
            covers[n_covers] = left
            n_covers += 1
            left += 1
        if right & 1:
            right -= 1
            covers[n_covers] = right
            n_covers += 1
        left >>= 1
        right >>= 1
    height, first, last = 0, start // width + leaves, (end - 1) // width + leaves
    while first > 0:
        for v in (first, last):
            is_covered = from_leaf <= v << height and (v + 1) << height <= to_leaf
            if not is_covered and stamp[v] != now:
                stamp[v] = now
                above[n_above] = v
                n_above += 1
        first >>= 1
        last >>= 1
        height += 1
    return n_covers, n_above


@compiled
def _most(
    order: I64, first: I64, start: I64, end: I64, conflict_first: I64, width: int, is_flat: bool
) -> tuple[int, int, int, int]:
    """Return (all items, items of one buffer, lifetimes of one buffer, neighbours of one buffer), at the most."""
    n_items, n_files, n_lives, n_neighbours = 0, 0, 0, 0
    for i in order:
        files = 0
        for life in range(first[i], first[i + 1]):
            files += (end[life] - 1) // width - start[life] // width + 1 if is_flat else 2
        n_items += files
        n_files = max(n_files, files)
        n_lives = max(n_lives, first[i + 1] - first[i])
        n_neighbours = max(n_neighbours, conflict_first[i + 1] - conflict_first[i])
    return n_items, n_files, n_lives, n_neighbours


@kernel(NEW_COLUMN(*(COLUMN,) * 9, ROWS, *(NUMBER,) * 3, FLAG, FLAG, COLUMN))
def pack(
    order: I64,
    size: I64,
    first: I64,
    start: I64,
    end: I64,
    conflict_first: I64,
    conflict: I64,
    lowest: I64,
    step: I64,
    reserved: I64,
    capacity: int,
    n_live_sets: int,
    width: int,
    is_flat: bool,
    best_fit: bool,
    flag: I64,
) -> I64:
    """Return the offset of each buffer of `order`, placed one after the other in one memory; ABSENT where none is free.

    order (k,): buffers; size, lowest, step (n,); first (n + 1,), start, end (m,): lifetimes, in live sets;
    conflict_first (n + 1,), conflict: symmetric lists of explicit conflicts; reserved (r, 2): disjoint ascending
    address ranges. Buffer `i` may start at lowest[i] and every step[i] above it, up to capacity - size[i]. First fit
    takes the lowest offset, best fit the lowest in the smallest gap. `width` is the number of live sets in a block; a
    flat pack has no tree, but an item in each block that a buffer touches. Once flag[0] is not 0, the rest is ABSENT.

    O(log(blocks)) lists are walked for a buffer, or as many as it touches blocks, if flat; linear memory. No sum passes
    2^63 - 1, whatever the sizes.
    """
    # 1. Room for the lists of the blocks and of the nodes, and for what concerns one buffer.
    n_blocks = max(1, (n_live_sets + width - 1) // width)
    leaves, height = 1, 1
    while leaves < n_blocks and not is_flat:
        leaves *= 2
        height += 1
    n_items, n_files, n_lives, n_neighbours = _most(order, first, start, end, conflict_first, width, is_flat)
    n_nodes = 0 if is_flat else 2 * height * n_lives
    # List v of a node v is of what covers its span, list 2 * leaves + v of whatever touches it. Rows hold (where the
    # list begins, how long it is, how long it may grow there).
    block_lists, node_lists = np.zeros((n_blocks, 3), np.int64), np.zeros((4 * leaves, 3), np.int64)
    items, items_top = np.empty((3 * n_items + 64, 4), np.int64), ZERO
    scratch = ZERO + len(reserved)
    runs_top = scratch + n_neighbours
    runs = np.empty((runs_top + 64 + (0 if is_flat else 4 * len(order)), 2), np.int64)
    for row in range(scratch):
        runs[row, 0], runs[row, 1] = reserved[row, 0], reserved[row, 1]
    lows, highs = np.empty(n_neighbours, np.int64), np.empty(n_neighbours, np.int64)
    placed_at = np.full(len(size) if n_neighbours else 0, ABSENT)
    files, covers, above = np.empty((n_files, 3), np.int64), np.empty(n_nodes, np.int64), np.empty(n_nodes, np.int64)
    stamp = np.full(2 * leaves, -1)
    most = n_files + 2 * n_nodes + 2
    cursor, stop, mine = np.empty(most, np.int64), np.empty(most, np.int64), np.empty((n_files, 2), np.int64)
    offsets = np.full(len(order), ABSENT)

    for k, i in enumerate(order):
        if flag[0] != 0:
            break
        # 2. The blocks and nodes that the buffer's lifetimes touch.
        n_files = n_covers = n_above = ZERO
        for life in range(first[i], first[i + 1]):
            n_files = _blocks(start[life], end[life], width, is_flat, files, n_files)
            if not is_flat:
                n_covers, n_above = _nodes(
                    start[life], end[life], width, leaves, stamp, k, covers, n_covers, above, n_above
                )

        # 3. The lists of what it must keep clear of, those which hold something.
        n_lists = ZERO
        for f in range(n_files):
            b = files[f, 0]
            if block_lists[b, 1] > 0:
                cursor[n_lists], stop[n_lists] = block_lists[b, 0], block_lists[b, 0] + block_lists[b, 1]
                mine[n_lists, 0], mine[n_lists, 1] = files[f, 1], files[f, 2]
                n_lists += 1
        n_items = n_lists
        for c in range(n_covers + n_above):
            v = 2 * leaves + covers[n_covers - 1 - c] if c < n_covers else above[n_above - 1 - (c - n_covers)]
            if node_lists[v, 1] > 0:
                cursor[n_lists], stop[n_lists] = node_lists[v, 0], node_lists[v, 0] + node_lists[v, 1]
                n_lists += 1
        if scratch > 0:
            cursor[n_lists], stop[n_lists] = 0, scratch
            n_lists += 1
        if n_neighbours > 0:
            neighbours = conflict[conflict_first[i] : conflict_first[i + 1]]
            cursor[n_lists] = scratch
            stop[n_lists] = _gather_neighbours(neighbours, lows, highs, size, placed_at, runs, scratch)
            n_lists += 1

        # 4. Its offset.
        limit = capacity - size[i]
        lists = (items, runs, cursor, stop, mine, n_items, n_lists)
        if best_fit:
            at = _tightest(lowest[i], size[i], lowest[i], step[i], limit, lists)
        else:
            at = _lifted(lowest[i], size[i], lowest[i], step[i], limit, lists)
        if at > limit:
            continue
        offsets[k] = at
        if n_neighbours > 0:
            placed_at[i] = at

        # 5. Filing it.
        for f in range(n_files):
            b = files[f, 0]
            if block_lists[b, 1] == block_lists[b, 2]:
                items, items_top = _moved(items, items_top, block_lists, b)
            _file_item(items, block_lists, b, at, at + size[i], files[f, 1], files[f, 2])
        for c in range(2 * n_covers + n_above):  # each covered node has two lists: what covers it, and what touches it
            if c < n_covers:
                v = covers[c]
            else:
                v = 2 * leaves + (covers[c - n_covers] if c < 2 * n_covers else above[c - 2 * n_covers])
            if node_lists[v, 1] == node_lists[v, 2]:
                runs, runs_top = _moved(runs, runs_top, node_lists, v)
            _merge_run(runs, node_lists, v, at, at + size[i])
    return offsets
