"""The data of a cascade: a graph with access maps, and the regions of operations that run one after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema
from pydantic.json_schema import SkipJsonSchema

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.questions.question import Answer, remove_default

RegionKind = Literal["whole", "rows", "tiles", "panels", "channels"]
Mode = Literal["roll", "recompute", "whole"]
Span = tuple[int, int]
_MOST_STEPS = 1 << 20
"""The maximum number of steps in a region that is read from the JSON of an answer."""


def is_none(value: object) -> bool:
    """Return True if a value is None; answers omit fields for which this is True."""
    return value is None


class Line(NamedTuple):
    """A function of the step number y: slope * y + offset, clamped to [0, top]."""

    slope: int
    offset: int
    top: int

    def value_at(self, step: int) -> int:
        """Return the function's value at a step number."""
        return min(max(self.slope * step + self.offset, 0), self.top)


def line_through(numbers: Mapping[int, int], top: int) -> Line | None:
    """Return the line, clamped to [0, top], whose value at each step is in `numbers`; None if there is no such line."""
    steps = list(numbers)
    rises = [step for step in steps if 0 < numbers[step] < top]
    first, last = (rises[0], rises[-1]) if len(rises) > 1 else (steps[0], steps[-1])
    slope = (numbers[last] - numbers[first]) // max(1, last - first)
    line = Line(slope, numbers[first] - slope * first, top)
    return line if all(line.value_at(step) == number for step, number in numbers.items()) else None


def spans_of(ranges: Any) -> Any:
    """Convert the JSON form of ranges (a table, or a linear function for their ends) to pairs of start and end."""
    if not isinstance(ranges, Mapping):
        return ranges
    if "table" in ranges:
        return tuple((int(a), int(b)) for a, b in ranges["table"])
    line = Line(ranges["A"], ranges["B"], ranges["top"])
    ends = [line.value_at(y) for y in range(min(ranges["steps"], _MOST_STEPS))]
    return tuple((a, b) if a < b else (0, 0) for a, b in zip([0, *ends], ends, strict=False))


def _closed_form(spans: tuple[Span, ...]) -> dict[str, Any]:
    ends = [b for _, b in spans]
    top = max(ends, default=0)
    follows = all(a == b == 0 or a == before for (a, b), before in zip(spans, [0, *ends], strict=False))
    rises = sum(0 < end < top for end in ends) > 1
    line = line_through(dict(enumerate(ends)), top) if follows and rises else None
    if line is None:
        return {"table": spans}
    return {"A": line.slope, "B": line.offset, "top": line.top, "steps": len(ends)}


_PAIR = {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2}
_OF_LINE = {name: {"type": "integer"} for name in ("A", "B", "top", "steps")}
_FORMS: list[dict[str, Any]] = [{"table": {"type": "array", "items": _PAIR}}, _OF_LINE]
_SCHEMA = {"anyOf": [{"type": "object", "properties": form, "required": [*form]} for form in _FORMS]}
Spans = Annotated[
    tuple[Span, ...],
    BeforeValidator(spans_of),
    PlainSerializer(_closed_form, return_type=dict[str, Any]),
    WithJsonSchema(_SCHEMA),
]
"""The type of one range for each step, (0, 0) if empty; in JSON, a table, or a linear function for the ends."""


class Stripes(Answer):
    """The ranges that the steps compute along each axis; (0, 0) if empty."""

    rows: Spans
    """The range of rows of each row step, without its end."""
    columns: Spans
    """The range of columns of each column step, without its end."""
    channels: Spans = Field((), exclude_if=lambda spans: not spans, json_schema_extra=remove_default)
    """The range of channels of each channel step, without its end; omitted if every step computes all channels."""


class Slide(Answer):
    """An output that grows into the bytes of a tensor while that tensor is read for the last time."""

    tensor: int
    """The tensor that is read."""
    output: int
    """The output, which begins below the tensor that is read."""
    down: int
    """The bytes from the start of the output up to the start of the tensor that is read."""


