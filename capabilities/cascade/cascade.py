"""The capability `cascade`: operations in stripes, so that only edges of their tensors are kept."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from memplan.capabilities.capability import Capability, CapabilityOptions, Control, Seconds
from memplan.capabilities.cascade.access.access_graph import AccessGraph
from memplan.capabilities.cascade.answer import CascadeAnswer, PointRow, answer_of
from memplan.capabilities.cascade.search.barriers import Barrier
from memplan.capabilities.cascade.search.options import CascadeOptions as SearchedFor
from memplan.capabilities.cascade.search.options import Delivery, Objective
from memplan.capabilities.cascade.search.points import CascadePoint
from memplan.capabilities.cascade.search.solve import TIME_LIMIT_S, CascadeResult, with_point_alone
from memplan.capabilities.cascade.search.solve import cascade as search
from memplan.capabilities.cascade.sweep import Sweep, best_of, combinations, swept_lines, swept_rows
from memplan.capabilities.inputs import GRAPH
from memplan.capabilities.order.graphs import unaligned_graph
from memplan.capabilities.sizes import parse_size
from memplan.capabilities.texts import MacsRatio, refuse
from memplan.planner.errors import OptionError, broken, shown
from memplan.planner.model.rows import Bytes, as_tuple
from memplan.planner.operations.graph import OperationGraph

_ANSWER_S = 0.5
"""The seconds of the time limit that are kept for the plans of the last points, and for the answer."""
_NOTED_PART = 20
"""Answers are noted at most every so many times as long as noting the last one took."""
_STRIPE = re.compile(r"([0-9]{1,7})(?: ?x ?([0-9]{1,7}))?", re.ASCII)
_MOST_BARRIERS = 3
_MOST_NAME = 40
"""The characters of a name that a line shows: the last ones, which differ."""


"""The most multiplications, as a multiple or as a share such as +10%."""


def _stripe(value: object) -> object:
    """Return the rows and columns that a number or a text such as 4 or 6x6 says."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value, 0
    if not isinstance(value, str):
        return tuple(value) if isinstance(value, list) else value
    match = _STRIPE.fullmatch(value.strip())
    if match is None:
        raise refuse(f"must be rows, or rows x columns, such as 4 or 6x6, got {shown(value)}")
    return int(match[1]), int(match[2] or 0)


