"""The search for regions in stripes and tiles, which grows regions backwards from each possible last operation.

Networks repeat their blocks, and graphs with repeated operations share most operations with the original graph. The
regions that end with an operation depend only on the earlier operations that may belong to them, on the inputs of these
operations, and on the live bytes around them. If all of these are equal for several operations, only one of the
operations is searched.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from memplan.extensions.cascade.access.access_graph import AXES, AccessGraph, driving_tensor
from memplan.extensions.cascade.core.kernels import (
    COUNT,
    EVALUATED,
    FOUND_FROM,
    FOUND_HEIGHT,
    FOUND_MACS,
    FOUND_PEAK,
    FOUND_TO,
    FOUND_TRAFFIC,
    KIND_AGAIN,
    KIND_PANELS,
    KIND_PIECES,
    KIND_ROWS,
    KIND_THIN,
    KIND_TILES,
    KIND_WHOLE,
    LOST,
    N_FOUND,
    Access,
    TileSearch,
    grow_tiles,
)
from memplan.extensions.cascade.search.channels import channel_regions
from memplan.extensions.cascade.search.front import undominated_positions
from memplan.extensions.cascade.search.options import LONGEST, WORST, CascadeOptions
from memplan.extensions.cascade.search.steps import RegionSteps
from memplan.extensions.cascade.search.tables import WARM_UP, access_tables
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.tables import Reference, Rows

Key = tuple[Any, ...]
STRIDES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 128)
MOST_PARTS = 8
FINER = (2, 4, 8)
"""The divisors of a row or column for smaller steps, tried if operations compute several rows per output row."""
MOST_STEPS = 1024
_ROOM = 60_000


@dataclass
class Windows:
    """A cache of regions, keyed by the facts that determine the regions with the same last operation.

    Cuts (places between operations) are relative to the last operation, and peaks to the live bytes around it.
    `numbers` has a short number for each fact in a key.
    """

    found: dict[Key, Rows] = field(default_factory=dict)
    numbers: dict[Key, int] = field(default_factory=dict)


class WindowKeys:
    """The cache keys of a graph's operations; operations with equal keys end the same regions."""

    def __init__(
        self, graph: AccessGraph, tables: Access, options: CascadeOptions, windows: Windows, longest: int
    ) -> None:
        """Collect the facts of a graph's operations that determine their keys; `windows` gives each fact a number."""
        self.graph, self.longest, self.sliding = graph, longest, options.is_sliding
        self.last, self.live = tables.last.tolist(), tables.live.tolist()
        self.streamed = tables.is_streamed.tolist()
        self.tensors = [
            (row.rows, row.columns, row.pixel, row.channels, row.bytes, whole)
            for row, whole in zip(graph.tensors, tables.whole.tolist(), strict=True)
        ]
        self.operations = [
            windows.numbers.setdefault(self._operation_key(v, sums), len(windows.numbers))
            for v, sums in enumerate(tables.sums.tolist())
        ]

    def key_of(self, j: int) -> Key:
        """Return the cache key for the regions that end with operation j - 1."""
        first, outside = self.first_operation(j), dict[int, int]()
        rows = [self._inner_key(v, first, j, outside) for v in range(first, j)]
        around = [self._outer_key(tensor, j) for tensor in outside]
        base = self.live[j]
        return (self.sliding, *rows, *around, tuple(bytes_ - base for bytes_ in self.live[first:j]))

    def _operation_key(self, v: int, sums: int) -> Key:
        row = self.graph.operations[v]
        made = self.tensors[row.outputs[0]] if row.outputs else ()
        reads = tuple((read.rows, read.columns, read.channels) for read in row.reads)
        return row.role, row.macs, row.weights, sums, row.partial, row.work, made, reads

    def first_operation(self, j: int) -> int:
        """Return the first operation that a region ending with operation j - 1 may contain."""
        graph, last = self.graph, self.graph.operations[j - 1]
        channels = {graph.tensors[t].channels for t in (*last.outputs[:1], *(read.tensor for read in last.reads[:1]))}
        v, is_striped = j - 1, True
        while v > max(0, j - self.longest):
            row = graph.operations[v - 1]
            is_striped = is_striped and row.role == "striped"
            # The channels of a sum may fit into a region along channels, so continue the region beyond the sum.
            if (
                row.role == "barrier"
                or row.label != last.label
                or not (is_striped or graph.tensors[row.outputs[0]].channels in channels)
            ):
                break
            readers = graph.readers[row.outputs[0]]
            if readers and readers[0] >= j:
                break
            v -= 1
        return v

    def _inner_key(self, v: int, first: int, j: int, outside: dict[int, int]) -> Key:
        """Return the key of operation v in the window [first, j) of operations, whatever the position of the window."""
        row, reads = self.graph.operations[v], []
        for read in row.reads:
            maker = self.graph.maker[read.tensor]
            is_inside = maker is not None and maker >= first
            reads.append(
                maker - j if is_inside and maker is not None else outside.setdefault(read.tensor, len(outside))
            )
        is_whole, is_streamed = self.last[row.outputs[0]] >= j, self.streamed[row.outputs[0]]
        return self.operations[v], is_whole, is_streamed, *reads

    def _outer_key(self, tensor: int, j: int) -> Key:
        """Return the key of a tensor read by a window (interval of operations) that ends before operation j.

        The key of a streamed tensor includes its first reader.
        """
        streamed = self.streamed[tensor]
        is_input = self.graph.maker[tensor] is None
        since = self.graph.readers[tensor][0] - j if streamed else 0
        return self.tensors[tensor], self.last[tensor] >= j, streamed, is_input, since


