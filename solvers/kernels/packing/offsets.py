"""The lowest or tightest offset that is free for a body: one buffer, or several at fixed distances from each other."""

from __future__ import annotations

from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.tables import ABSENT, I64_MAX, Rows, step

Grid = tuple[int, int, int, Rows, int, Rows]
"""(lowest, stride, limit, pages, n_pages, levels): a body may lie at lowest + k * stride up to limit (k >= 0) where no
page rule is broken. The rules are the first n_pages rows (page, page_shift, distance, size) of `pages`: what lies
`distance` above the body's offset o keeps (o + distance + page_shift) % page + size <= page. `levels` is scratch.
"""
Lists = tuple[Rows, Rows, I64, I64, Rows, Rows, int, int]
"""(items, runs, cursor, stop, alive, part, n_items, n): what a body must keep clear of, as `n` lists sorted by address.

List k is the rows cursor[k]:stop[k]: for k < n_items of `items` (low, high, start, end), where only those alive in
alive[k, 0]:alive[k, 1] count, else of `runs` (low, high). It concerns part[k, 1] addresses, part[k, 0] above the offset
of the body.
"""
_TRIES = 1_000
"""The most times that an offset is raised from one page rule to the next before it is given up; as in Bodies."""


@step
def legal(at: int, grid: Grid) -> int:
    """Return the least offset of a grid that is not below `at`; something above its limit where that is."""
    lowest, stride, limit, pages, n_pages, levels = grid
    at = _rounded_up(at, lowest, stride, limit)
    k = tries = 0
    while k < n_pages and at <= limit:
        page, size = pages[k, 0], pages[k, 3]
        place = _place(at + pages[k, 2], page, pages[k, 1])
        if place + size <= page:
            k += 1
            continue
        steps = ABSENT if size > page else first_multiple(stride, page, page - place, 2 * page - place - size, levels)
        tries += 1
        if tries == _TRIES or steps < 0 or steps > (limit - at) // stride:
            return limit + 1
        at += steps * stride
        k = 0
    return at


@step
def first_multiple(stride: int, modulus: int, low: int, high: int, levels: Rows) -> int:
    """Return the least k >= 0 with low <= k * stride % modulus <= high, for 0 < low <= high; ABSENT if none is, or if
    k * stride passes 2^63 - 1.

    O(log modulus), as in Euclid's algorithm, see `rigid_bodies`; `levels` keeps (stride, modulus, low) of each level.
    """
    depth = 0
    while True:
        stride %= modulus
        if stride == 0:
            return ABSENT
        if stride > modulus - stride:
            stride, low, high = modulus - stride, modulus - high, modulus - low
        steps = (low - 1) // stride + 1
        if steps * stride <= high:
            break
        levels[depth, 0], levels[depth, 1], levels[depth, 2] = stride, modulus, low
        depth += 1
        stride, modulus, low, high = -modulus % stride, stride, low % stride, high % stride
    while depth > 0:
        depth -= 1
        if steps > (I64_MAX - levels[depth, 2]) // levels[depth, 1]:
            return ABSENT
        steps = (levels[depth, 2] + levels[depth, 1] * steps - 1) // levels[depth, 0] + 1
    return steps


@step
def _rounded_up(at: int, lowest: int, stride: int, limit: int) -> int:
    """Return the least lowest + k * stride (k >= 0) that is not below `at`; something above `limit` where that is."""
    if at <= lowest:
        return lowest
    if stride == 1:
        return at
    waste = (lowest - at) % stride
    return limit + 1 if waste > limit - at else at + waste


@step
def _place(at: int, page: int, page_shift: int) -> int:
    """Return where in its page an offset lies, (at + page_shift) % page."""
    place = at % page - (page - page_shift)
    return place if place >= 0 else place + page


@step
def lifted(at: int, grid: Grid, lists: Lists) -> int:
    """Return the least legal offset, not below `at`, where a body is clear of all lists; above the limit if none is.

    The cursors go on to the first rows that end above it.
    """
    items, runs, cursor, stop, alive, part, n_items, n_lists = lists
    limit, is_anywhere = grid[2], grid[1] == 1 and grid[4] == 0
    k = quiet = 0
    while quiet < n_lists and at <= limit:
        row, last = cursor[k], stop[k]
        before = at
        distance, size = part[k, 0], part[k, 1]
        here = at + distance
        if k < n_items:
            mine_start, mine_end = alive[k, 0], alive[k, 1]
            while row < last:
                if items[row, 1] > here and items[row, 2] < mine_end and items[row, 3] > mine_start:
                    if items[row, 0] >= here + size:
                        break
                    at = items[row, 1] - distance
                    at = at if is_anywhere else legal(at, grid)
                    if at > limit:
                        break
                    here = at + distance
                row += 1
        else:
            while row < last:
                if runs[row, 1] > here:
                    if runs[row, 0] >= here + size:
                        break
                    at = runs[row, 1] - distance
                    at = at if is_anywhere else legal(at, grid)
                    if at > limit:
                        break
                    here = at + distance
                row += 1
        cursor[k] = row
        quiet = quiet + 1 if at == before else 1
        k = k + 1 if k + 1 < n_lists else 0
    return at


