"""Operations with access maps: tensors are rows x columns of pixels, and operations read ranges of them.

A tensor lies row by row, each row pixel by pixel; a pixel has all channels of one place. Operations are in run order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

from memplan.planner.errors import OperationsError

MOST = 2**62
Role = Literal["striped", "sum", "barrier"]
Channels = Literal["all", "same"]
AXES = (0, 1)
MOST_BYTES = 2**42
MOST_MACS = 2**43
"""The limits of a graph, so that 2^20 steps can be counted in 64 bits."""


class Window(NamedTuple):
    """Output [a, b) reads input [floor((a * scale + low) / divisor), floor(((b - 1) * scale + high) / divisor) + 1).

    The range is cut to the input's size; it may be empty, where an output is made of padding alone.
    """

    scale: int = 1
    divisor: int = 1
    low: int = 0
    high: int = 0

    def source(self, first: int, end: int, size: int) -> tuple[int, int]:
        """Return the input range, within `size`, that output [first, end) reads; (0, 0) for none."""
        used = self.meaningful_range(size)
        first, end = max(first, used[0]), min(end, used[1])
        if first >= end:
            return 0, 0
        a, b = self.reach(first, end)
        a, b = max(a, 0), min(b, size)
        return (a, b) if a < b else (0, 0)

    def reach(self, first: int, end: int) -> tuple[int, int]:
        """Return the input range that output [first, end) reads, ignoring borders; it may begin below 0."""
        return (first * self.scale + self.low) // self.divisor, ((end - 1) * self.scale + self.high) // self.divisor + 1

    def meaningful_range(self, size: int) -> tuple[int, int]:
        """Return the output range that reads anything but padding of an input of `size`."""
        if self.scale == 0:
            return 0, MOST
        return -(self.high // self.scale), (size * self.divisor - 1 - self.low) // self.scale + 1


SAME = Window()
"""The map in which output row y reads input row y."""


def whole_axis_window(size: int) -> Window:
    """Return the map of an output of which any part reads a whole axis."""
    return Window(0, 1, 0, size - 1)


def sliding(kernel: int, stride: int, dilation: int, before: int) -> Window:
    """Return the map of a convolution or pool with `before` rows of padding."""
    return Window(stride, 1, -before, (kernel - 1) * dilation - before)


def transposed_window(kernel: int, stride: int, dilation: int, before: int) -> Window:
    """Return the map of a transposed convolution: tap k of input row r adds to output row r * stride - before + k."""
    reach = (kernel - 1) * dilation
    return Window(1, stride, before - reach + stride - 1, before)


def shift_window(offset: int, step: int = 1) -> Window:
    """Return the map of a slice: output row y is input row offset + step * y; a pad or concat has offsets below 0."""
    return Window(step, 1, offset, offset)


def resize_window(size: int, out: int) -> Window:
    """Return the map of a resize from row floor(y * size / out)."""
    return Window(size, out, 0, 0)


def nearest_centred(size: int, out: int) -> Window:
    """Return the map of a resize from the row nearest to (y + 1/2) * size / out - 1/2, with any tie rule."""
    # Either rounding of (2y + 1) * size / (2 * out) - 1/2: the hull of floor and ceil, cut where they agree.
    return Window(2 * size, 2 * out, size - 1, size)


def linear(size: int, out: int) -> Window:
    """Return the map of a linear resize with half-pixel centres, clamped at the borders."""
    return Window(2 * size, 2 * out, size - out, size + out)


def linear_corners(size: int, out: int) -> Window:
    """Return the map of a linear resize with aligned corners."""
    if out == 1:
        return Window(0, 1, 0, 0)
    return Window(size - 1, out - 1, 0, out - 1)


def linear_asymmetric(size: int, out: int) -> Window:
    """Return the map of a linear resize that maps row y to y * size / out."""
    return Window(size, out, 0, out)


def blocks(factor: int) -> Window:
    """Return the map of depth-to-space: each input row becomes `factor` output rows."""
    return Window(1, factor, 0, 0)


def gather_window(factor: int) -> Window:
    """Return the map of space-to-depth: `factor` input rows become one output row."""
    return Window(factor, 1, 0, factor - 1)


@dataclass(frozen=True)
class PixelTensor:
    """A tensor of rows x columns of pixels; `bytes` is the size of the whole if that is larger.

    A pixel has `channels` of equally many bytes each; 0 where that is not known.
    """

    rows: int
    columns: int
    pixel: int
    name: str = ""
    bytes_: int | None = None
    channels: int = 0

    @property
    def bytes(self) -> int:
        """The bytes of the whole tensor."""
        return self.rows * self.columns * self.pixel if self.bytes_ is None else self.bytes_

    @property
    def sizes(self) -> tuple[int, int]:
        """The sizes of the two axes."""
        return self.rows, self.columns


@dataclass(frozen=True)
class Read:
    """A tensor that an operation reads, with an access map for each axis.

    For a range of the channels of its output an operation reads the `same` channels, or `all` of them.
    """

    tensor: int
    rows: Window
    columns: Window
    channels: Channels = "all"

    @property
    def windows(self) -> tuple[Window, Window]:
        """The access maps of rows and columns."""
        return self.rows, self.columns


@dataclass(frozen=True)
class AccessOperation:
    """An operation: its inputs, its output, and its cost.

    A `striped` operation may run for a part of its one output. A `sum` is accumulated over its one input, in `sums`
    bytes, and may end a region. A `barrier` reads all and makes all; `reason` says why it is one. `macs` is the number
    of multiplications for a pixel of the output (for a barrier, for all of it), `weights` the bytes of constants that
    each run reads, `work` the bytes that it needs in addition to its tensors. `partial` are the bytes of sums in which
    it may be accumulated over ranges of its input channels; 0 if it must not. Operations of different labels do not run
    together. `alternatives` are other ways to compute all of it: the multiplications and the work of each.
    """

    kind: str
    reads: tuple[Read, ...]
    outputs: tuple[int, ...]
    role: Role = "striped"
    macs: int = 0
    weights: int = 0
    sums: int = 0
    work: int = 0
    name: str = ""
    reason: str = ""
    partial: int = 0
    label: str = ""
    alternatives: tuple[tuple[int, int], ...] = ()

    @property
    def min_work(self) -> int:
        """The least bytes of work over all ways to compute it."""
        return min((self.work, *(work for _, work in self.alternatives)))


@dataclass(frozen=True)
class AccessGraph:
    """Tensors and operations in execution order; `kept` tensors are alive to the end.

    Where operations run again, or are left out, `origins` and `tensor_origins` name the operation and the tensor of the
    graph that was given for each of these; empty where each is itself. Where each run of an operation has a price of
    its own, the graph `is_coarse`: no region is cut along channels, or in parts of a row or a column.
    """

    tensors: tuple[PixelTensor, ...]
    operations: tuple[AccessOperation, ...]
    kept: tuple[int, ...]
    name: str = ""
    origins: tuple[int, ...] = ()
    tensor_origins: tuple[int, ...] = ()
    layout: str = "NHWC"
    is_coarse: bool = False

    def __post_init__(self) -> None:
        weights = sum(row.weights for row in self.operations)
        for what, count in (("bytes", sum(row.bytes for row in self.tensors)), ("bytes of constants", weights)):
            if count > MOST_BYTES:
                raise OperationsError(f"graph: must have at most {MOST_BYTES} {what} to be cut in stripes, got {count}")
        most = sum(
            max((self.macs_of(v), *(macs for macs, _ in row.alternatives))) for v, row in enumerate(self.operations)
        )
        if most > MOST_MACS:
            raise OperationsError(f"graph: must have at most {MOST_MACS} multiplications, got {most}")

    @cached_property
    def maker(self) -> tuple[int | None, ...]:
        """For each tensor, the operation that makes it first; None for an input."""
        makers: list[int | None] = [None] * len(self.tensors)
        for position, row in enumerate(self.operations):
            for tensor in row.outputs:
                if makers[tensor] is None:
                    makers[tensor] = position
        return tuple(makers)

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """For each tensor, the operations that read it, ascending."""
        readers: list[dict[int, None]] = [{} for _ in self.tensors]
        for position, row in enumerate(self.operations):
            for read in row.reads:
                readers[read.tensor][position] = None
        return tuple(map(tuple, readers))

    @cached_property
    def last_users(self) -> tuple[int, ...]:
        """For each tensor, the last operation that uses it; for a kept tensor, the number of operations.

        -1 for an input that nothing reads.
        """
        last = [-1] * len(self.tensors)
        for position, row in enumerate(self.operations):
            for tensor in (*row.outputs, *(read.tensor for read in row.reads)):
                last[tensor] = position
        for tensor in self.kept:
            last[tensor] = len(self.operations)
        return tuple(last)

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """The tensors that no operation makes but some use or keep."""
        return tuple(t for t, maker in enumerate(self.maker) if maker is None and self.last_users[t] >= 0)

    def origin(self, position: int) -> int:
        """Return the corresponding operation of the original graph."""
        return self.origins[position] if self.origins else position

    def tensor_origin(self, tensor: int) -> int:
        """Return the corresponding tensor of the original graph."""
        return self.tensor_origins[tensor] if self.tensor_origins else tensor

    def macs_of(self, position: int) -> int:
        """Return the multiplications of an operation that runs whole."""
        row = self.operations[position]
        if row.role != "striped":
            return row.macs
        made = self.tensors[row.outputs[0]]
        return row.macs * made.rows * made.columns

    def way(self, position: int, number: int) -> tuple[int, int]:
        """Return the multiplications and work bytes of a whole operation, in one of its ways."""
        row = self.operations[position]
        return row.alternatives[number - 1] if number else (self.macs_of(position), row.work)

    def choose_way(self, position: int, number: int) -> AccessGraph:
        """Return the graph with one operation computed in another way; multiplications per pixel are rounded up."""
        if not number:
            return self
        (macs, work), rows = self.way(position, number), list(self.operations)
        macs = self.macs_of_pixel(position, macs)
        rows[position] = replace(rows[position], macs=macs, work=work, alternatives=())
        return replace(self, operations=tuple(rows))

    def macs_of_pixel(self, position: int, macs: int) -> int:
        """Return the multiplications of a whole operation in the units of `macs`: per pixel if it is striped."""
        if self.operations[position].role != "striped":
            return macs
        made = self.tensors[self.operations[position].outputs[0]]
        return -(-macs // (made.rows * made.columns))

    @property
    def macs(self) -> int:
        """The multiplications of all operations, run layer by layer."""
        return sum(map(self.macs_of, range(len(self.operations))))


def driving_tensor(graph: AccessGraph, position: int) -> PixelTensor:
    """Return the tensor along which a region ending with an operation is cut: its output, or a sum's input."""
    row = graph.operations[position]
    return graph.tensors[row.reads[0].tensor if row.role == "sum" else row.outputs[0]]