@dataclass
class Effort:
    """Counts of a search: regions examined, regions lost because tables were full, and strides with too many steps."""

    evaluated: int = 0
    lost: int = 0
    skipped_strides: int = 0


def strides_of(size: int) -> list[int]:
    """Return the stripe heights or widths to try along an axis of `size`: small numbers and equal parts."""
    wanted = {*STRIDES, *(-(-size // parts) for parts in range(2, MOST_PARTS + 1))}
    return sorted(stride for stride in wanted if stride < size)


class RegionSearch:
    """The search for a graph's regions, one last operation after another; tensors in `elsewhere` occupy no bytes.

    Without the option `rolling`, each step recomputes its inputs, except inputs that are delivered in pieces.
    """

    def __init__(
        self,
        graph: AccessGraph,
        options: CascadeOptions,
        elsewhere: Collection[int] = (),
        windows: Windows | None = None,
        longest: int = LONGEST,
    ) -> None:
        """Prepare the search for regions of at most `longest` operations; tensors in `elsewhere` occupy no bytes."""
        self.graph, self.options = graph, options
        self.windows = Windows() if windows is None else windows
        self.effort, self.reached = Effort(), 0
        self._longest, self._rolls = longest, options.rolling
        self._is_finer = self._rolls and not graph.is_coarse and options.stripe is None
        self.tables: Access = access_tables(graph, options, elsewhere)
        self._keys = WindowKeys(graph, self.tables, options, self.windows, longest)
        self._access = Reference(self.tables)
        self._work = np.array([row.work for row in graph.operations], np.int64)
        self._parts: list[Rows] = []
        self._found, self._answer = np.zeros((_ROOM, N_FOUND), np.int64), np.zeros(3, np.int64)

    @cached_property
    def steps(self) -> RegionSteps:
        """The converter of table rows to regions; unlike in the search, tensors in `elsewhere` occupy their bytes."""
        return RegionSteps(self.graph, self.options)

    def layers(self) -> Rows:
        """Return a table with one row for each operation: the region in which it runs alone and as a whole."""
        graph, tables = self.graph, self.tables
        rows = np.zeros((len(graph.operations), N_FOUND), np.int64)
        for v, row in enumerate(graph.operations):
            made = sum(int(tables.whole[t]) for t in row.outputs if graph.maker[t] == v)
            read = sum(graph.tensors[read.tensor].bytes for read in row.reads)
            written = sum(graph.tensors[t].bytes for t in row.outputs)
            peak = int(tables.live[v]) + made + row.work
            rows[v] = (v, v + 1, peak, graph.macs_of(v), read + written + row.weights, 1, KIND_WHOLE, 0, 0, 0)
        return rows

    def _alternative_regions(self, layers: Rows) -> Rows:
        ways = []
        for v, row in enumerate(self.graph.operations):
            for way, (macs, work) in enumerate(row.alternatives, 1):
                ways.append(layers[v].copy())
                ways[-1][[FOUND_PEAK, FOUND_MACS, FOUND_HEIGHT]] = layers[v, FOUND_PEAK] - row.work + work, macs, way
        return np.array(ways, np.int64).reshape(-1, N_FOUND)

    def run(self, is_over: Callable[[], bool] = lambda: False) -> Rows:
        """Search regions and return them, sorted by end; once time is over, ends get only their single operations."""
        layers = self.layers()
        parts = [layers, self._alternative_regions(layers)]
        for j in self._ends_by_peak(layers[:, FOUND_PEAK]):
            if is_over():
                break
            self.reached += 1
            if self.graph.operations[j - 1].role != "barrier":
                parts.append(self._regions_ending_at(j))
        rows = np.concatenate(parts)
        return rows[np.lexsort((rows[:, FOUND_FROM], rows[:, FOUND_TO]))]

    def _ends_by_peak(self, peaks: I64) -> list[int]:
        # The time may end early, so search the regions at the highest peaks first.
        n = len(peaks)
        most = [int(peaks[max(0, j - self._longest) : j].max()) for j in range(1, n + 1)]
        return sorted(range(1, n + 1), key=lambda j: (-most[j - 1], j))

    def _regions_ending_at(self, j: int) -> Rows:
        """Return the regions whose last operation is j - 1, from the cache if it has their key."""
        key, base = self._keys.key_of(j), int(self.tables.live[j])
        stored = self.windows.found.get(key)
        shift = np.zeros(N_FOUND, np.int64)
        shift[[FOUND_FROM, FOUND_TO, FOUND_PEAK]] = j, j, base
        if stored is None:
            rows = self._search_ending_at(j)
            if self._work[:j].any():  # Operations need working memory as well, so add the largest one.
                rows[:, FOUND_PEAK] += np.maximum.accumulate(self._work[:j][::-1])[j - 1 - rows[:, FOUND_FROM]]
            self.windows.found[key] = rows - shift
            return rows
        return stored + shift

    def add(self, other: "RegionSearch") -> None:
        """Add the counts of another search of the same graph to the counts of this search."""
        for name, count in asdict(other.effort).items():
            setattr(self.effort, name, getattr(self.effort, name) + count)
        self.reached = other.reached

    def _search_ending_at(self, j: int) -> Rows:
        """Search the regions whose last operation is j - 1; return them as a table."""
        self._answer[COUNT] = 0
        rows, columns = driving_tensor(self.graph, j - 1).sizes
        finer = [self._fractional_steps(j, axis) for axis in AXES]
        for height in (*self._stripe_heights(rows), *finer[0]):
            # A region of several steps may compute extra rows first (warm-up), so count steps for these rows.
            each, parts = max(1, height), max(1, -height)
            warm_up = WARM_UP * parts // each if each < rows else 0
            steps = warm_up + -(-rows * parts // each)
            # The kernel's tables hold at most MOST_STEPS steps, so skip a stride that needs more.
            if steps > MOST_STEPS:
                self.effort.skipped_strides += 1
                continue
            # Steps smaller than a row do not help regions that recompute, so try them only for rolling tensors.
            self._grow_regions(j, (*[KIND_ROWS] * self._rolls, *[KIND_AGAIN] * (parts == 1)), [height], [columns])
        strides = [self._tile_sizes(rows, 0), [*self._tile_sizes(columns, 1), *finer[1]]]
        if rows == 1 and (self.options.stripe is None or self.options.stripe[0] == 1):
            strides[0] = [1]
        steps = max(rows, columns) + WARM_UP
        if columns > 1 and all(strides):
            kinds = (KIND_TILES, KIND_PANELS, KIND_THIN) if self._rolls else (KIND_TILES,)
            self._grow_tiles(j, kinds, strides, steps)
        if columns > 1 and rows == 1 and self._rolls:
            # Stripes cannot cut a single row, so cut its columns into pieces.
            self._grow_tiles(j, (KIND_PIECES,), strides, steps)
        # With two memories, only a few chains are planned and pieces would displace better ones, so omit pieces.
        elif columns > 1 and self._is_finer and not self.options.pools:
            # Pieces of any height do equal work, so try only pieces of a row or less, which need the least memory.
            pieces = sorted({-(-columns // parts) for parts in FINER})
            strides = [[1, *finer[0]], [*(piece for piece in pieces if piece < columns), *finer[1]]]
            self._grow_tiles(j, (KIND_PIECES,), strides, steps)
        self.effort.evaluated += int(self._answer[EVALUATED])
        self.effort.lost += int(self._answer[LOST])
        self._answer[1:] = 0
        ending_rows = self._found[: self._answer[COUNT]]
        if not self.graph.is_coarse and self.options.stripe is None:
            row = self.graph.operations[j - 1]
            most = max(self.graph.tensors[t].channels for t in (row.reads[0].tensor, row.outputs[0]))
            ends = self._keys.first_operation(j), j
            along = channel_regions(self.graph, self.options, self.tables, ends, strides_of(most))
            self.effort.evaluated += len(along)
            ending_rows = np.concatenate([ending_rows, along])
        return undominated_regions(ending_rows)

    def _stripe_heights(self, rows: int) -> list[int]:
        stripe = self.options.stripe
        if stripe is None:
            return strides_of(rows) or [rows]
        return [stripe[0]] if stripe[0] < rows and not stripe[1] else []

    def _fractional_steps(self, j: int, axis: int) -> list[int]:
        size = driving_tensor(self.graph, j - 1).sizes[axis]
        if size == 1 or not self._is_finer:
            return []
        inside = (self.graph.operations[v].outputs[0] for v in range(self._keys.first_operation(j), j - 1))
        most = max((self.graph.tensors[tensor].sizes[axis] for tensor in inside), default=0)
        return [-parts for parts in FINER if parts * size <= most]

    def _tile_sizes(self, size: int, axis: int) -> list[int]:
        stripe = self.options.stripe
        if stripe is None:
            return strides_of(size)
        return [stripe[axis]] if 0 < stripe[axis] < size and stripe[1] > 0 else []

    def _grow_tiles(self, j: int, kinds: Iterable[int], strides: list[list[int]], steps: int) -> None:
        heights, widths = (
            [stride for stride in row if steps * max(1, -stride) // max(1, stride) <= MOST_STEPS] for row in strides
        )
        self._grow_regions(j, kinds, heights, widths)

    def _grow_regions(self, j: int, kinds: Iterable[int], heights: Sequence[int], widths: Sequence[int]) -> None:
        """Add the regions that end with operation j - 1: one for each kind, and each height and width of its tiles."""
        tiles = TileSearch(
            j=j,
            longest=j - self._keys.first_operation(j),
            kind=KIND_ROWS,
            slides=self.options.is_sliding,
            warm_up=WARM_UP,
            worst=WORST,
            heights=np.array(heights, np.int64),
            widths=np.array(widths, np.int64),
            found=self._found,
            answer=self._answer,
        )
        for kind in kinds:
            grow_tiles(self._access, Reference(tiles._replace(kind=kind)))


def undominated_regions(found: Rows) -> Rows:
    """Return the undominated regions. Regions with the same ends compete in peak, multiplications and traffic."""
    ends = (found[:, FOUND_TO] << 32) + found[:, FOUND_FROM]
    return found[undominated_positions(found[:, [FOUND_PEAK, FOUND_MACS, FOUND_TRAFFIC]], ends)]
