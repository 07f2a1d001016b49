"""Single operations in tiles of rows, columns and channels: all tilings in closed form, and the best for each memory.

The bytes over the link are a product for each operand. Together with the arithmetic, they bound the time from below.
The time itself is a sum over kinds of tiles: the first tile along an axis, and the other tiles by their lengths. It is
computed only for tilings whose bound is below the time of all tilings that need no more memory. An operation that
cannot be split runs as a whole, or is a sum over stripes of its input.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from memplan.extensions.cascade.access.access_graph import MOST, AccessGraph
from memplan.extensions.cascade.regions.regions import CascadeRegion, Span, Stripes
from memplan.extensions.cascade.timing.network_run import NetworkStep, run_step
from memplan.extensions.cascade.timing.target import Link, Target
from memplan.extensions.schedule.answer import Objective

Numbers = NDArray[Any]
_Table = tuple[int, Sequence[float], list[int], list[list[int]], list[bool]]
"""The type of a tile size: the work and length of each tile, each operand's lengths, and whether its pieces differ."""
MOST_SIDES = 128
"""The maximum number of tile sizes along an axis; a longer axis gets only the smallest size for each tile count."""
_CHUNK = 512
_ORDERS = ((0, 1, 2), (2, 0, 1))
"""The loop orders, outermost axis first, in which the channels are the innermost or the outermost loop."""
TIE = 1e-9
"""The weight of the secondary cost (traffic or time), which breaks ties between tilings of equal primary cost."""
_ROUNDING = 1e-12
"""The maximum relative change of a sum if its terms are added in another order."""


class LayerFront(NamedTuple):
    """The undominated tilings of an operation, by ascending bytes and descending costs.

    A row of `tiles` has a tiling's rows, columns and channels per tile, its loop order, and the operation's
    alternative.
    """

    bytes: Numbers
    cost: Numbers
    tiles: Numbers

    def best_tiling(self, room: int) -> int:
        """Return the position of the cheapest tiling within `room` bytes, or -1 if none fits."""
        return int(np.searchsorted(self.bytes, room, side="right")) - 1

    @classmethod
    def join(cls, fronts: "Sequence[LayerFront]") -> "LayerFront":
        """Return the undominated tilings over all alternatives; the k-th front has the tilings of alternative k."""
        bytes_, cost = (np.concatenate([getattr(one, name) for one in fronts]) for name in ("bytes", "cost"))
        tiles = np.concatenate([one.tiles + np.array([0, 0, 0, 0, way]) for way, one in enumerate(fronts)])
        front = _undominated_positions(bytes_, cost)
        return cls(bytes_[front], cost[front], tiles[front])


@dataclass(frozen=True)
class _Axis:
    """The tiles of an axis for each tile size; equal tiles are one kind with a `count`, the first tile its own kind.

    Each kind has the work of a tile (`work`), the length of its output (`made`), and the length that it needs of each
    operand (`factors`). `varies` is True for an operand if different tiles need different pieces of it.
    """

    sizes: Numbers
    tiles: Numbers
    count: Numbers
    work: Numbers
    made: Numbers
    factors: list[Numbers]
    varies: list[Numbers]

    def total(self, values: Numbers) -> Numbers:
        """Return, for each tile size, the sum of a value over all tiles of the axis."""
        return np.asarray((self.count * values).sum(axis=1))

    def max_over_tiles(self, values: Numbers) -> Numbers:
        """Return, for each tile size, the maximum of a value over all tiles of the axis."""
        return np.asarray((values * (self.count > 0)).max(axis=1))