class RegionBuffer(Answer):
    """The buffer in which a region keeps a tensor; element r of an axis is at r modulo the capacity."""

    tensor: int
    """The tensor."""
    mode: Mode
    """`roll`: each row is computed once; `recompute`: every step recomputes all rows that it reads; `whole`: the whole
    tensor is kept."""
    capacity: tuple[int, int, int]
    """The rows and columns that the buffer holds, and the bytes of a pixel in it: fewer than the tensor's if it keeps
    only some channels."""
    kept: bool
    """True if content is kept from one step to the next."""
    bytes: int
    """The size of the buffer, rounded up to the alignment."""

    @property
    def rows(self) -> int:
        """The number of rows that the buffer keeps."""
        return self.capacity[0]

    @property
    def columns(self) -> int:
        """The number of columns that the buffer keeps."""
        return self.capacity[1]

    @property
    def pixel(self) -> int:
        """The bytes of a pixel in the buffer; fewer than the tensor's if it keeps only some channels."""
        return self.capacity[2]


class CascadeRegion(Answer):
    """Operations that run together: in every step, each of them in order computes its ranges."""

    id: str
    """The name of the region, such as `r0`, with which the names of its steps begin."""
    ops: tuple[int, ...]
    """The consecutive positions of its operations."""
    kind: RegionKind
    """`whole`: one operation that runs as a whole; `rows`, `tiles`, `panels`: steps along rows and columns; `channels`:
    each step computes all rows and columns of some channels."""
    stride: tuple[int, int] | None
    """The rows and columns of a step, where -n is an n-th of one row or column; for `channels`, the channels of a step,
    and 0; null for `whole`."""
    steps: tuple[int, int]
    """The numbers of steps along rows and along columns; (1, 1) for `whole` and `channels`."""
    channel_steps: int | None = Field(None, exclude_if=is_none)
    """The number of steps along channels; only for `channels`."""
    ragged: int | None = Field(None, exclude_if=is_none)
    """The number of steps that compute less of the last operation than the others; omitted for `whole`."""
    waste: float | None = Field(None, exclude_if=is_none)
    """The fraction of the output that is beyond the border if ragged steps are padded, such as 0.05; omitted for
    `whole`."""
    buffers: tuple[RegionBuffer, ...] | None = Field(None, exclude_if=is_none)
    """The buffers of tensors that exist only in the region, and of tensors that are computed there as a whole; omitted
    for `whole`."""
    ranges: dict[int, Stripes] = Field({}, exclude_if=lambda ranges: not ranges)
    """The ranges of each operation, by its position; for a sum, or an operation accumulated over channels, the ranges
    of its input."""
    pieces: dict[int, Stripes] = Field({}, exclude_if=lambda ranges: not ranges)
    """The ranges of inputs that are delivered in pieces before each step's operations, by tensor."""
    alternative: int = Field(0, exclude_if=lambda way: way == 0)
    """For a single operation, 0 for the operation itself, k for its k-th alternative."""
    slide: SkipJsonSchema[Slide | None] = Field(None, exclude=True)
    """How the output grows into an input; the point has it in `slides` if it is needed."""

    @classmethod
    def whole_region(cls, number: int, operation: int, alternative: int = 0) -> CascadeRegion:
        """Return the region of one operation that runs as a whole, by its alternative (0: the operation itself)."""
        steps = (1, 1)
        return cls(id=f"r{number}", ops=(operation,), kind="whole", stride=None, steps=steps, alternative=alternative)

    @classmethod
    def striped_region(
        cls,
        number: int,
        kind: RegionKind,
        stride: Span,
        ranges: dict[int, Stripes],
        buffers: Iterable[RegionBuffer],
        pieces: dict[int, Stripes] | None = None,
        slide: Slide | None = None,
    ) -> CascadeRegion:
        """Return a region that runs in steps; its operations, numbers of steps and waste are derived from `ranges`."""
        last = ranges[max(ranges)]
        (ragged, waste), is_along = _ragged_and_waste(last), kind == "channels"
        return cls(
            id=f"r{number}",
            ops=tuple(ranges),
            kind=kind,
            stride=stride,
            steps=(1, 1) if is_along else (len(last.rows), len(last.columns)),
            channel_steps=len(last.channels) if is_along else None,
            ragged=ragged,
            waste=round(waste, 6),
            buffers=tuple(buffers),
            ranges=ranges,
            pieces=pieces or {},
            slide=slide,
        )

    def remake(self, ranges: dict[int, Stripes], buffers: Iterable[RegionBuffer] | None = None) -> CascadeRegion:
        """Return a copy of the region with new ranges or buffers, and the fields that depend on them recomputed."""
        number, stride = int(self.id.removeprefix("r") or 0), self.stride or (0, 0)
        held = self.buffers or () if buffers is None else buffers
        region = self.striped_region(number, self.kind, stride, ranges, held, self.pieces, self.slide)
        return region.model_copy(update={"alternative": self.alternative})

    @property
    def first_operation(self) -> int:
        """The position of the region's first operation."""
        return self.ops[0]

    @property
    def end(self) -> int:
        """The position after the region's last operation."""
        return self.ops[-1] + 1

    @cached_property
    def buffer_by_tensor(self) -> dict[int, RegionBuffer]:
        """The buffers of the region, by tensor."""
        return {row.tensor: row for row in self.buffers or ()}

    @property
    def n_steps(self) -> int:
        """The total number of steps: the channel steps, or the row steps times the column steps."""
        return self.channel_steps or prod(self.steps)