def barrier_of(graph: AccessGraph, position: int, reason: str) -> AccessOperation:
    """Return an operation as a barrier, which runs whole; `reason` applies unless it is one already."""
    row, tensors = graph.operations[position], graph.tensors
    if row.role == "barrier":
        return row
    reads = tuple(
        Read(read.tensor, whole_axis_window(tensors[read.tensor].rows), whole_axis_window(tensors[read.tensor].columns))
        for read in row.reads
    )
    macs = graph.macs_of(position)
    return replace(row, reads=reads, role="barrier", macs=macs, sums=0, partial=0, reason=reason)


def pixel_bytes(channels: int, brick: int, element_bits: int) -> int:
    """Return the bytes of a pixel whose channels are padded to a multiple of `brick`."""
    return (-(-channels // brick) * brick * element_bits + 7) // 8


def reorder(graph: AccessGraph, order: Sequence[int]) -> AccessGraph:
    """Return the graph with its operations in another order; `origins` maps each to the original graph."""
    return replace(
        graph,
        operations=tuple(graph.operations[v] for v in order),
        origins=tuple(map(graph.origin, order)),
        tensor_origins=tuple(map(graph.tensor_origin, range(len(graph.tensors)))),
    )


def repeat_operations(graph: AccessGraph, passes: Mapping[int, Collection[int]]) -> AccessGraph:
    """Return the graph with second passes: operations that run again just before the late operation of each pass.

    The late operation and later ones read the new copies. Repeated operations must be striped and run before it.
    `origins` and `tensor_origins` map operations and tensors to the original graph.
    """
    tensors, operations = list(graph.tensors), list[AccessOperation]()
    tensor_origins, origins = list(map(graph.tensor_origin, range(len(tensors)))), list[int]()
    newest = dict[int, int]()
    for late, operation in enumerate(graph.operations):
        for v in sorted(passes.get(late, ())):
            row = _reading(graph.operations[v], newest)
            (made,) = row.outputs
            newest[made] = len(tensors)
            tensors.append(replace(graph.tensors[made], name=f"{graph.tensors[made].name}, again"))
            tensor_origins.append(graph.tensor_origin(made))
            operations.append(replace(row, outputs=(newest[made],)))
            origins.append(graph.origin(v))
        operations.append(_reading(operation, newest))
        origins.append(graph.origin(late))
    return replace(
        graph,
        tensors=tuple(tensors),
        operations=tuple(operations),
        origins=tuple(origins),
        tensor_origins=tuple(tensor_origins),
    )


def _reading(row: AccessOperation, newest: Mapping[int, int]) -> AccessOperation:
    """Return an operation that reads the newest copies of its tensors."""
    if all(read.tensor not in newest for read in row.reads):
        return row
    reads = (replace(read, tensor=newest[read.tensor]) if read.tensor in newest else read for read in row.reads)
    return replace(row, reads=tuple(reads))