def layer_step(graph: AccessGraph, v: int, tile: Sequence[int], retained: tuple[int, ...]) -> NetworkStep:
    """Return the step of an operation in tiles, or of the whole operation if it cannot be tiled."""
    rows, columns, channels, order, way = map(int, tile)
    row = graph.operations[v]
    if row.role == "barrier" or not rows:
        return NetworkStep(CascadeRegion.whole_region(0, v, way), retained)
    if row.role == "sum":
        source = graph.tensors[row.reads[0].tensor]
        made = Stripes(rows=_spans(source.rows, rows), columns=((0, source.columns),))
        region = CascadeRegion.striped_region(0, "rows", (rows, source.columns), {v: made}, ())
        return NetworkStep(region.model_copy(update={"alternative": way}), retained)
    out = graph.tensors[row.outputs[0]]
    along = _spans(max(1, out.channels), channels)
    made = Stripes(rows=_spans(out.rows, rows), columns=_spans(out.columns, columns), channels=along)
    counts = tuple(map(len, (made.rows, made.columns, made.channels)))
    is_outside = order == 1 and min(counts[2], counts[0] * counts[1]) > 1
    region = CascadeRegion.striped_region(0, "tiles", (rows, columns), {v: made}, ())
    return NetworkStep(region.model_copy(update={"alternative": way}), retained, is_outside)


