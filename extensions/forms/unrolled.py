"""A cascade unrolled into operations on parts of tensors, for runtimes without loops and ring buffers.

A tensor that is computed in steps is never stored whole. Each part is a separate value, which is freed after its last
reader. A reader gets the rows and columns that it needs by slicing parts and joining the slices. Parts thus replace the
contents of a ring buffer. Inputs of a region are freed part by part; only operations that run whole need whole tensors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Literal

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.regions.counts import runs_of
from memplan.extensions.cascade.regions.regions import Cascade, CascadeRegion, Span, steps_of
from memplan.planner.errors import OperationsError

MOST_RUNS = 20_000
"""The maximum number of operation runs in an unrolled cascade."""
StepKind = Literal["run", "slice", "join"]


@dataclass(frozen=True)
class Part:
    """A value of an unrolled cascade: a rectangular part of a tensor, given by a range of rows and one of columns."""

    tensor: int
    rows: Span
    columns: Span

    @property
    def spans(self) -> tuple[Span, Span]:
        """The range of rows and the range of columns."""
        return self.rows, self.columns


@dataclass(frozen=True)
class PartStep:
    """A step that slices a value, joins values along an axis (0: rows), or runs an operation. Values are indices."""

    kind: StepKind
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    operation: int = -1
    axis: int = 0


@dataclass(frozen=True)
class UnrolledCascade:
    """A cascade as a straight-line program: values (inputs first), and the steps that compute them.

    `inputs` and `kept` are the indices of the values that are inputs and outputs of the program.
    """

    graph: AccessGraph
    values: tuple[Part, ...]
    steps: tuple[PartStep, ...]
    inputs: tuple[int, ...]
    kept: tuple[int, ...]

    def is_whole(self, value: int) -> bool:
        """Return True if a value is a whole tensor."""
        part = self.values[value]
        return part.spans == _full_spans(self.graph, part.tensor)

    def bytes_of(self, value: int) -> int:
        """Return the bytes of a value."""
        part, row = self.values[value], self.graph.tensors[self.values[value].tensor]
        if self.is_whole(value):
            return row.bytes
        return (part.rows[1] - part.rows[0]) * (part.columns[1] - part.columns[0]) * row.pixel

    def lifetimes(self) -> list[tuple[int, int]]:
        """Return (first step, last step) of each value: its computation (-1 for an input), and its last use.

        For an output, the last use is one step after the last step of the program.
        """
        first, last = [-1] * len(self.values), [-1] * len(self.values)
        for at, step in enumerate(self.steps):
            for value in step.outputs:
                first[value] = last[value] = at
            for value in step.inputs:
                last[value] = at
        for value in self.kept:
            last[value] = len(self.steps)
        return list(zip(first, last, strict=True))

    @property
    def live_peak(self) -> int:
        """The peak of the live bytes if no operation works in place."""
        return max(self.live_bytes())

    def live_bytes(self) -> list[int]:
        """Return the bytes alive before the first step, during each step, and at the end."""
        change = [0] * (len(self.steps) + 3)
        for value, (first, last) in enumerate(self.lifetimes()):
            change[first + 1] += self.bytes_of(value)
            change[last + 2] -= self.bytes_of(value)
        work = (self.graph.operations[step.operation].work if step.kind == "run" else 0 for step in self.steps)
        return [alive + more for alive, more in zip(accumulate(change), (0, *work, 0, 0), strict=True)]


def unroll(cascade: Cascade) -> UnrolledCascade:
    """Return a cascade as a straight-line program; its inputs and outputs must be resident (wholly in memory).

    Raises OperationsError for streamed tensors, regions along channels, sums, parts that read only padding, and more
    than MOST_RUNS runs of operations.
    """
    if cascade.streamed or any(region.pieces for region in cascade.regions):
        raise OperationsError("cascade: must have resident inputs and outputs to be unrolled")
    if any(region.kind == "channels" for region in cascade.regions):
        raise OperationsError("cascade: must not have regions along channels to be unrolled")
    if (runs := runs_of(cascade)) > MOST_RUNS:
        raise OperationsError(f"cascade: must have at most {MOST_RUNS} runs of operations to be unrolled, got {runs}")
    return _Unrolling(cascade).run()


def _full_spans(graph: AccessGraph, tensor: int) -> tuple[Span, Span]:
    row = graph.tensors[tensor]
    return (0, row.rows), (0, row.columns)


class _Unrolling:
    """The unrolling of a cascade: the stored parts of each tensor, and the parts `taken` in the current step."""

    def __init__(self, cascade: Cascade) -> None:
        """Start without values and steps."""
        self.cascade, self.graph = cascade, cascade.graph
        self.values: list[Part] = []
        self.steps: list[PartStep] = []
        self.parts: dict[int, list[int]] = {}
        self.taken: dict[Part, int] = {}

    def run(self) -> UnrolledCascade:
        """Return the straight-line program: the steps of all regions, then joins for the outputs."""
        graph = self.graph
        inputs = tuple(self._add_value(tensor, *_full_spans(graph, tensor)) for tensor in graph.inputs)
        self.parts = {self.values[value].tensor: [value] for value in inputs}
        for region in self.cascade.regions:
            self.taken = {}
            if region.kind == "whole":
                self._run_whole(region.first_operation)
            else:
                self._run_steps(region)
        self.taken = {}
        outputs = tuple(self._part_value(Part(tensor, *_full_spans(graph, tensor))) for tensor in graph.kept)
        return UnrolledCascade(graph, tuple(self.values), tuple(self.steps), inputs, outputs)

    def _add_value(self, tensor: int, rows: Span, columns: Span) -> int:
        self.values.append(Part(tensor, rows, columns))
        return len(self.values) - 1

    def _run_whole(self, v: int) -> None:
        row, graph = self.graph.operations[v], self.graph
        inputs = tuple(self._part_value(Part(read.tensor, *_full_spans(graph, read.tensor))) for read in row.reads)
        outputs = tuple(self._add_value(tensor, *_full_spans(graph, tensor)) for tensor in row.outputs)
        self.steps.append(PartStep("run", inputs, outputs, v))
        for tensor, value in zip(row.outputs, outputs, strict=True):
            self.parts[tensor] = [value]

    def _run_steps(self, region: CascadeRegion) -> None:
        """Add the steps of a region, in which each operation runs part by part."""
        again = [tensor for tensor, hold in region.buffer_by_tensor.items() if hold.mode == "recompute"]
        for step in steps_of(region):
            self.taken = {}
            for tensor in again:
                self.parts[tensor] = []
            for v in range(region.first_operation, region.end):
                made = region.ranges[v]
                rows, columns = made.rows[step[0]], made.columns[step[1]]
                if rows[1] > rows[0] and columns[1] > columns[0]:
                    self._run_part(v, rows, columns)

    def _run_part(self, v: int, rows: Span, columns: Span) -> None:
        """Add the step that computes the given rows and columns of the output of operation `v`."""
        row, graph = self.graph.operations[v], self.graph
        if row.role != "striped":
            raise OperationsError(f"ops[{v}]: must have the role striped to run in parts, got {row.role}")
        inputs = []
        for read in row.reads:
            wanted = [
                window.input_range(*span, size)
                for window, span, size in zip(
                    read.windows, (rows, columns), graph.tensors[read.tensor].sizes, strict=True
                )
            ]
            if any(b <= a for a, b in wanted):
                raise OperationsError(
                    f"ops[{v}]: must read at least one row and one column for each part of its output"
                )
            inputs.append(self._part_value(Part(read.tensor, wanted[0], wanted[1])))
        value = self._add_value(row.outputs[0], rows, columns)
        self.steps.append(PartStep("run", tuple(inputs), (value,), v))
        self.parts.setdefault(row.outputs[0], []).append(value)

    def _part_value(self, wanted: Part) -> int:
        """Return the value that equals a part of a tensor, after adding the slices and joins that it needs."""
        if wanted in self.taken:
            return self.taken[wanted]
        (row, bottom), (left, right) = wanted.spans
        bands = []
        while row < bottom:
            column, end, parts = left, bottom, []
            while column < right:
                value = self._covering_value(wanted, row, column)
                part = self.values[value]
                parts.append((value, (column, min(part.columns[1], right))))
                column, end = min(part.columns[1], right), min(end, part.rows[1])
            bands.append(self._add_join([self._add_slice(value, (row, end), span) for value, span in parts], 1))
            row = end
        self.taken[wanted] = self._add_join(bands, 0)
        return self.taken[wanted]

    def _covering_value(self, wanted: Part, row: int, column: int) -> int:
        best, most = -1, -1
        for value in self.parts.get(wanted.tensor, ()):
            (top, bottom), (left, right) = self.values[value].spans
            if top <= row < bottom and left <= column < right and min(bottom, wanted.rows[1]) >= most:
                best, most = value, min(bottom, wanted.rows[1])
        if best < 0:
            raise OperationsError(f"tensor {wanted.tensor}: must be computed at row {row}, column {column} before use")
        return best

    def _add_slice(self, value: int, rows: Span, columns: Span) -> int:
        part = self.values[value]
        if part.spans == (rows, columns):
            return value
        part_value = self._add_value(part.tensor, rows, columns)
        self.steps.append(PartStep("slice", (value,), (part_value,)))
        return part_value

    def _add_join(self, values: Sequence[int], axis: int) -> int:
        if len(values) == 1:
            return values[0]
        first, last = self.values[values[0]], self.values[values[-1]]
        rows = (first.rows[0], last.rows[1]) if axis == 0 else first.rows
        columns = (first.columns[0], last.columns[1]) if axis == 1 else first.columns
        joined = self._add_value(first.tensor, rows, columns)
        self.steps.append(PartStep("join", tuple(values), (joined,), axis=axis))
        return joined
