"""Regions in tiles and in stripes of rows: rows recomputed or rolled, columns whole, recomputed or rolled.

The axes are independent of each other, so each height and each width is followed once; then all pairs are put together.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from memplan.capabilities.cascade.kernels import GROUP
from memplan.capabilities.cascade.kernels.access import (
    COUNT,
    DIVISOR,
    EVALUATED,
    FOUND_FROM,
    FOUND_HEIGHT,
    FOUND_KIND,
    FOUND_MACS,
    FOUND_PEAK,
    FOUND_RUNS,
    FOUND_SAVED,
    FOUND_TO,
    FOUND_TRAFFIC,
    FOUND_WIDTH,
    FULL,
    HIGH,
    KIND_AGAIN,
    KIND_PIECES,
    KIND_ROWS,
    KIND_THIN,
    KIND_TILES,
    LOST,
    LOW,
    N_WINDOW,
    RECOMPUTE,
    ROLL,
    SCALE,
    STRIPED,
    SUM,
    Access,
    Ranges,
    bytes_read,
    cut_in_steps,
    make,
    make_all,
    make_beside,
    make_whole_again,
    read_by,
    rounded,
    saved_by_sliding,
)
from memplan.planner.model.buffer_table import I64
from memplan.solvers.kernels.kernel import Kernel
from memplan.solvers.kernels.tables import ZERO, Rows, step


class TileSearch(NamedTuple):
    """One last operation `j - 1` with heights and widths of tiles; l operations in the longest region.

    The operations count from the last one backwards, the edges from the last edge of operation j - 1.
    """

    j: int
    longest: int
    kind: int  # KIND_ROWS, KIND_AGAIN, KIND_TILES, KIND_PANELS, KIND_THIN or KIND_PIECES
    slides: bool  # outputs in whole rows may grow into dying inputs
    warm_up: int  # rows or columns
    worst: float
    stride: Rows  # (2, s): heights and widths, 0 behind the last; -n for a part of n of one, where they roll
    widens: I64  # (l,): 1 for an operation that makes wider pixels of single ones
    latest: I64  # (l,): the last operation of the region that reads what an operation makes
    total: Rows  # (2s, l): rows or columns made; heights first, then widths
    runs: Rows  # (2s, l)
    capacity: Rows  # (2s, l): negative for what is kept from step to step
    reads: Rows  # (2s, e): rows or columns read, for each edge
    piece: Rows  # (2s, e): of a streamed input, at its first edge
    saved: Rows  # (2s, l): bytes saved by sliding, for each first operation
    slide: I64  # (2,): of the last one followed, the input into which the output grows, and how far below it begins
    profile: I64  # (l,)
    found: Rows  # (f, 10)
    answer: I64  # (3,)


@step
def length_of(access: Access, search: TileSearch) -> int:
    """Return the operations in the longest region that ends with operation j - 1; write what is known of them."""
    j, n, in_rows = search.j, 1, has_whole_rows(search)
    search.widens[0] = widens(access, j - 1)
    for v in range(j - 2, max(-1, j - 1 - search.longest), -1):
        tensor = access.out[v]
        if access.role[v] != STRIPED:
            break
        latest = -1
        for k in range(access.reader_first[tensor], access.reader_first[tensor + 1]):
            reader = access.reader[access.reading[k]]
            if reader < j:
                latest = max(latest, reader)
        # What only others read later would be whole; an output that nothing reads may be made beside the rest.
        if latest < 0 and not (in_rows and access.reader_first[tensor] == access.reader_first[tensor + 1]):
            break
        search.latest[j - 1 - v], search.widens[j - 1 - v] = max(latest, v), widens(access, v)
        n += 1
    return n


@step
def widens(access: Access, v: int) -> int:
    """Return 1 for an operation that makes each pixel of the same ones, which have fewer bytes together."""
    read = 0
    for edge in range(access.edge_first[v], access.edge_first[v + 1]):
        read += access.pixel[access.source[edge]]
        for axis in range(2):
            at = N_WINDOW * axis
            if access.window[edge, at + SCALE] != 1 or access.window[edge, at + DIVISOR] != 1:
                return 0
            if access.window[edge, at + LOW] != 0 or access.window[edge, at + HIGH] != 0:
                return 0
    return 1 if access.pixel[access.out[v]] > read else 0


@step
def follow(access: Access, ranges: Ranges, search: TileSearch, axis: int, choice: int, n: int) -> int:
    """Follow one height or width through a region of n operations: rows or columns made, read and held.

    The ranges of pieces lie in the last slots. Return the number of steps.
    """
    j, stride = search.j, search.stride[axis, choice]
    line = axis * search.stride.shape[1] + choice
    is_sum = access.role[j - 1] == SUM
    drives = access.source[access.edge_first[j - 1]] if is_sum else access.out[j - 1]
    size = access.size[drives, axis]
    each, parts = max(1, stride), max(1, -stride)
    rolls = rolls_along(search, axis)
    warm_up = search.warm_up * parts // each if rolls and each < size else 0
    steps = warm_up + (size * parts + each - 1) // each
    last_edge = access.edge_first[j] - 1
    in_rows = has_whole_rows(search)
    is_all, spare = in_rows and axis == 1, len(ranges.total)
    for k in range(n):
        v = j - 1 - k
        tensor = access.out[v]
        if k == 0:
            cut_in_steps(ranges, 0, size, stride, warm_up, steps)
            search.capacity[line, 0] = min(each, size)
        elif is_all:
            search.capacity[line, k] = make_all(ranges, k, access.size[tensor, 1])
        else:
            latest = read_by(access, ranges, j, tensor, v, axis, steps)
            if latest < 0:
                search.capacity[line, k] = make_beside(access, ranges, j, v, steps)
            elif access.last[tensor] < j:
                is_again = search.kind == KIND_AGAIN or (search.kind == KIND_THIN and search.widens[k] == 1)
                mode = ROLL if rolls and not is_again else RECOMPUTE
                search.capacity[line, k] = make(ranges, k, mode, access.size[tensor, axis], steps)
            elif rolls:
                search.capacity[line, k] = make(ranges, k, FULL, access.size[tensor, axis], steps)
            else:
                make_whole_again(ranges, k, access.size[tensor, axis], steps)
        search.total[line, k], search.runs[line, k] = ranges.total[k], ranges.runs[k]
        for edge in range(access.edge_first[v], access.edge_first[v + 1]):
            search.reads[line, last_edge - edge] = bytes_read(access, ranges, edge, k, axis, steps)
            if is_piece(access, edge, j):
                size_in, spare = access.size[access.source[edge], axis], spare - 1
                if is_all:
                    search.piece[line, last_edge - edge] = make_all(ranges, spare, size_in)
                    continue
                read_by(access, ranges, j, access.source[edge], v, axis, steps)
                mode = ROLL if in_rows or search.kind == KIND_PIECES else RECOMPUTE
                search.piece[line, last_edge - edge] = make(ranges, spare, mode, size_in, steps)
        if search.slides and in_rows and axis == 0:
            search.saved[line, k] = saved_by_sliding(access, ranges, search.slide, j, v, steps)
    return 1 if is_all else int(steps)


@step
def rolls_along(search: TileSearch, axis: int) -> bool:
    """Return True if tensors roll along an axis."""
    if has_whole_rows(search):
        return axis == 0
    return search.kind == KIND_PIECES or (axis == 1 and search.kind != KIND_TILES)


@step
def has_whole_rows(search: TileSearch) -> bool:
    """Return True for stripes of whole rows."""
    return bool(search.kind == KIND_ROWS) or bool(search.kind == KIND_AGAIN)


@step
def area_held(access: Access, tensor: int, rows: int, columns: int) -> int:
    """Return the pixels of a buffer; negative for what is kept from step to step, as capacities are.

    What is kept from one row to the next has all columns.
    """
    if rows < 0:
        return int(rows * access.size[tensor, 1])
    return rows * columns


@step
def is_piece(access: Access, edge: int, j: int) -> bool:
    """Return True if an edge is the first to read an input in pieces, which nothing behind operation j - 1 reads."""
    tensor = access.source[edge]
    is_first = access.reading[access.reader_first[tensor]] == edge
    return bool(access.maker[tensor] < 0 and access.is_streamed[tensor] == 1 and is_first and access.last[tensor] < j)


@step
def put_together(access: Access, search: TileSearch, a: int, b: int, n: int) -> None:
    """Offer the regions of 1 to n operations in tiles of one height and one width."""
    j, answer, found, profile = search.j, search.answer, search.found, search.profile
    w = search.stride.shape[1] + b
    sink, last_edge = access.out[j - 1], access.edge_first[j] - 1
    is_sum = access.role[j - 1] == SUM
    after = 0
    if is_sum:
        after = access.sums[j - 1] + access.live[j] + (access.whole[sink] if access.last[sink] < j else 0)
    inside, kept, lead, macs, traffic, runs, base = 0, 0, 0, 0, 0, 0, 0
    for k in range(n):
        # 1. Its work, and its reads.
        v = j - 1 - k
        tensor = access.out[v]
        times = search.runs[a, k] * search.runs[w, k]
        area = search.total[a, k] * search.total[w, k]
        runs += times
        traffic += access.weights[v] * times
        if is_sum and k == 0:
            macs, base = macs + access.macs[v], base + access.macs[v]
            traffic += access.size[tensor, 0] * access.size[tensor, 1] * access.pixel[tensor]
        else:
            macs += area * access.macs[v]
            base += access.macs[v] * access.size[tensor, 0] * access.size[tensor, 1]
            traffic += area * access.pixel[tensor]
        for edge in range(access.edge_first[v], access.edge_first[v + 1]):
            at = last_edge - edge
            traffic += search.reads[a, at] * search.reads[w, at] * access.pixel[access.source[edge]]

        # 2. Its buffer.
        profile[k] = lead
        if k == 0 and is_sum:
            inside += access.sums[v]
        elif access.last[tensor] >= j or (k == 0 and access.is_streamed[tensor] == 0):
            inside += access.whole[tensor]
        else:
            area = area_held(access, tensor, search.capacity[a, k], search.capacity[w, k])
            bytes_ = rounded(abs(area) * access.pixel[tensor], access.alignment)
            if area < 0:
                kept += bytes_
            else:
                for i in range(0 if k == 0 else j - 1 - search.latest[k], k + 1):
                    profile[i] += bytes_

        # 3. Inputs that come in pieces.
        for edge in range(access.edge_first[v], access.edge_first[v + 1]):
            if is_piece(access, edge, j):
                source = access.source[edge]
                area = area_held(access, source, search.piece[a, last_edge - edge], search.piece[w, last_edge - edge])
                bytes_ = rounded(abs(area) * access.pixel[source], access.alignment)
                inside -= access.whole[source]
                if area < 0:
                    kept += bytes_
                    continue
                lead += bytes_
                latest = access.last[source]
                for i in range(j - 1 - latest, k + 1):
                    profile[i] += bytes_

        # 4. The region that begins here.
        answer[EVALUATED] += 1
        if macs > int(search.worst * base) + 1:
            continue
        within = 0
        for i in range(k + 1):
            within = max(within, profile[i])
        saved = search.saved[a, k] if search.slides and has_whole_rows(search) else ZERO
        peak = max(access.live[v] + inside + kept + within - saved, after)
        row = answer[COUNT]
        if row == len(found):
            answer[LOST] += 1
            continue
        answer[COUNT] += 1
        found[row, FOUND_FROM], found[row, FOUND_TO], found[row, FOUND_PEAK] = v, j, peak
        found[row, FOUND_MACS], found[row, FOUND_TRAFFIC], found[row, FOUND_RUNS] = macs, traffic, runs
        found[row, FOUND_KIND], found[row, FOUND_SAVED] = search.kind, saved
        found[row, FOUND_HEIGHT], found[row, FOUND_WIDTH] = search.stride[0, a], search.stride[1, b]


@step
def is_tried(search: TileSearch, axis: int, choice: int) -> bool:
    """Return True for a stride; steps finer than a row or column are for what rolls."""
    stride = search.stride[axis, choice]
    return bool(stride > 0 or (stride < 0 and rolls_along(search, axis)))


@partial(Kernel, group=GROUP)
def grow_tiles(access: Access, ranges: Ranges, search: TileSearch) -> int:
    """Write the regions in tiles that end with operation j - 1; return their number."""
    n = length_of(access, search)
    if search.kind == KIND_THIN and search.widens[1:n].sum() == 0:
        return int(search.answer[COUNT])
    for axis in range(2):
        for choice in range(search.stride.shape[1]):
            if is_tried(search, axis, choice):
                follow(access, ranges, search, axis, choice, n)
    for a in range(search.stride.shape[1]):
        for b in range(search.stride.shape[1]):
            if is_tried(search, 0, a) and is_tried(search, 1, b):
                put_together(access, search, a, b, n)
    return int(search.answer[COUNT])


@partial(Kernel, group=GROUP)
def follow_region(access: Access, rows: Ranges, columns: Ranges, search: TileSearch) -> int:
    """Write the ranges of the longest region in tiles of the first height and width; return its operations.

    `answer` gets the numbers of steps along both axes.
    """
    n = length_of(access, search)
    search.answer[0] = follow(access, rows, search, 0, 0, n)
    search.answer[1] = follow(access, columns, search, 1, 0, n)
    return n
