"""Graphs of operations with access maps: tensors are rows x columns of pixels, and operations read ranges of them.

A tensor is stored row by row, and a row pixel by pixel, each with all its channels. Operations are in execution order.
"""

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
"""The maximum bytes, and the maximum multiplications, of a graph, so that totals over 2^20 steps fit into 64 bits."""


class Window(NamedTuple):
    """The access map of one axis: the input range that is read to compute the output range [a, b).

    It is [floor((a * scale + low) / divisor), floor(((b - 1) * scale + high) / divisor) + 1). For output computed from
    padding alone, it is empty.
    """

    scale: int = 1
    divisor: int = 1
    low: int = 0
    high: int = 0

    def input_range(self, first: int, end: int, size: int) -> tuple[int, int]:
        """Return the input range that output [first, end) reads, clipped to [0, size); (0, 0) if it reads nothing."""
        used = self.output_range_reading_input(size)
        first, end = max(first, used[0]), min(end, used[1])
        if first >= end:
            return 0, 0
        a, b = self.unclipped_input_range(first, end)
        a, b = max(a, 0), min(b, size)
        return (a, b) if a < b else (0, 0)

    def unclipped_input_range(self, first: int, end: int) -> tuple[int, int]:
        """Return the input range that output [first, end) reads, not clipped to the input, so it may begin below 0."""
        return (first * self.scale + self.low) // self.divisor, ((end - 1) * self.scale + self.high) // self.divisor + 1

    def output_range_reading_input(self, size: int) -> tuple[int, int]:
        """Return the range of outputs that read at least one element of an input of `size` elements."""
        if self.scale == 0:
            return 0, MOST
        return -(self.high // self.scale), (size * self.divisor - 1 - self.low) // self.scale + 1


SAME = Window()
"""The access map of element-wise operations, in which output row y reads input row y."""


def whole_axis_window(size: int) -> Window:
    """Return the access map in which each part of the output reads all `size` elements of the axis."""
    return Window(0, 1, 0, size - 1)


def sliding_window(kernel: int, stride: int, dilation: int, before: int) -> Window:
    """Return the access map of a convolution or pooling along an axis with `before` elements of leading padding."""
    return Window(stride, 1, -before, (kernel - 1) * dilation - before)


def transposed_window(kernel: int, stride: int, dilation: int, before: int) -> Window:
    """Return the map of a transposed convolution: tap k of input row r adds to output row r * stride - before + k."""
    reach = (kernel - 1) * dilation
    return Window(1, stride, before - reach + stride - 1, before)


def shift_window(offset: int, step: int = 1) -> Window:
    """Return the access map of a slice, pad or concat, in which output row y reads input row offset + step * y."""
    return Window(step, 1, offset, offset)


def resize_window(size: int, out: int) -> Window:
    """Return the map of a nearest-neighbour resize from `size` to `out` rows: row y reads row floor(y * size / out)."""
    return Window(size, out, 0, 0)


def centred_resize_window(size: int, out: int) -> Window:
    """Return the map of a resize to the row nearest to (y + 1/2) * size / out - 1/2; a tie reads both rows."""
    # A resize may round the row's exact position up or down at a tie, so include both rows.
    return Window(2 * size, 2 * out, size - 1, size)


def linear_resize_window(size: int, out: int) -> Window:
    """Return the map of a linear resize from `size` to `out` rows with half-pixel centres, clamped at the borders."""
    return Window(2 * size, 2 * out, size - out, size + out)


def corner_aligned_resize_window(size: int, out: int) -> Window:
    """Return the map of a linear resize from `size` to `out` rows that aligns the first and the last rows."""
    if out == 1:
        return Window(0, 1, 0, 0)
    return Window(size - 1, out - 1, 0, out - 1)


def asymmetric_resize_window(size: int, out: int) -> Window:
    """Return the map of a linear resize, in which output row y is interpolated at input position y * size / out."""
    return Window(size, out, 0, out)


def depth_to_space_window(factor: int) -> Window:
    """Return the access map of depth-to-space, in which each input row becomes `factor` output rows."""
    return Window(1, factor, 0, 0)


def space_to_depth_window(factor: int) -> Window:
    """Return the access map of space-to-depth, in which `factor` input rows become one output row."""
    return Window(factor, 1, 0, factor - 1)


@dataclass(frozen=True)
class PixelTensor:
    """A tensor as rows x columns of pixels of `pixel` bytes each; `bytes_` is its size if padding makes it larger.

    A pixel consists of `channels` of equal size; 0 channels mean that the number is unknown.
    """

    rows: int
    columns: int
    pixel: int
    name: str = ""
    bytes_: int | None = None
    channels: int = 0

    @property
    def bytes(self) -> int:
        """The size of the whole tensor in bytes."""
        return self.rows * self.columns * self.pixel if self.bytes_ is None else self.bytes_

    @property
    def sizes(self) -> tuple[int, int]:
        """The numbers of rows and of columns."""
        return self.rows, self.columns


@dataclass(frozen=True)
class Read:
    """One input of an operation, with an access map for its rows and one for its columns.

    To compute some output channels, the operation reads either the `same` channels of this input, or `all` of them.
    """

    tensor: int
    rows: Window
    columns: Window
    channels: Channels = "all"

    @property
    def windows(self) -> tuple[Window, Window]:
        """The access maps of the rows and of the columns, in this order."""
        return self.rows, self.columns


@dataclass(frozen=True)
class AccessOperation:
    """An operation with its inputs, its outputs, its cost, and its role.

    A `striped` operation may compute a part of its only output. A `sum` is accumulated over its only input, in `sums`
    bytes, and may only end a region. A `barrier` runs as a whole, for the given `reason`. `macs` are multiplications:
    per output pixel if striped, else in total. Each run reads `weights` bytes of constants, and needs `work` bytes
    besides its tensors. `partial` is the size of the accumulators if the operation may be summed over ranges of its
    input channels, else 0. Operations with different labels do not run in one region. `alternatives` lists the
    (multiplications, working bytes) of other ways to run the whole operation.
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
        """The minimum bytes of working memory, over the operation itself and its alternatives."""
        return min((self.work, *(work for _, work in self.alternatives)))


@dataclass(frozen=True)
class AccessGraph:
    """Tensors and operations in execution order; the tensors in `kept` stay alive to the end.

    If operations of an original graph run again or are omitted here, `origins` has each operation's original position,
    and `tensor_origins` each tensor's. Otherwise, both are empty. If the graph `is_coarse`, each run of an operation
    costs extra time, so regions are cut neither along channels nor into parts of a row or column.
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
        """Raise OperationsError if the graph has too many bytes or multiplications."""
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
        """For each tensor, the position of the first operation that writes it, or None for an input of the graph."""
        makers: list[int | None] = [None] * len(self.tensors)
        for position, row in enumerate(self.operations):
            for tensor in row.outputs:
                if makers[tensor] is None:
                    makers[tensor] = position
        return tuple(makers)

    @cached_property
    def readers(self) -> tuple[tuple[int, ...], ...]:
        """For each tensor, the positions of the operations that read it, in ascending order."""
        readers: list[dict[int, None]] = [{} for _ in self.tensors]
        for position, row in enumerate(self.operations):
            for read in row.reads:
                readers[read.tensor][position] = None
        return tuple(map(tuple, readers))

    @cached_property
    def last_users(self) -> tuple[int, ...]:
        """For each tensor, the position of the last operation that reads or writes it.

        The position is the number of operations for a tensor kept to the end, and -1 for an input that is never read.
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
        """The tensors that no operation writes, but that are read or kept."""
        return tuple(t for t, maker in enumerate(self.maker) if maker is None and self.last_users[t] >= 0)

    def origin(self, position: int) -> int:
        """Return the position in the original graph of the operation at `position` in this graph."""
        return self.origins[position] if self.origins else position

    def tensor_origin(self, tensor: int) -> int:
        """Return the number in the original graph of the tensor with number `tensor` in this graph."""
        return self.tensor_origins[tensor] if self.tensor_origins else tensor

    def macs_of(self, position: int) -> int:
        """Return the multiplications of one operation when it runs once and as a whole."""
        row = self.operations[position]
        if row.role != "striped":
            return row.macs
        made = self.tensors[row.outputs[0]]
        return row.macs * made.rows * made.columns

    def cost_of_alternative(self, position: int, number: int) -> tuple[int, int]:
        """Return (multiplications, working bytes) of a whole operation, by its alternative `number` (0: itself)."""
        row = self.operations[position]
        return row.alternatives[number - 1] if number else (self.macs_of(position), row.work)

    def choose_alternative(self, position: int, number: int) -> "AccessGraph":
        """Return the graph with one operation replaced by its alternative `number`; 0 returns the graph unchanged."""
        if not number:
            return self
        (macs, work), rows = self.cost_of_alternative(position, number), list(self.operations)
        macs = self.macs_of_pixel(position, macs)
        rows[position] = replace(rows[position], macs=macs, work=work, alternatives=())
        return replace(self, operations=tuple(rows))

    def macs_of_pixel(self, position: int, macs: int) -> int:
        """Return multiplications of a whole operation per output pixel, rounded up; unchanged unless it is striped."""
        if self.operations[position].role != "striped":
            return macs
        made = self.tensors[self.operations[position].outputs[0]]
        return -(-macs // (made.rows * made.columns))

    @property
    def macs(self) -> int:
        """The multiplications of all operations, if each runs once and as a whole."""
        return sum(map(self.macs_of, range(len(self.operations))))


def driving_tensor(graph: AccessGraph, position: int) -> PixelTensor:
    """Return the tensor that a region cuts into stripes.

    The region ends with the operation at `position`. The tensor is its output or, for an accumulated sum, its input.
    """
    row = graph.operations[position]
    return graph.tensors[row.reads[0].tensor if row.role == "sum" else row.outputs[0]]


def barrier_of(graph: AccessGraph, position: int, reason: str) -> AccessOperation:
    """Return an operation as a barrier (run as a whole) with the given reason, or unchanged if it is a barrier."""
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
    """Return the bytes of a pixel whose channels, of `element_bits` each, are padded to a multiple of `brick`."""
    return (-(-channels // brick) * brick * element_bits + 7) // 8


def reorder_operations(graph: AccessGraph, order: Sequence[int]) -> AccessGraph:
    """Return the graph with its operations in another order; `origins` has their positions in the original graph."""
    return replace(
        graph,
        operations=tuple(graph.operations[v] for v in order),
        origins=tuple(map(graph.origin, order)),
        tensor_origins=tuple(map(graph.tensor_origin, range(len(graph.tensors)))),
    )


def repeat_operations(graph: AccessGraph, passes: Mapping[int, Collection[int]]) -> AccessGraph:
    """Return the graph in which some operations run again: those in `passes[p]` run again directly before operation p.

    From there on, all operations read the new copies of tensors. Repeated operations must be striped. `origins` and
    `tensor_origins` have the positions in the original graph.
    """
    tensors, operations = list(graph.tensors), list[AccessOperation]()
    tensor_origins, origins = list(map(graph.tensor_origin, range(len(tensors)))), list[int]()
    newest = dict[int, int]()
    for late, operation in enumerate(graph.operations):
        for v in sorted(passes.get(late, ())):
            row = _read_newest_copies(graph.operations[v], newest)
            (made,) = row.outputs
            newest[made] = len(tensors)
            tensors.append(replace(graph.tensors[made], name=f"{graph.tensors[made].name}, again"))
            tensor_origins.append(graph.tensor_origin(made))
            operations.append(replace(row, outputs=(newest[made],)))
            origins.append(graph.origin(v))
        operations.append(_read_newest_copies(operation, newest))
        origins.append(graph.origin(late))
    return replace(
        graph,
        tensors=tuple(tensors),
        operations=tuple(operations),
        origins=tuple(origins),
        tensor_origins=tuple(tensor_origins),
    )


def _read_newest_copies(row: AccessOperation, newest: Mapping[int, int]) -> AccessOperation:
    if all(read.tensor not in newest for read in row.reads):
        return row
    reads = (replace(read, tensor=newest[read.tensor]) if read.tensor in newest else read for read in row.reads)
    return replace(row, reads=tuple(reads))
