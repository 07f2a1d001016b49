"""The simulation of a network on a target, one visit (loop iteration) at a time: tiled operations and cascade regions.

A tensor in `far`, the last of three memories, passes over both links, through a slot of the second memory, while other
bytes are transferred and the engine works. `far` has tensor numbers; -1 - v denotes the constants of operation v. The
simulation counts the figures of searches and plans anew; it shares only access maps, regions and targets with them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memplan.extensions.cascade.access.access_graph import AccessGraph, PixelTensor, Read, Window, driving_tensor
from memplan.extensions.cascade.regions.regions import CascadeRegion, Span, Stripes, accumulator_bytes, is_accumulated
from memplan.extensions.cascade.timing.figures import Slot, StepFigures, Transfer
from memplan.extensions.cascade.timing.target import Target

Counts = NDArray[Any]


@dataclass(frozen=True)
class NetworkStep:
    """A region of a cascade or a tiled operation, and the tensors that stay whole in the fast memory after it.

    A tiled operation is a region without buffers, cut into tiles of rows, columns and channels; the channel loop is
    either the innermost or the outermost one.
    """

    region: CascadeRegion
    retained: tuple[int, ...] = ()
    channels_outermost: bool = False

    @property
    def is_alone(self) -> bool:
        """True if the step is a single operation in tiles, which may be cut along channels as well."""
        return self.region.kind == "tiles" and bool(self.region.ranges[self.region.first_operation].channels)


def run_network(
    graph: AccessGraph, steps: Sequence[NetworkStep], target: Target, far: frozenset[int] = frozenset()
) -> tuple[list[StepFigures], list[str]]:
    """Run the steps of a network in order; return the figures of each step, and a sentence for each violated rule.

    Inputs and outputs of the network are in the slow memory. A visit takes as long as the longer of its arithmetic, in
    native tiles of pixels, and its transfers. A loaded or stored tensor has one slot, or several if it is refilled.
    """
    figures, wrong = list[StepFigures](), list[str]()
    resident, there, done = frozenset[int](), {t for t, maker in enumerate(graph.maker) if maker is None}, 0
    for k, step in enumerate(steps):
        region, retained = step.region, frozenset(step.retained)
        if region.first_operation != done or not done < region.end <= len(graph.operations):
            return figures, [f"subgraphs[{k}]: must begin with operation {done}, got {region.first_operation}"]
        done = region.end
        made = {t for v in range(region.first_operation, region.end) for t in graph.operations[v].outputs}
        read = {read.tensor for v in range(region.first_operation, region.end) for read in graph.operations[v].reads}
        written = {
            t for t in made - retained if graph.last_users[t] >= region.end or t in graph.operations[done - 1].outputs
        }
        broken = _range_errors(graph, step)
        broken += [f"must have tensor {t} in a memory" for t in sorted(read - made - resident - there)]
        broken += [f"must write tensor {t}, an output" for t in sorted(retained & set(graph.kept))]
        broken += [
            f"must not retain tensor {t}, which is not in the fast memory" for t in sorted(retained - made - resident)
        ]
        if broken:
            return figures, wrong + [f"subgraphs[{k}]: {sentence}" for sentence in broken]
        there |= written
        figures.append(run_step(graph, step, resident, target, far))
        resident = retained
    if done < len(graph.operations):
        wrong.append(f"subgraphs: must have all {len(graph.operations)} operations, got {done}")
    return figures, wrong


def run_step(
    graph: AccessGraph,
    step: NetworkStep,
    resident: frozenset[int],
    target: Target,
    far: frozenset[int] = frozenset(),
    *,
    keeps: bool = True,
) -> StepFigures:
    """Simulate one step and return its figures; tensors in `resident` are whole in the fast memory before the step.

    If the step `keeps` its loads, the next visit loads a tensor only if it needs another piece of that tensor.
    """
    graph = graph.choose_alternative(step.region.first_operation, step.region.alternative)
    return _StepRun(graph, step, resident, target, far, keeps).run()


@dataclass
class _StepRun:
    """The simulation of one step, whose arrays have one entry for each visit (loop iteration)."""

    graph: AccessGraph
    step: NetworkStep
    resident: frozenset[int]
    target: Target
    far: frozenset[int]
    keeps: bool
    slots: list[Slot] = field(default_factory=list)
    staged: list[Slot] = field(default_factory=list)
    transfers: list[Transfer] = field(default_factory=list)

    def run(self) -> StepFigures:
        """Simulate all visits (loop iterations) of the step; return its figures."""
        graph, region, target = self.graph, self.step.region, self.target
        held = {t for t, hold in region.buffer_by_tensor.items() if hold.mode != "whole"} - set(self.step.retained)
        # Outputs without readers leave the fast memory in pieces, so they need no buffer of their own.
        self.inside = {t for t in held if graph.readers[t]}
        self.i, self.j, self.k = self._visit_indices()
        work, self.moved = np.zeros(len(self.i)), [np.zeros(len(self.i), np.int64) for _ in target.links]
        for t, made in region.pieces.items():
            area = _lengths(made.rows)[self.i] * _lengths(made.columns)[self.j]
            self._add_loads("input", t, np.stack([self.i, self.j], axis=1), area * graph.tensors[t].pixel, t)
        for v in range(region.first_operation, region.end):
            work += self._simulate(v)
        rounded = target.round_size
        self.slots += [("ring", t, rounded(region.buffer_by_tensor[t].bytes)) for t in sorted(self.inside)]
        self.slots += [("resident", t, rounded(graph.tensors[t].bytes)) for t in sorted(self.resident)]
        here = set(self.step.retained) - self.resident
        self.slots += [("retained", t, rounded(graph.tensors[t].bytes)) for t in sorted(here)]
        for link, moved in zip(target.links, self.moved, strict=True):
            work = np.maximum(work, link.time(moved))
        traffic = sum(int(moved.sum()) for moved in self.moved)
        return StepFigures(fsum(work.tolist()), traffic, tuple(self.slots), tuple(self.transfers), tuple(self.staged))

    def _visit_indices(self) -> tuple[Counts, Counts, Counts]:
        region = self.step.region
        slices = max((len(made.channels) for made in region.ranges.values()), default=0)
        counts = (*region.steps, max(1, slices))
        order = (2, 0, 1) if self.step.channels_outermost else (0, 1, 2)
        i, j, k = (index.transpose(order).ravel() for index in np.indices(counts))
        return i, j, k

    def _simulate(self, v: int) -> Counts:
        """Add operation v's loads and stores to the step; return its compute time in each visit (loop iteration)."""
        graph, region, row = self.graph, self.step.region, self.graph.operations[v]
        out = graph.tensors[row.outputs[0]] if row.outputs else None
        is_whole, adds_up = region.kind == "whole", v == region.end - 1 and is_accumulated(graph, region)
        cut = graph.tensors[row.reads[0].tensor] if adds_up else out
        of = max(1, cut.channels) if cut else 1
        made = _full_ranges(out if row.role == "striped" else None) if is_whole else region.ranges[v]
        channels = _lengths(made.channels)[self.k] if made.channels else np.full(len(self.k), of)
        rows, columns = _lengths(made.rows), _lengths(made.columns)
        area = rows[self.i] * columns[self.j]
        key = self.k[:, None] if made.channels else np.zeros((len(self.k), 1), np.int64)
        weights = (area > 0) * -(-row.weights * channels // of)
        self._add_loads("constants", row.outputs[0] if row.outputs else 0, key, weights, -1 - v)
        for read in row.reads:
            if read.tensor not in self.inside and read.tensor not in self.resident | set(self.step.retained):
                self._load_input(v, read, made, (channels, of))
        if row.role == "sum" and not is_whole:
            self.slots.append(("sums", row.outputs[0], self.target.round_size(accumulator_bytes(graph, region))))
        if row.work:
            self.slots.append(("workspace", row.outputs[0] if row.outputs else 0, self.target.round_size(row.work)))
        for t in row.outputs:
            if t not in self.inside and t not in self.step.retained:
                stored = area * -(-graph.tensors[t].pixel * channels // of)
                if is_whole or adds_up or row.role != "striped":
                    stored = np.where(np.arange(len(area)) == len(area) - 1, graph.tensors[t].bytes, 0)
                self._add_transfers("output", t, stored, t)
        engine = self.target.engine
        if row.role == "striped":
            tiles = _round_to_tiles(rows, engine.height)[self.i] * _round_to_tiles(columns, engine.width)[self.j]
            return np.asarray(row.macs * tiles * channels / of / engine.rate_of(row.kind))
        part = area * channels
        return np.asarray(row.macs * part / max(1, int(part.sum())) / engine.rate_of(row.kind))

    def _load_input(self, v: int, read: Read, made: Stripes, share: tuple[Counts, int]) -> None:
        """Add the loads of an input from the slow memory, one for each visit that needs a new piece.

        `share` has the number of channels in each visit, and the total number of channels.
        """
        channels, of = share
        row, source = self.graph.operations[v], self.graph.tensors[read.tensor]
        if self.step.region.kind in ("whole", "channels"):
            is_cut = read.channels == "same" or self.graph.maker[read.tensor] in self.step.region.ranges
            bytes_ = -(-source.bytes * channels // of) if is_cut else np.full(len(channels), source.bytes)
            self._add_loads("input", read.tensor, self.k[:, None] * is_cut, bytes_, read.tensor)
            return
        if row.role == "sum":
            spans = made.rows, made.columns
        else:
            spans = (
                _input_ranges_read(made.rows, read.rows, source.rows),
                _input_ranges_read(made.columns, read.columns, source.columns),
            )
        pixel: Counts | int = source.pixel
        keys = [index * (len(set(ranges)) > 1) for index, ranges in zip((self.i, self.j), spans, strict=True)]
        if self.step.is_alone and read.channels == "same":
            pixel, keys = -(-source.pixel * channels // of), [*keys, self.k]
        bytes_ = _lengths(spans[0])[self.i] * _lengths(spans[1])[self.j] * pixel
        self._add_loads("input", read.tensor, np.stack(keys, axis=1), bytes_, read.tensor)

    def _add_loads(self, kind: str, tensor: int, key: Counts, bytes_: Counts, item: int) -> None:
        used = np.flatnonzero(bytes_)
        fresh = np.ones(len(used), np.bool_)
        if self.keeps:
            fresh[1:] = (key[used[1:]] != key[used[:-1]]).any(axis=1)
        loaded = np.zeros(len(bytes_), np.int64)
        loaded[used[fresh]] = bytes_[used[fresh]]
        self._add_transfers(kind, tensor, loaded, item)

    def _add_transfers(self, kind: str, tensor: int, moved: Counts, item: int) -> None:
        count = int(np.count_nonzero(moved))
        copies, most = self.target.engine.copies if count > 1 else 1, int(moved.max(initial=0))
        for k, slots in enumerate((self.slots, self.staged)[: 1 + (item in self.far)] if count else ()):
            self.moved[k] += moved
            self.transfers.append(Transfer(kind, tensor, k > 0, int(moved.sum()), count))
            slots.append((kind if k == 0 else "staged", tensor, copies * self.target.round_size(most, k)))


def _range_errors(graph: AccessGraph, step: NetworkStep) -> list[str]:
    """Return one sentence, in a list, on the first faulty range of a step; empty if all ranges are valid."""
    region = step.region
    ways = len(graph.operations[region.first_operation].alternatives) if len(region.ops) == 1 else 0
    if not 0 <= region.alternative <= ways:
        return [f"must have an alternative from 0 to {ways}, got {region.alternative}"]
    if region.kind == "whole":
        is_one = region.end == region.first_operation + 1 and graph.operations[region.first_operation].role != "striped"
        return [] if is_one else ["must be a single operation that cannot be split, as it runs whole"]
    if (
        region.kind == "channels"
        or region.pieces
        or set(region.ranges) != set(range(region.first_operation, region.end))
    ):
        return ["must be a region of rows, tiles or panels"]
    if any(graph.operations[v].role == "barrier" for v in region.ranges):
        return ["must run a barrier whole"]
    if step.is_alone:
        made, out = (
            region.ranges[region.first_operation],
            graph.tensors[graph.operations[region.first_operation].outputs[0]],
        )
        cuts = (made.rows, out.rows), (made.columns, out.columns), (made.channels, max(1, out.channels))
        if region.end != region.first_operation + 1 or not all(_covers_axis(*cut) for cut in cuts):
            return ["must be tiles of one operation that cover its output exactly once"]
        return []
    return _missing_elements(graph, step)


def _missing_elements(graph: AccessGraph, step: NetworkStep) -> list[str]:
    """Return one sentence, in a list, on the first tensor of a region that is incomplete or is read too early."""
    region, rings = step.region, dict[int, Counts]()
    for v in region.ranges:
        for t in graph.operations[v].outputs if graph.operations[v].role == "striped" else ():
            hold = region.buffer_by_tensor.get(t)
            shape = graph.tensors[t].sizes
            if hold is not None and hold.mode != "whole":
                shape = hold.rows, hold.columns
                is_made = all(_lengths(spans).any() for spans in (region.ranges[v].rows, region.ranges[v].columns))
                if is_made and not all(shape):
                    return [f"must have a buffer for some elements of tensor {t}"]
                if graph.last_users[t] >= region.end or hold.bytes < hold.rows * hold.columns * graph.tensors[t].pixel:
                    return [f"must have a buffer for all elements of tensor {t}"]
            rings[t] = np.full(shape, -1, np.int64)
    counts = region.steps
    for v, made in region.ranges.items():
        sizes = driving_tensor(graph, v).sizes
        inside = all(
            0 <= a <= b <= size for spans, size in zip((made.rows, made.columns), sizes, strict=True) for a, b in spans
        )
        if (len(made.rows), len(made.columns)) != counts or not inside:
            return [f"must have ranges of operation {v} for each step"]
    for y, x in np.ndindex(counts):
        for v, made in region.ranges.items():
            row, rows, columns = graph.operations[v], made.rows[y], made.columns[x]
            if rows[1] <= rows[0] or columns[1] <= columns[0]:
                continue
            for read in row.reads:
                size = graph.tensors[read.tensor].sizes
                spans = rows, columns
                if row.role == "striped":
                    spans = read.rows.input_range(*rows, size[0]), read.columns.input_range(*columns, size[1])
                if read.tensor in rings and not _is_stored(rings[read.tensor], *spans, size[1]):
                    return [f"operation {v} must read only stored elements of tensor {read.tensor} in step {y},{x}"]
            if row.role == "striped":
                places, numbers = _ring_positions_and_pixels(
                    rings[row.outputs[0]], rows, columns, graph.tensors[row.outputs[0]].columns
                )
                rings[row.outputs[0]][places] = numbers
    whole = [t for t in rings if t not in region.buffer_by_tensor or region.buffer_by_tensor[t].mode == "whole"]
    missing = [f"must compute all elements of tensor {t}" for t in whole if (rings[t] < 0).any()]
    last = graph.operations[region.end - 1]
    if last.role == "sum":
        made, source = region.ranges[region.end - 1], graph.tensors[last.reads[0].tensor]
        if not (_covers_axis(made.rows, source.rows) and _covers_axis(made.columns, source.columns)):
            missing.append("must add each element of its input exactly once")
    return missing


def _ring_positions_and_pixels(ring: Counts, rows: Span, columns: Span, width: int) -> tuple[Any, Counts]:
    down, along = np.arange(*rows), np.arange(*columns)
    return np.ix_(down % ring.shape[0], along % ring.shape[1]), down[:, None] * width + along


def _is_stored(ring: Counts, rows: Span, columns: Span, width: int) -> bool:
    if rows[1] - rows[0] > ring.shape[0] or columns[1] - columns[0] > ring.shape[1]:
        return False
    places, numbers = _ring_positions_and_pixels(ring, rows, columns, width)
    return bool((ring[places] == numbers).all())


def _covers_axis(spans: tuple[Span, ...], size: int) -> bool:
    some = [span for span in spans if span[0] < span[1]]
    return [a for a, _ in some] == [0, *(b for _, b in some[:-1])] and bool(some) and some[-1][1] == size


def _input_ranges_read(spans: tuple[Span, ...], window: Window, size: int) -> tuple[Span, ...]:
    return tuple(window.input_range(a, b, size) if b > a else (0, 0) for a, b in spans)


def _full_ranges(tensor: PixelTensor | None) -> Stripes:
    """Return the ranges of all rows and all columns of a tensor; for None, the ranges of a single pixel."""
    rows, columns = (1, 1) if tensor is None else tensor.sizes
    return Stripes(rows=((0, rows),), columns=((0, columns),))


def _lengths(spans: tuple[Span, ...]) -> Counts:
    return np.array([b - a for a, b in spans], np.int64)


def _round_to_tiles(length: Counts, native: int) -> Counts:
    return -(-length // native) * native
