"""The lists of a pack: what is filed in each block of time, and at each node of the tree over the blocks.

Rows of `lists` say (where a list begins in `items` or `runs`, how long it is, how long it may grow there).
"""

from __future__ import annotations

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.packing.offsets import Pairs, kept_out
from memplan.solvers.kernels.tables import ABSENT, ZERO, Rows, step


@step
def space_to_move(lists: Rows, v: int) -> int:
    """Return how many rows list `v` takes at the most if it has to move; for each time that something is filed there.

    A list with space for r rows that gets k more ends with space for less than 2 (r + k), after moves that took less
    than twice that, and 4 (r + k) is at most k times 4 (r + 1).
    """
    space: int = lists[v, 2]
    return 4 * (space + 1)


@step
def moved(rows: Rows, top: int, lists: Rows, v: int) -> int:
    """Move list `v`, which is full, to row `top` of `rows`, with twice the space; return the new top."""
    at, count = lists[v, 0], lists[v, 1]
    space: int = max(2, 2 * count)
    for row in range(count):
        for c in range(rows.shape[1]):
            rows[top + row, c] = rows[at + row, c]
    lists[v, 0], lists[v, 2] = top, space
    return top + space


@step
def file_item(items: Rows, lists: Rows, v: int, low: int, high: int, start: int, end: int) -> None:
    """Insert an item into list `v`, which has space and stays sorted by `low`."""
    at = lists[v, 0]
    row = at + lists[v, 1]
    while row > at and items[row - 1, 0] > low:
        for c in range(4):
            items[row, c] = items[row - 1, c]
        row -= 1
    items[row, 0], items[row, 1], items[row, 2], items[row, 3] = low, high, start, end
    lists[v, 1] += 1


@step
def merge_run(runs: Rows, lists: Rows, v: int, low: int, high: int) -> None:
    """Merge the addresses low:high into list `v`, which has space; its runs stay sorted and apart."""
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


@step
def sort(values: I64, n: int) -> None:
    """Sort the first `n` values by a heap, in O(n log n); numpy's way takes a second to compile."""
    first, last = n // 2, n - 1
    while last > 0:
        if first > 0:
            first -= 1
        else:
            values[ZERO], values[last] = values[last], values[ZERO]
            last -= 1
        value, at, below = values[first], first, 2 * first + 1
        while below <= last:
            if below < last and values[below] < values[below + 1]:
                below += 1
            if values[below] <= value:
                break
            values[at] = values[below]
            at, below = below, 2 * below + 1
        values[at] = value


@step
def gather(
    first: int,
    last: int,
    pairs: Pairs,
    lows: I64,
    highs: I64,
    size: I64,
    placed_at: I64,
    runs: Rows,
    at: int,
) -> int:
    """Write what rows first:last of `pairs` keep out of into `runs` from row `at` on, sorted; return how many.

    Others that are not placed yet keep nobody out.
    """
    count = ZERO
    for k in range(first, last):
        j = pairs[1][k]
        if placed_at[j] != ABSENT:
            lows[count], highs[count] = kept_out(placed_at[j], placed_at[j] + size[j], k, pairs)
            count += 1
    # Starts and ends, each sorted for itself, cover the same addresses: the k-th start is never above the k-th end,
    # and below every address there are as many of either as before.
    sort(lows, count)
    sort(highs, count)
    for k in range(count):
        runs[at + k, 0], runs[at + k, 1] = lows[k], highs[k]
    return count


@step
def blocks(i: int, start: int, end: int, width: int, is_flat: bool, files: Rows, n_files: int) -> int:
    """Collect the blocks that a lifetime of buffer `i` is filed in: those it covers partly, or all if flat.

    Rows are (block, start, end, buffer).
    """
    low, high = start // width, (end - 1) // width
    block = low
    while block <= high:
        if is_flat or start > block * width or end < (block + 1) * width:
            files[n_files, 0], files[n_files, 1], files[n_files, 2], files[n_files, 3] = block, start, end, i
            n_files += 1
        block = block + 1 if is_flat else max(block + 1, high)
    return n_files


@step
def nodes(
    i: int,
    start: int,
    end: int,
    width: int,
    leaves: int,
    stamp: I64,
    now: int,
    covers: Rows,
    n_covers: int,
    above: Rows,
    n_above: int,
) -> tuple[int, int]:
    """Collect the nodes of the tree for a lifetime of buffer `i`, which covers whole blocks from:to.

    `covers` gets the fewest nodes whose spans make up those blocks, `above` the other nodes on the ways from the root
    to the first and the last block that the lifetime touches, each once for one `now`. Rows are (node, buffer).
    """
    from_leaf, to_leaf = (start + width - 1) // width + leaves, end // width + leaves
    left, right = from_leaf, to_leaf
    while left < right:
        if left & 1:
            covers[n_covers, 0], covers[n_covers, 1] = left, i
            n_covers += 1
            left += 1
        if right & 1:
            right -= 1
            covers[n_covers, 0], covers[n_covers, 1] = right, i
            n_covers += 1
        left >>= 1
        right >>= 1
    height, first, last = 0, start // width + leaves, (end - 1) // width + leaves
    while first > 0:
        for v in (first, last):
            is_covered = from_leaf <= v << height and (v + 1) << height <= to_leaf
            if not is_covered and stamp[v] != now:
                stamp[v] = now
                above[n_above, 0], above[n_above, 1] = v, i
                n_above += 1
        first >>= 1
        last >>= 1
        height += 1
    return n_covers, n_above


@step
def touched(c: int, covers: Rows, n_covers: int, above: Rows, leaves: int) -> tuple[int, int]:
    """Return list `c` of those that a body is filed in at the nodes of the tree, as (list, buffer).

    A covered node has two: of what covers it, and of what touches it.
    """
    if c < n_covers:
        return covers[c, 0], covers[c, 1]
    if c < 2 * n_covers:
        return 2 * leaves + covers[c - n_covers, 0], covers[c - n_covers, 1]
    return 2 * leaves + above[c - 2 * n_covers, 0], above[c - 2 * n_covers, 1]


@step
def add(at: int, count: int, distance: int, size: int, walk: tuple[I64, I64, Rows], n_lists: int) -> int:
    """Add a list of so many rows to those that are walked, unless it is empty; return how many these are.

    It concerns `size` addresses, `distance` above the offset of the body.
    """
    cursor, stop, part = walk
    if count == 0:
        return n_lists
    cursor[n_lists], stop[n_lists] = at, at + count
    part[n_lists, 0], part[n_lists, 1] = distance, size
    return n_lists + 1
