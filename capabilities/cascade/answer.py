"""The answer of the capability `cascade`: points by falling peak, each a verified plan whose regions are listed."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from memplan.capabilities.capability import Answer
from memplan.capabilities.cascade.access.access_graph import AccessGraph
from memplan.capabilities.cascade.regions.regions import CascadeRegion, Hold, Mode, RegionKind, Span, Stripes
from memplan.capabilities.cascade.search.barriers import Barrier
from memplan.capabilities.cascade.search.points import CascadePoint
from memplan.capabilities.cascade.search.solve import CascadeResult, Exhausted
from memplan.capabilities.cascade.sweep import PointFigures, SweptRow, figures_of
from memplan.capabilities.inputs import PlanAndProblem
from memplan.planner.errors import ProblemError

MOST_BARRIERS = 10
_MOST_STEPS = 1 << 20
"""The most steps of a region that are read of an answer that came from elsewhere."""


def _is_none(found: object) -> bool:
    return found is None


class MemorySize(Answer):
    """A memory, and its bytes."""

    name: str
    size: int


class CascadeConventions(Answer):
    """The options that the numbers of an answer depend on."""

    input: str
    output: str
    sliding: bool
    objectives: tuple[str, ...]
    pools: tuple[MemorySize, ...] | None = Field(None, exclude_if=_is_none)
    alignment: int
    weights: str = "not counted"
    in_place: bool = False


class CascadeTensor(Answer):
    """A tensor as rows and columns of pixels of so many bytes."""

    name: str
    bytes: int
    rows: int
    columns: int
    pixel: int


class CascadeOperation(Answer):
    """An operation; `in` and `out` are positions of tensors."""

    kind: str
    name: str
    inputs: tuple[int, ...] = Field(alias="in", serialization_alias="in")
    outputs: tuple[int, ...] = Field(alias="out", serialization_alias="out")


class SlideRow(Answer):
    """An output that begins so many bytes below a tensor that dies, and grows into it."""

    tensor: int
    output: int
    down: int


class RegionBuffer(Answer):
    """The buffer in which a region keeps a tensor: its capacity in rows, columns and bytes of a pixel."""

    tensor: int
    mode: str
    capacity: tuple[int, int, int]
    kept: bool
    bytes: int


class RegionRow(Answer):
    """Operations that run together, step by step; `ranges` are the rows and columns that each makes in every step.

    `pieces` are the ranges of inputs that come in pieces, by their tensors: each is there before the step's operations.
    `ragged` steps make less of the last operation than the others; `waste` is the share of its output that lies beyond
    the border if they are padded.
    """

    id: str
    ops: tuple[int, ...]
    kind: str
    stride: tuple[int, int] | None
    steps: tuple[int, int]
    channel_steps: int | None = Field(None, exclude_if=_is_none)
    ragged: int | None = Field(None, exclude_if=_is_none)
    waste: float | None = Field(None, exclude_if=_is_none)
    buffers: tuple[RegionBuffer, ...] | None = Field(None, exclude_if=_is_none)
    ranges: dict[str, dict[str, Any]] | None = Field(None, exclude_if=_is_none)
    pieces: dict[str, dict[str, Any]] | None = Field(None, exclude_if=_is_none)


class PointRow(Answer):
    """A cascade with its plan: its placed peak, what it computes, and its regions, with the offset of each buffer.

    With two memories `peak` is that of the fast one, `pools` says which memory has each buffer, `used` the bytes of
    both. Where operations run again or in another order, `origins` has the operation of the model that each is,
    `tensor_origins` the tensor of the model that each is, `reads` and `makes` the tensors of each operation.
    """

    peak: int
    estimate: int
    status: str
    macs: int
    macs_ratio: float
    traffic: int
    runs: int
    checked_by_value: bool
    slides: tuple[SlideRow, ...]
    regions: tuple[RegionRow, ...]
    offsets: dict[str, int]
    pools: dict[str, str] | None = Field(None, exclude_if=_is_none)
    used: dict[str, int] | None = Field(None, exclude_if=_is_none)
    slow_traffic: int | None = Field(None, exclude_if=_is_none)
    origins: tuple[int, ...] | None = Field(None, exclude_if=_is_none)
    tensor_origins: tuple[int, ...] | None = Field(None, exclude_if=_is_none)
    reads: tuple[tuple[int, ...], ...] | None = Field(None, exclude_if=_is_none)
    makes: tuple[tuple[int, ...], ...] | None = Field(None, exclude_if=_is_none)
    planned: PlanAndProblem | None = Field(None, exclude_if=_is_none)


class CascadeAnswer(Answer):
    """The points by falling peak and rising multiplications; sizes are in bytes, operations and tensors positions.

    `without_rolling` is the least peak, and what it costs, of cascades whose steps make all again that they read.
    `first` is the number of the first point, where `point` chose one of them. Of a sweep, `swept` are the combinations
    that were searched in time, of all `combinations`; the rest is that of the combination with the lowest peak.
    """

    name: str | None
    conventions: CascadeConventions
    layers_peak: int
    layers_macs: int
    layers_traffic: int
    tensors: tuple[CascadeTensor, ...]
    operations: tuple[CascadeOperation, ...]
    points: tuple[PointRow, ...]
    first: int = Field(0, exclude_if=lambda number: number == 0)
    without_rolling: PointFigures | None = Field(None, exclude_if=_is_none)
    barriers: tuple[Barrier, ...]
    exhausted: Exhausted
    swept: tuple[SweptRow, ...] = Field((), exclude_if=lambda rows: not rows)
    combinations: int = Field(1, exclude_if=lambda number: number == 1)
    wall_time_s: float
    result: SkipJsonSchema[CascadeResult | None] = Field(None, exclude=True, repr=False)


def answer_of(result: CascadeResult, *, with_plans: bool = False) -> CascadeAnswer:
    """Return the answer that the result of a search is."""
    options, graph = result.options, result.graph
    return CascadeAnswer.of(
        result,
        name=graph.name or None,
        conventions=CascadeConventions.of(
            options, pools=tuple(MemorySize(name=name, size=size) for name, size in options.pools) or None
        ),
        layers_macs=graph.macs,
        layers_traffic=result.layers.traffic,
        tensors=tuple(map(CascadeTensor.of, graph.tensors)),
        operations=tuple(
            CascadeOperation.model_validate(
                {"kind": row.kind, "name": row.name, "in": [read.tensor for read in row.reads], "out": row.outputs}
            )
            for row in graph.operations
        ),
        points=tuple(point_row(point, k in result.checked, with_plans) for k, point in enumerate(result.points)),
        without_rolling=None if result.without_rolling is None else figures_of(result.without_rolling),
        barriers=result.barriers[:MOST_BARRIERS],
        result=result,
    )


def point_row(point: CascadePoint, is_checked: bool = False, with_plan: bool = False) -> PointRow:
    """Return the row of a point."""
    graph = point.cascade.graph
    wiring = {
        "origins": graph.origins,
        "tensor_origins": graph.tensor_origins,
        "reads": tuple(tuple(read.tensor for read in row.reads) for row in graph.operations),
        "makes": tuple(row.outputs for row in graph.operations),
    }
    slides = {(slide.output, slide.tensor): slide.down for slide in point.slides}
    has_memories = bool(point.used)
    return PointRow.of(
        point,
        status=point.plan.status,
        macs_ratio=round(point.macs_ratio, 6),
        checked_by_value=is_checked,
        slides=tuple(SlideRow(tensor=t, output=out, down=down) for (out, t), down in slides.items()),
        regions=tuple(region_row(number, region, graph) for number, region in enumerate(point.cascade.regions)),
        offsets=point.offsets(),
        pools=point.pools() if has_memories else None,
        used=dict(point.used) if has_memories else None,
        planned=PlanAndProblem(problem=point.problem, plan=point.plan) if with_plan else None,
        slow_traffic=point.slow_traffic if has_memories else None,
        **(wiring if graph.origins else {}),
    )


def region_row(number: int, region: CascadeRegion, graph: AccessGraph) -> RegionRow:
    """Return the row of a region."""
    name, operations = f"r{number}", tuple(range(region.first, region.end))
    if region.kind == "whole":
        return RegionRow(id=name, ops=operations, kind=region.kind, stride=None, steps=(1, 1))
    tensors, (ragged, waste) = graph.tensors, region.ragged
    return RegionRow.of(
        region,
        id=name,
        ops=operations,
        channel_steps=region.trips if region.kind == "channels" else None,
        ragged=ragged,
        waste=round(waste, 6),
        buffers=tuple(
            RegionBuffer.of(
                hold, tensor=tensor, capacity=(hold.rows, hold.columns, hold.pixel or tensors[tensor].pixel)
            )
            for tensor, hold in region.holds.items()
        ),
        ranges={str(v): _stripes(made) for v, made in region.made.items()},
        pieces={str(tensor): _stripes(piece) for tensor, piece in region.pieces.items()} or None,
    )


def region_from(row: RegionRow) -> CascadeRegion:
    """Return the region of a row without pieces; raises ProblemError for one that is none."""
    if not row.ops or row.kind not in get_args(RegionKind):
        raise ProblemError(f"regions: must have operations and a known kind, got {row.id}")
    holds = {}
    for buffer in row.buffers or ():
        rows, columns, pixel = buffer.capacity
        mode: Any = buffer.mode
        if min(rows, columns, pixel, buffer.bytes) < 1 or mode not in get_args(Mode):
            raise ProblemError(f"regions: must have buffers of some bytes, got that of tensor {buffer.tensor}")
        holds[buffer.tensor] = Hold(mode, rows, columns, buffer.kept, buffer.bytes)
    made = {
        int(v): Stripes(*(_spans_of(ranges.get(axis)) for axis in ("rows", "columns", "channels")))
        for v, ranges in (row.ranges or {}).items()
    }
    kind: Any = row.kind
    return CascadeRegion(row.ops[0], row.ops[-1] + 1, kind, row.stride or (0, 0), made, {}, holds)


def _spans_of(ranges: Any) -> tuple[Span, ...]:
    """Return the ranges that `_ranges` wrote."""
    if ranges is None:
        return ()
    if "table" in ranges:
        return tuple((int(a), int(b)) for a, b in ranges["table"])
    line = [ranges["A"] * y + ranges["B"] for y in range(min(ranges["steps"], _MOST_STEPS))]
    ends = [min(max(0, end), ranges["top"]) for end in line]
    return tuple((a, b) if a < b else (0, 0) for a, b in zip([0, *ends], ends, strict=False))


def _stripes(made: Stripes) -> dict[str, Any]:
    channels = {"channels": _ranges(made.channels)} if made.channels else {}
    return {"rows": _ranges(made.rows), "columns": _ranges(made.columns), **channels}


def _ranges(spans: tuple[Span, ...]) -> dict[str, Any]:
    """Return ranges as clamp(A * y + B, 0, top) of their ends, where each begins where the one before it ends."""
    ends = [b for _, b in spans]
    top = max(ends, default=0)
    rises = [(y, b) for y, b in enumerate(ends) if 0 < b < top]
    follows = all(a == b == 0 or a == before for (a, b), before in zip(spans, [0, *ends], strict=False))
    if follows and ends == sorted(ends):
        (y0, b0), (y1, b1) = (rises[0], rises[-1]) if len(rises) > 1 else ((0, 0), (0, 0))
        if y1 > y0 and (b1 - b0) % (y1 - y0) == 0:
            a = (b1 - b0) // (y1 - y0)
            base = b0 - a * y0
            if ends == [min(max(a * y + base, 0), top) for y in range(len(ends))]:
                return {"A": a, "B": base, "top": top, "steps": len(ends)}
    return {"table": spans}