def _objectives(value: object) -> object:
    """Return the words of texts with commas."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, (list, tuple)):
        return value
    return tuple(word for text in texts for word in (text.split(",") if isinstance(text, str) else [text]))


def _pools(value: object) -> object:
    """Return the names and bytes of memories that are written as NAME=SIZE, as objects, or as pairs."""
    rows = value.split(",") if isinstance(value, str) else value
    return tuple(map(_pool, rows)) if isinstance(rows, (list, tuple)) else value


def _pool(row: object) -> object:
    if isinstance(row, Mapping) and row.keys() == {"name", "size"}:
        return row["name"], row["size"]
    if not isinstance(row, str):
        return tuple(row) if isinstance(row, list) else row
    name, is_named, size = row.rpartition("=")
    if not is_named or not name:
        raise refuse(f"must be NAME=SIZE, a fast memory and then a slow one, got {shown(row)}")
    try:
        return name, parse_size(size)
    except ValueError as error:
        raise refuse(str(error)) from error


class CascadeOptions(CapabilityOptions):
    """Options of a search for cascades."""

    time_limit_s: Seconds = Field(TIME_LIMIT_S, description="Seconds for the search and the plans, all in all.")
    fit: Bytes | None = Field(None, description="Show points of at most so many bytes.")
    macs: MacsRatio | None = Field(None, description="The most multiplications, of those layer by layer: +10% or 1.1.")
    input: Delivery = Field("resident", description="Inputs lie whole in memory, or come in pieces (streamed).")
    output: Delivery = Field("resident", description="Outputs lie whole in memory, or go in pieces (streamed).")
    overlap: Literal["none", "sliding"] = Field("none", description="Let outputs grow into dying inputs (sliding).")
    objectives: Annotated[tuple[Objective, ...], BeforeValidator(_objectives)] = Field(
        SearchedFor.objectives, description="What no other point is as good in as one that is shown."
    )
    pools: Annotated[tuple[tuple[str, int], ...], BeforeValidator(_pools)] = Field(
        (), description="A fast memory, then a slow one: fast=64KiB and slow=1MiB."
    )
    alignment: int = Field(1, description="Round buffers up to multiples of so many bytes, a power of two.")
    brick: Annotated[int, Field(ge=1, le=1 << 20)] = Field(1, description="Pad channels to a multiple of this.")
    stripe: Annotated[tuple[int, int], BeforeValidator(_stripe)] | None = Field(
        None, description="Cut regions in stripes or tiles of this size alone: 4, or 6x6."
    )
    barriers: Annotated[tuple[str, ...], BeforeValidator(as_tuple)] = Field(
        (),
        description="An operation that runs whole, with no region across: its position, its name, or what it makes.",
    )
    channels: bool = Field(True, description="Cut regions along channels, too, and in parts of a row or a column.")
    point: int | None = Field(None, description="Answer with point K alone, from 0; -1 is the least peak.")
    sweep: Sweep = Field(
        default_factory=dict,
        description="Search for each of these values of an option: stripe=1,2,4 or overlap=none,sliding.",
    )
    with_plans: bool = Field(False, description="Answer with the problem and the plan of each point, too.")
    check: bool = Field(
        False, description="Execute the points, or the one of `point`, by value in their planned arena."
    )

    @property
    def searched_for(self) -> SearchedFor:
        """The options of the search; raises OptionError."""
        own = SearchedFor.__dataclass_fields__.keys() & type(self).model_fields.keys()
        return SearchedFor(**self.fields(*own), sliding=self.overlap == "sliding", checked=self.point)

    @model_validator(mode="after")
    def _goes_together(self) -> CascadeOptions:
        try:
            _ = self.searched_for, combinations(self, self.sweep) if self.sweep else ()
        except OptionError as error:
            broken(*(((), sentence) for sentence in error.sentences))
        return self


def cascade(
    graph: OperationGraph | AccessGraph, options: CascadeOptions = CascadeOptions(), control: Control = Control()
) -> CascadeAnswer:
    """Run operations in stripes: peaks, what they cost in recomputation, each one a verified plan.

    The points are the front of peaks and multiplications; each is reported when it is planned. Those of a sweep are of
    the combination with the lowest peak.
    """
    running = control.begun(options)
    if not options.sweep:
        return _answered(_searched(graph, options, running), options)
    chosen, found = combinations(options, options.sweep), list[tuple[dict[str, Any], CascadeResult]]()
    for k, (values, its) in enumerate(chosen):
        if found and running.is_over:
            break
        part = running.within(running.left_s / (len(chosen) - k))
        found.append((values, _searched(graph, its, replace(part, note=None))))
    best = _answered(best_of([result for _, result in found]), options)
    return best.model_copy(update={"swept": swept_rows(found, options.objectives), "combinations": len(chosen)})


def _answered(found: CascadeResult, options: CascadeOptions) -> CascadeAnswer:
    shown = found if options.point is None or not found.points else with_point_alone(found, options.point)
    return answer_of(shown, with_plans=options.with_plans)


def _searched(graph: OperationGraph | AccessGraph, options: CascadeOptions, running: Control) -> CascadeResult:
    """Return what a search with one value of each option finds; report and note its points."""
    noted_until = 0.0

    def hear(point: CascadePoint | None, so_far: Callable[[], CascadeResult]) -> None:
        nonlocal noted_until
        if point is not None:
            running.report({"peak": point.peak, "macs": point.macs, "macs_ratio": round(point.macs_ratio, 6)})
        began = time.monotonic()
        if running.note is not None and options.point is None and began >= noted_until:
            running.note(answer_of(so_far()))
            noted_until = time.monotonic() + _NOTED_PART * (time.monotonic() - began)

    return search(
        graph,
        options.searched_for,
        brick=options.brick,
        check=options.check,
        time_limit_s=max(running.left_s / 2, running.left_s - _ANSWER_S),
        cancelled=running.cancelled,
        on_point=hear,
    )


def lines(found: CascadeAnswer) -> Iterator[str]:
    """Yield the rows of a table for people."""
    yield from swept_lines(found.swept, found.combinations)
    said = found.conventions
    sliding = ", sliding" if said.sliding else ""
    yield f"input {said.input}, output {said.output}{sliding}, alignment {said.alignment}; weights not counted"
    yield f"layer by layer  {found.layers_peak:>14,} bytes  {found.layers_macs:>16,} MACs"
    for k, point in enumerate(found.points, found.first):
        yield from _point_lines(found, k, point)
    if not found.points:
        yield "no cascade is within the bounds" if found.operations else "the graph has no operations"
    if found.without_rolling is not None:
        plain = found.without_rolling
        yield f"without rolling {plain.peak:>14,} bytes  {100 * (plain.macs_ratio - 1):>+8.2f} % MACs"
    for barrier in found.barriers[:_MOST_BARRIERS]:
        where = f"operation {_operation(found, barrier.operation)}"
        yield f"barrier         {barrier.bytes:>14,} bytes at {where}: {_reason(barrier)}"
    effort = found.exhausted
    if effort.unplanned or effort.cut_chains:
        yield f"not planned     {effort.unplanned:>14,} points, as time was over; {effort.cut_chains:,} chains cut off"
    if effort.unchecked:
        yield f"not checked     {effort.unchecked:>14,} points, as time was over"
    if effort.cut_short:
        yield f"time was over   {'':>14} not all {', '.join(effort.cut_short)} were looked at"
    intervals = "all" if effort.intervals else "not all"
    yield f"looked at       {effort.evaluated:>14,} regions: {intervals} intervals"


def _point_lines(found: CascadeAnswer, k: int, point: PointRow) -> Iterator[str]:
    share = found.layers_peak / point.peak if point.peak else 1.0
    pools = found.conventions.pools
    slow = f", {point.slow_traffic:,} of it in {pools[1].name}" if pools else ""
    checked = "  checked by value" if point.checked_by_value else ""
    yield (
        f"cascade {k:<7} {point.peak:>14,} bytes  {100 * (point.macs_ratio - 1):>+8.2f} % MACs  "
        f"{share:6.2f}x less  traffic {point.traffic:,}{slow}{checked}"
    )
    for region in point.regions:
        if region.stride is not None:
            height, width = (str(size) if size >= 0 else f"1/{-size}" for size in region.stride)
            size = f"rows of {height} rows" if region.kind == "rows" else f"{region.kind} of {height} x {width}"
            size = f"{height} channels a step" if region.kind == "channels" else size
            size += f", {region.ragged} of them ragged" if region.ragged else ""
            first, last = (_operation(found, v, point.origins) for v in (region.ops[0], region.ops[-1]))
            yield f"    {region.id}: operations {first} to {last}, {size}"


def _operation(found: CascadeAnswer, position: int, origins: tuple[int, ...] | None = None) -> str:
    """Name an operation by its position, its kind and what it makes; `origins` has those of what runs again."""
    row = found.operations[origins[position] if origins else position]
    name = next((found.tensors[tensor].name for tensor in row.outputs), "") or row.name
    name = name if len(name) <= _MOST_NAME else f"...{name[3 - _MOST_NAME :]}"
    said = " ".join(text for text in (row.kind, name) if text)
    return f"{position} ({said if said.isprintable() else shown(said)})" if said else str(position)


def _reason(barrier: Barrier) -> str:
    kind = barrier.kind or "an unknown kind"
    return f"{kind}: {barrier.reason}{'; the least peak is this' if barrier.binds else ''}"


def _example() -> dict[str, Any]:
    image, features, scores = {"shape": [1, 26, 26, 3]}, {"shape": [1, 24, 24, 32]}, {"shape": [1, 24, 24, 8]}
    first = {"in": [0], "out": [1], "kind": "conv2d", "attributes": {"kernel": [3, 3]}}
    second = {"in": [1], "out": [2], "kind": "conv2d", "attributes": {"kernel": [1, 1]}}
    tensors = [{**tensor, "dtype": "int8"} for tensor in (image, features, scores)]
    graph = {"size": [2028, 18432, 4608], "kept": [2], "tensors": tensors, "ops": [first, second]}
    return {"graph": graph, "options": {"time_limit_s": 5, "input": "streamed", "macs": 1.1}}


CAPABILITY = Capability(
    cascade,
    inputs=(replace(GRAPH, from_file=unaligned_graph),),
    lines=lines,
    exit_status=lambda found: 0 if found.points else 1,
    exits={0: "there are points", 1: "none is within the bounds"},
    status=lambda found: "feasible" if found.points else None,
    example=_example(),
)