def _ragged_and_waste(last: Stripes) -> tuple[int, float]:
    axes = [[b - a for a, b in spans if a < b] for spans in (last.rows, last.columns, last.channels) if spans]
    seen = prod(map(len, axes))
    ragged = seen - prod(sizes.count(max(sizes)) for sizes in axes)
    return ragged, seen * prod(map(max, axes)) / prod(map(sum, axes)) - 1


@dataclass(frozen=True)
class Cascade:
    """A graph and its regions, which cover all operations in order; tensors in `streamed` are delivered in pieces."""

    graph: AccessGraph
    regions: tuple[CascadeRegion, ...]
    streamed: frozenset[int] = frozenset()


def hull(spans: Iterable[Span]) -> Span:
    """Return the smallest range that contains all given ranges; (0, 0) if all of them are empty."""
    some = [(first, end) for first, end in spans if first < end]
    return (min(first for first, _ in some), max(end for _, end in some)) if some else (0, 0)


def is_accumulated(graph: AccessGraph, region: CascadeRegion) -> bool:
    """Return True for a region along channels whose last operation accumulates its output step by step."""
    last = graph.operations[region.end - 1]
    if region.kind != "channels" or not last.partial:
        return False
    maker = graph.maker[last.reads[0].tensor]
    return maker is not None and maker >= region.first_operation


def accumulator_bytes(graph: AccessGraph, region: CascadeRegion) -> int:
    """Return the bytes of accumulators that a region needs besides the buffer of its output."""
    last = graph.operations[region.end - 1]
    if region.kind == "whole":
        return 0
    if is_accumulated(graph, region):
        return last.partial if last.partial > graph.tensors[last.outputs[0]].bytes else 0
    return last.sums if last.role == "sum" and region.kind != "channels" else 0


def steps_of(region: CascadeRegion) -> product[tuple[int, int]]:
    """Return the pairs (row step, column step) of a region, with the row steps in the outer loop."""
    rows, columns = region.steps
    return product(range(rows), range(columns))


def whole_name(tensor: int) -> str:
    """Return the buffer name of a tensor that is kept as a whole."""
    return f"t{tensor}"


def region_buffer_name(region: int, tensor: int) -> str:
    """Return the buffer name of a tensor that is kept inside one region only."""
    return f"t{tensor}.r{region}"


def sums_name(region: int, tensor: int) -> str:
    """Return the buffer name of the accumulators of a region's last operation."""
    return f"t{tensor}.r{region}.sums"