@step
def tightest(at: int, grid: Grid, lists: Lists) -> int:
    """Return the lowest of the legal offsets, not below `at`, above which the body could be moved up least."""
    items, runs, cursor, stop, _, part, n_items, n_lists = lists
    limit = grid[2]
    best, least = limit + 1, I64_MAX
    while least > 0:
        at = lifted(at, grid, lists)
        if at > limit:
            break
        ceiling = I64_MAX
        for k in range(n_lists):
            if cursor[k] < stop[k]:
                low = items[cursor[k], 0] if k < n_items else runs[cursor[k], 0]
                ceiling = min(ceiling, low - part[k, 0] - part[k, 1])
        if best > limit or ceiling - at < least:
            best, least = at, ceiling - at
        if ceiling == I64_MAX:
            break
        at = legal(ceiling + 1, grid)
    return best


Adjacency = tuple[I64, I64]
"""(first, values): those of buffer `i` are values[first[i]:first[i + 1]]."""
Pairs = tuple[I64, I64, I64, I64, int]
"""(first, other, clearance, grid, shift): the rules of pairs, as in `PairRules`."""
Rivals = tuple[Pairs, Adjacency, tuple[I64, I64, I64]]
"""(pairs, shares, lives): what keeps out of the bytes of others wherever they lie, with whom each buffer may share an
offset, and its lifetimes (first, start, end)."""
Placed = tuple[I64, I64, int, I64, Rows]
"""(order, offsets, n, placed_at, reserved): the first `n` of `order` lie at `offsets`, and so at placed_at[order]."""


@step
def lowest_shared(
    members: I64,
    distance: I64,
    size: I64,
    grid: Grid,
    below: int,
    rivals: Rivals,
    placed: Placed,
) -> int:
    """Return the lowest offset under `below` where a body is free and shares a buffer's offset; `below` if none is.

    O(placed buffers) for each pair that may share.
    """
    share_first, share = rivals[1]
    best = below
    for i in members:
        for j in share[share_first[i] : share_first[i + 1]]:
            at = placed[3][j] - distance[i]
            if placed[3][j] != ABSENT and grid[0] <= at < best and at <= grid[2] and legal(at, grid) == at:
                if _is_free(members, distance, size, at, rivals, placed):
                    best = at
    return best


@step
def _is_free(members: I64, distance: I64, size: I64, at: int, rivals: Rivals, placed: Placed) -> bool:
    """Say whether a body at `at` is clear of all that is placed, but for what its members share an offset with."""
    order, offsets, n, placed_at, reserved = placed
    pairs, shares, lives = rivals
    for i in members:
        low, high = at + distance[i], at + distance[i] + size[i]
        for row in range(len(reserved)):
            if reserved[row, 0] < high and low < reserved[row, 1]:
                return False
        for k in range(n):
            j = order[k]
            if offsets[k] != ABSENT and offsets[k] < high and low < offsets[k] + size[j]:
                may_be = offsets[k] == low and _is_listed(shares, i, j)
                if not may_be and _meet(lives, i, j):
                    return False
        for k in range(pairs[0][i], pairs[0][i + 1]):
            j = pairs[1][k]
            if placed_at[j] != ABSENT:
                start, end = kept_out(placed_at[j], placed_at[j] + size[j], k, pairs)
                if start < high and low < end:
                    return False
    return True


@step
def kept_out(low: int, high: int, k: int, pairs: Pairs) -> tuple[int, int]:
    """Return the addresses that row `k` of pairs keeps a buffer out of, where the other one lies at low:high."""
    clearance, length, shift = pairs[2][k], pairs[3][k], pairs[4]
    low, high = low - clearance, high + min(clearance, I64_MAX - high)
    if length == 1:
        return low, high
    before = low % length - (length - shift)
    last = (high - 1) % length - (length - shift)
    left = -last if last < 0 else length - last  # from the last byte to the end of its bank
    return low - (before if before >= 0 else before + length), high - 1 + min(left, I64_MAX - (high - 1))


@step
def _is_listed(rows: Adjacency, i: int, j: int) -> bool:
    first, values = rows
    for k in range(first[i], first[i + 1]):
        if values[k] == j:
            return True
    return False


@step
def _meet(lives: tuple[I64, I64, I64], i: int, j: int) -> bool:
    """Say whether two buffers are alive together."""
    first, start, end = lives
    for a in range(first[i], first[i + 1]):
        for b in range(first[j], first[j + 1]):
            if start[a] < end[b] and start[b] < end[a]:
                return True
    return False