@dataclass(frozen=True)
class LayerTilings:
    """The tilings of a striped operation, with whole tensors in the fast memory (`fast`) or the last memory (`far`)."""

    graph: AccessGraph
    v: int
    fast: frozenset[int]
    target: Target
    objective: Objective
    far: frozenset[int] = frozenset()

    def front(self) -> LayerFront:
        """Return the tilings that are not dominated in bytes and cost."""
        bytes_, traffic, bound, order, fits = (table.ravel() for table in self._tiling_tables())
        by_bytes = np.lexsort((bound, bytes_))
        by_bytes = by_bytes[fits[by_bytes]]
        bytes_, traffic, bound, order = (table[by_bytes] for table in (bytes_, traffic, bound, order))
        scale = TIE / self.target.link.bandwidth
        if self.objective == "traffic":
            cost = traffic + TIE * bound
        else:
            cost = self._tile_costs(bytes_, bound + scale * traffic, by_bytes, order, scale * traffic)
        front = _undominated_positions(bytes_, cost)
        sizes = [axis.sizes for axis in self._axes]
        where = np.unravel_index(
            by_bytes[front] % np.prod([len(size) for size in sizes]), [len(size) for size in sizes]
        )
        chosen = [size[k] for size, k in zip(sizes, where, strict=True)]
        return LayerFront(bytes_[front], cost[front], np.stack([*chosen, order[front], np.zeros_like(front)], axis=1))

    @cached_property
    def _axes(self) -> tuple[_Axis, _Axis, _Axis]:
        """Return the row, column and channel axes, each with a table of its possible tile sizes."""
        row, tensors, engine = self.graph.operations[self.v], self.graph.tensors, self.target.engine
        out = tensors[row.outputs[0]]
        reads = [read for read in row.reads if read.tensor not in self.fast]
        axes = []
        for axis, native in ((0, engine.height), (1, engine.width)):
            maps = [(read.windows[axis], tensors[read.tensor].sizes[axis]) for read in reads]
            tables: list[_Table] = []
            for size in tile_sizes(out.sizes[axis]):
                spans = _spans(out.sizes[axis], size)
                sources = [[window.input_range(a, b, length) for a, b in spans] for window, length in maps]
                lengths = [[b - a for a, b in spans], *([b - a for a, b in source] for source in sources)]
                varies = [False, *(len(set(source)) > 1 for source in sources)]
                work = [-(-(b - a) // native) * native for a, b in spans]
                tables.append((size, work, lengths[0], [[1] * len(spans), *lengths[1:]], varies))
            axes.append(_axis_table(tables))
        of, tables = max(1, out.channels), list[_Table]()
        # Without bursts, the time of a tile is a convex function of its channels, so try only equal parts.
        for size in tile_sizes(of) if self.target.link.burst > 1 else _even_sizes(of):
            channels = [b - a for a, b in _spans(of, size)]
            factors, varies = [[-(-row.weights * n // of) for n in channels]], [len(channels) > 1]
            for read in reads:
                pixel, is_same = tensors[read.tensor].pixel, read.channels == "same"
                factors.append([-(-pixel * n // of) if is_same else pixel for n in channels])
                varies.append(is_same and len(channels) > 1)
            share = [row.macs * n / of / engine.rate_of(row.kind) for n in channels]
            tables.append((size, share, [-(-out.pixel * n // of) for n in channels], factors, varies))
        return axes[0], axes[1], _axis_table(tables)

    @property
    def _is_written(self) -> bool:
        return self.graph.operations[self.v].outputs[0] not in self.fast

    @cached_property
    def _links(self) -> list[tuple[Link, list[int], bool]]:
        """Return, for each link, the link, the operands that it loads, and True if it also stores the output.

        Operand 0 is the constants; the other operands are the tensors that are read from slower memories.
        """
        row, first = self.graph.operations[self.v], self.target.link
        read = [-1 - self.v, *(read.tensor for read in row.reads if read.tensor not in self.fast)]
        links = [(first, list(range(len(read))), self._is_written)]
        if self.target.has_three:
            far = [k for k, item in enumerate(read) if item in self.far]
            links.append((self.target.links[1], far, self._is_written and row.outputs[0] in self.far))
        return links

    def _tiling_tables(self) -> tuple[Numbers, Numbers, Numbers, Numbers, Numbers]:
        """Return five tables over all tilings and both loop orders: bytes, traffic, time bound, loop order, and fit.

        The time bound is a lower bound. The fit is True for tilings that fit in the second of three memories.
        """
        axes, target = self._axes, self.target
        work = _outer_product([axis.total(axis.work) for axis in axes])
        visits = _outer_product([axis.tiles for axis in axes])
        written = _outer_product([axis.total(axis.made) for axis in axes])
        workspace = target.round_size(self.graph.operations[self.v].work)
        slots, staged = np.full_like(visits, workspace), np.zeros_like(visits)
        _, far, is_far = self._links[-1] if target.has_three else (None, (), False)
        middle = target.memories[1].alignment
        if self._is_written:
            copies = np.where(visits > 1, target.engine.copies, 1)
            largest = _outer_product([axis.max_over_tiles(axis.made) for axis in axes])
            slots = slots + copies * _round_up(largest, target.alignment)
            staged = staged + is_far * copies * _round_up(largest, middle)
        loads = [[self._load_tables(operand, order) for operand in range(len(axes[0].factors))] for order in _ORDERS]
        traffic, bounds = [np.zeros_like(visits)] * 2, [work, work]
        for link, operands, is_stored in self._links:
            for k, in_order in enumerate(loads):
                total, most = written * is_stored, visits * is_stored
                for bytes_, times in (in_order[operand] for operand in operands):
                    total, most = total + bytes_, np.maximum(most, times)
                traffic[k] = traffic[k] + total
                bounds[k] = np.maximum(bounds[k], most * link.latency + total / link.bandwidth)
        for operand, (_, times) in enumerate(loads[0]):
            # Both loop orders load an operand once or neither does, so the first order shows which need copies.
            copies = np.where(times > 1, target.engine.copies, 1)
            largest = _outer_product([axis.max_over_tiles(axis.factors[operand]) for axis in axes])
            slots = slots + copies * _round_up(largest, target.alignment)
            staged = staged + (operand in far) * copies * _round_up(largest, middle)
        fits = staged <= second_room(self.graph, self.v, self.fast | self.far, target)
        shape = (2, *visits.shape)
        numbers = np.broadcast_to(np.arange(2)[:, None, None, None], shape)
        bytes_ = np.broadcast_to(slots, shape)
        return bytes_, np.stack(traffic), np.stack(bounds), numbers, np.broadcast_to(fits, shape)

    def _load_tables(self, operand: int, order: tuple[int, ...]) -> tuple[Numbers, Numbers]:
        """Return two tables over all tilings, for an operand and a loop order: loaded bytes, and number of loads."""
        axes = self._axes
        shape = tuple(len(axis.sizes) for axis in axes)
        bytes_, times = np.ones(shape, np.int64), np.ones(shape, np.int64)
        inner = np.zeros(shape, np.bool_)
        for axis in reversed(order):
            table, view = axes[axis], tuple(-1 if axis == k else 1 for k in range(3))
            varies = np.broadcast_to(table.varies[operand].reshape(view), shape)
            count = table.tiles.reshape(view)
            once = table.factors[operand][:, 0].reshape(view)
            total = table.total(table.factors[operand]).reshape(view)
            bytes_ = bytes_ * np.where(varies, total, np.where(inner, once * count, once))
            times = times * np.where(varies | inner, count, 1)
            inner = inner | varies
        return bytes_, times * (bytes_ > 0)

    def _tile_costs(self, bytes_: Numbers, bound: Numbers, numbers: Numbers, order: Numbers, added: Numbers) -> Numbers:
        """Return each tiling's time plus `added`, or infinity if it is dominated; tilings are by ascending bytes."""
        cost = np.full(len(bytes_), np.inf)
        is_left = np.ones(len(bytes_), np.bool_)
        while True:
            wanted = np.flatnonzero(is_left & (bound * (1 + _ROUNDING) < np.minimum.accumulate(cost)))
            if not len(wanted):
                return cost
            # A low cost excludes many tilings, so first evaluate tilings with the lowest bounds in each range of bytes.
            ranges = np.linspace(0, len(wanted), 17).astype(np.int64)
            leading = [
                wanted[a:b][np.argsort(bound[wanted[a:b]], kind="stable")[: _CHUNK // 16]]
                for a, b in pairwise(ranges.tolist())
            ]
            chunk = np.unique(np.concatenate(leading))
            is_left[chunk] = False
            for is_outside in (0, 1):
                some = chunk[order[chunk] == is_outside]
                if len(some):
                    cost[some] = self._exact_times(numbers[some], _ORDERS[is_outside]) + added[some]

    def _exact_times(self, numbers: Numbers, order: tuple[int, ...]) -> Numbers:
        """Return the exact times, in one loop order, of the tilings with the given numbers."""
        axes = self._axes
        shape = tuple(len(axis.sizes) for axis in axes)
        where = np.unravel_index(numbers % np.prod(shape), shape)

        def axis_products(tables: Iterable[Numbers]) -> Numbers:
            first, second, third = (table[k] for table, k in zip(tables, where, strict=True))
            return first[:, :, None, None] * second[:, None, :, None] * third[:, None, None, :]

        is_first = [
            (np.arange(axis.count.shape[1]) == 0).reshape(tuple(-1 if k == n else 1 for n in range(3)))
            for k, axis in enumerate(axes)
        ]
        slow, middle, fast = (is_first[k] for k in order)
        made, times = axis_products(axis.made for axis in axes), axis_products(axis.work for axis in axes)
        for link, operands, is_stored in self._links:
            moved = made * is_stored
            for operand in operands:
                varies = [axes[k].varies[operand][where[k]][:, None, None, None] for k in order]
                loads = slow & middle & fast
                loads = loads | ~fast & varies[2] | fast & ~middle & (varies[1] | varies[2])
                loads = loads | fast & middle & ~slow & (varies[0] | varies[1] | varies[2])
                moved = moved + loads * axis_products(axis.factors[operand] for axis in axes)
            times = np.maximum(times, link.time(moved))
        return np.asarray((axis_products(axis.count for axis in axes) * times).sum(axis=(1, 2, 3)))


def second_room(graph: AccessGraph, v: int, elsewhere: frozenset[int], target: Target) -> int:
    """Return the bytes that an operation leaves free in the second memory; MOST (no limit) if no third one exists."""
    if not target.has_three:
        return MOST
    row = graph.operations[v]
    sizes = {t: graph.tensors[t].bytes for t in (*row.outputs, *(read.tensor for read in row.reads))}
    here = sum(
        target.round_size(size, 1) for item, size in {**sizes, -1 - v: row.weights}.items() if item not in elsewhere
    )
    return max(0, (target.memories[1].capacity or 0) - here)


def whole_front(
    graph: AccessGraph,
    v: int,
    fast: frozenset[int],
    target: Target,
    objective: Objective,
    far: frozenset[int] = frozenset(),
) -> LayerFront:
    """Return the tilings of an operation that cannot be split: as a whole, or as a sum over stripes of its input."""
    row, rows = graph.operations[v], list[tuple[int, float, int]]()
    made = tuple(t for t in row.outputs if t in fast)
    is_cut = row.role == "sum" and row.reads[0].tensor not in fast
    for size in [0, *tile_sizes(graph.tensors[row.reads[0].tensor].rows)] if is_cut else [0]:
        step = layer_step(graph, v, (size, 0, 0, 0, 0), made)
        figures = run_step(graph, step, fast - set(made), target, far)
        if sum(size for _, _, size in figures.staged) > second_room(graph, v, fast | far, target):
            continue
        bytes_ = sum(size for kind, _, size in figures.buffers if kind not in ("resident", "retained"))
        time, moved = figures.latency, figures.traffic
        cost = moved + TIE * time if objective == "traffic" else time + TIE / target.link.bandwidth * moved
        rows.append((bytes_, cost, size))
    needs, costs, sizes = np.array(rows).reshape(-1, 3).T
    front = _undominated_positions(needs, costs)
    tiles = np.stack([sizes[front].astype(np.int64), *[np.zeros_like(front)] * 4], axis=1)
    return LayerFront(needs[front], costs[front], tiles)


def _undominated_positions(bytes_: Numbers, cost: Numbers) -> Numbers:
    order = np.lexsort((cost, bytes_))
    return np.asarray(order[np.diff(np.minimum.accumulate(cost[order]), prepend=np.inf) < 0])


def _axis_table(tables: Sequence[_Table]) -> _Axis:
    """Return an axis that has, for each tile size, the first tile and then the other tiles grouped into equal kinds."""
    rows = []
    for _, work, made, factors, _ in tables:
        kinds = list(zip(work, made, *factors, strict=True))
        others: dict[tuple[Any, ...], int] = {}
        for kind in kinds[1:]:
            others[kind] = others.get(kind, 0) + 1
        rows.append([(kinds[0], 1), *others.items()])
    width = max(map(len, rows))
    empty = ((0,) * (2 + len(tables[0][3])), 0)
    rows = [row + [empty] * (width - len(row)) for row in rows]
    values = np.array([[kind for kind, _ in row] for row in rows])
    whole = values.astype(np.int64)
    return _Axis(
        sizes=np.array([size for size, *_ in tables]),
        tiles=np.array([len(made) for _, _, made, _, _ in tables]),
        count=np.array([[count for _, count in row] for row in rows]),
        work=values[:, :, 0],
        made=whole[:, :, 1],
        factors=[whole[:, :, 2 + k] for k in range(len(tables[0][3]))],
        varies=[np.array([table[4][k] for table in tables]) for k in range(len(tables[0][3]))],
    )


def tile_sizes(length: int) -> list[int]:
    """Return the tile sizes to try along an axis of a given length."""
    if length <= MOST_SIDES:
        return list(range(1, length + 1))
    return _even_sizes(length)[-MOST_SIDES:]


def _even_sizes(length: int) -> list[int]:
    return sorted({-(-length // parts) for parts in range(1, length + 1)})


def _spans(length: int, size: int) -> tuple[Span, ...]:
    return tuple((a, min(a + size, length)) for a in range(0, length, size))


def _outer_product(vectors: Iterable[Numbers]) -> Numbers:
    first, second, third = vectors
    return np.asarray(first[:, None, None] * second[:, None] * third)


def _round_up(sizes: Numbers, alignment: int) -> Numbers:
    return np.asarray(-(-sizes // alignment) * alignment)
