"""The answer of `cascade`: points (Pareto-optimal cascades) of falling peak, each with a verified plan."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, GetPydanticSchema, InstanceOf
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import core_schema

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.regions.regions import Cascade, CascadeRegion, Slide, is_none
from memplan.planner.errors import OptionError
from memplan.planner.model.field_docs import DescribedFields
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions.inputs import PlanAndProblem
from memplan.questions.question import Answer, AnswerOfFile


@dataclass(frozen=True)
class Barrier(DescribedFields):
    """An operation that no region crosses."""

    operation: int
    """The position of the operation in `operations`."""
    kind: str
    """The kind of computation, such as `reshape`; empty if the graph does not state it."""
    reason: str
    """Why no region crosses it, as a part of a sentence."""
    bytes: int
    """The least bytes that are alive while it runs: a lower bound on the peak of this order."""
    binds: bool = False
    """True if the lowest peak found equals `bytes`, so that no other regions lower it."""


@dataclass(frozen=True)
class Exhausted(DescribedFields):
    """The extent of the search; in a region, the rows shared by steps are all kept, or all recomputed."""

    intervals: bool
    """True if all intervals of at most `longest` operations in the given order were searched."""
    longest: int
    """The maximum number of operations in a region."""
    strides: tuple[int, ...]
    """The strides tried along the longest axis, in rows or columns; with the option `stripe`, only its own sides."""
    skipped_strides: int
    """The number of strides omitted because they take too many steps."""
    evaluated: int
    """The number of regions examined."""
    repeats: int = 0
    """The number of graphs with repeated operations that lowered the minimum peak."""
    orders: int = 0
    """The number of other orders searched."""
    cut_chains: int = 0
    """The number of chains (sequences of regions) omitted from a front of three objectives."""
    unplanned: int = 0
    """The number of chains for which there was no time for a plan."""
    unchecked: int = 0
    """The number of points that the option `check` had no time to execute on values."""
    cut_short: tuple[str, ...] = ()
    """The parts that the time limit ended early: `regions`, `chains`, `points`, `orders` or `repeats`."""


class MemorySize(Answer):
    """A memory of a plan in two memories."""

    name: str
    """The name of the memory, such as `fast`."""
    size: int
    """Its size in bytes."""


class CascadeConventions(Answer):
    """The options on which the numbers of an answer depend."""

    input: str
    """`resident` if the inputs are in memory as a whole, `streamed` if they arrive in pieces."""
    output: str
    """`resident` if the outputs stay in memory as a whole, `streamed` if they leave it in pieces."""
    sliding: bool
    """True if the output of a region may grow into the bytes of an input that is no longer needed."""
    objectives: tuple[str, ...]
    """What the points of the front minimise: `peak`, `macs` and perhaps `traffic`."""
    pools: tuple[MemorySize, ...] | None = Field(None, exclude_if=is_none)
    """The fast memory and the slow one; omitted for a single memory."""
    alignment: int
    """The sizes and offsets of all buffers are multiples of this number of bytes."""
    weights: str = "not counted"
    """How weights count in the peaks: they do not."""
    in_place: bool = False
    """Whether operations may write over their inputs: they may not."""


class CascadeTensor(Answer):
    """A tensor as rows and columns of pixels."""

    name: str
    """The name of the tensor, such as `tensor 3` if the graph does not name it."""
    bytes: int
    """The size in bytes; 0 for a weight."""
    rows: int
    """The number of rows; 1 if the tensor is not known as an image."""
    columns: int
    """The number of columns; 1 if the tensor is not known as an image."""
    pixel: int
    """The bytes of a pixel: all its channels, for all images of a batch."""


class CascadeOperation(Answer):
    """An operation of the graph."""

    kind: str
    """The kind of computation, such as `conv2d`; empty if the graph does not state it."""
    name: str
    """The name of the operation; empty if it has none."""
    inputs: tuple[int, ...] = Field(alias="in", serialization_alias="in")
    """The positions in `tensors` of the tensors that it reads, except weights."""
    outputs: tuple[int, ...] = Field(alias="out", serialization_alias="out")
    """The positions in `tensors` of the tensors that it writes."""


class PointFigures(Answer):
    """The figures of a planned point."""

    peak: int
    """The peak of the plan in bytes; with two memories, that of the fast one."""
    macs: int
    """The number of multiplications, repeated ones included."""
    macs_ratio: float
    """The multiplications divided by those of the given network, such as 1.05; 1 if it has none."""
    traffic: int
    """The bytes that all runs of operations read and write, including constants."""
    runs: int
    """The number of runs of operations; an operation runs once in each step that computes a part of it."""
    slow_traffic: int | None = Field(None, exclude_if=is_none)
    """The bytes read from and written to the slow memory; omitted for a single memory."""
    latency: float | None = Field(None, exclude_if=is_none)
    """The time on the target, in its unit of time; omitted without a target, or if its fast memory does not hold the
    point."""


class SweptPoint(PointFigures):
    """The figures of a point found for one combination of swept options."""

    checked_by_value: bool
    """True if the point was executed on values, and its results equal those of running layer by layer."""


class SweptRow(Answer):
    """The points found for one combination of swept options."""

    values: dict[str, bool | int | float | str]
    """The value of each swept option, by its name, such as {"longest": 2}."""
    layers_peak: int
    """The peak in bytes of running the network layer by layer with these options."""
    points: tuple[SweptPoint, ...]
    """The points found with these options, by falling peak."""


# `InstanceOf` would add the parts of a point's data to the JSON Schema, although no JSON has them.
_OF_PROCESS = GetPydanticSchema(lambda kind, _handler: core_schema.is_instance_schema(kind))


@dataclass(frozen=True, eq=False)
class PlacedPoint:
    """The data of a point in the process that found it: a cascade, the problem of its buffers, and their plan."""

    cascade: Cascade
    problem: Problem
    plan: Plan


class CascadePoint(PointFigures):
    """A cascade with its plan.

    Operations and tensors are positions in the answer's lists `operations` and `tensors`, unless `origins` is present.
    """

    estimate: int
    """The peak in bytes that the search counted."""
    status: str
    """The status of the plan, such as `optimal`."""
    checked_by_value: bool = False
    """True if the point was executed on values, and its results equal those of running layer by layer."""
    slides: tuple[Slide, ...]
    """The outputs that grow into the bytes of tensors that are read for the last time."""
    regions: tuple[CascadeRegion, ...]
    """The regions in the order in which they run."""
    offsets: dict[str, int]
    """The offset of each buffer in bytes: `t3` is tensor 3, `t3.r0` its part kept in region 0, `t3.r0.sums` its sums
    there, and `work_2` the workspace of operation 2."""
    pools: dict[str, str] | None = Field(None, exclude_if=is_none)
    """The memory of each buffer, by the names of `offsets`; omitted for a single memory."""
    used: dict[str, int] | None = Field(None, exclude_if=is_none)
    """The bytes used of each memory, by its name; omitted for a single memory."""
    origins: tuple[int, ...] | None = Field(None, exclude_if=is_none)
    """For each operation of the point, its position in `operations`; present only if operations run again or in another
    order."""
    tensor_origins: tuple[int, ...] | None = Field(None, exclude_if=is_none)
    """For each tensor of the point, its position in `tensors`; present with `origins`."""
    reads: tuple[tuple[int, ...], ...] | None = Field(None, exclude_if=is_none)
    """For each operation of the point, the tensors of the point that it reads; present with `origins`."""
    makes: tuple[tuple[int, ...], ...] | None = Field(None, exclude_if=is_none)
    """For each operation of the point, the tensors of the point that it writes; present with `origins`."""
    planned: PlanAndProblem | None = Field(None, exclude_if=is_none)
    """The plan and its problem, for the points selected by the option `point`."""
    placed: SkipJsonSchema[Annotated[PlacedPoint, _OF_PROCESS] | None] = Field(None, exclude=True, repr=False)

    @property
    def placed_here(self) -> PlacedPoint:
        """The data of a point that was found in this process."""
        assert self.placed is not None, "an answer of this machine's own has its plans"
        return self.placed

    @property
    def cascade(self) -> Cascade:
        """The cascade of the point: its graph and its regions."""
        return self.placed_here.cascade

    @property
    def problem(self) -> Problem:
        """The problem of placing the point's buffers."""
        return self.placed_here.problem

    @property
    def plan(self) -> Plan:
        """The plan of the point's buffers."""
        return self.placed_here.plan

    def join_memories(self) -> tuple[dict[str, int], int]:
        """Return the offsets and the size of one arena that contains all memories one after another."""
        if self.used is None or self.pools is None:
            return self.offsets, self.peak
        base, size = dict[str, int](), 0
        for name, used in self.used.items():
            base[name], size = size, size + used
        return {name: offset + base[self.pools[name]] for name, offset in self.offsets.items()}, size


class CascadeAnswer(AnswerOfFile):
    """Points of falling peak and rising multiplications.

    If the time was over before the network was searched, there are no points, operations and tensors.
    """

    name: str | None
    """The name of the network; null if it has none."""
    conventions: CascadeConventions
    """The options on which the numbers of the answer depend."""
    layers_peak: int
    """The peak in bytes of running the operations one after another."""
    layers_macs: int | None
    """The multiplications of running the operations one after another; null if the network was not searched."""
    layers_traffic: int | None
    """The traffic in bytes of running the operations one after another; null if the network was not searched."""
    layers_latency: float | None = Field(None, exclude_if=is_none)
    """The time of running the operations one after another, present as `latency` is in a point."""
    tensors: tuple[CascadeTensor, ...]
    """The tensors of the network; other fields have their positions in this list."""
    operations: tuple[CascadeOperation, ...]
    """The operations of the network; other fields have their positions in this list."""
    points: tuple[CascadePoint, ...]
    """The points, by falling peak."""
    first: int = Field(0, exclude_if=lambda number: number == 0)
    """The number of the first point of `points` if the option `point` selected one; 0 by default."""
    without_rolling: PointFigures | None = Field(None, exclude_if=is_none)
    """The minimum peak, with its cost, of cascades whose steps recompute all that they read; omitted if unknown."""
    barriers: tuple[Barrier, ...]
    """The operations that no region crosses, by descending bytes; at most 10."""
    exhausted: Exhausted
    """The extent of the search."""
    wall_time_s: float
    """The time of the search, in seconds."""
    swept: tuple[SweptRow, ...] = Field((), exclude_if=lambda rows: not rows)
    """The points of each combination of a sweep that was searched in time; all other fields describe the combination
    with the lowest peak."""
    combinations: int = Field(1, exclude_if=lambda count: count == 1)
    """The number of combinations of a sweep; 1 without a sweep."""
    layers: SkipJsonSchema[InstanceOf[CascadePoint] | None] = Field(None, exclude=True, repr=False)
    """The plan without cascades; None in answers from other machines."""

    @property
    def graph(self) -> AccessGraph:
        """The graph that was searched; only for an answer found in this process."""
        assert self.layers is not None, "an answer of this machine's own has its layers"
        return self.layers.cascade.graph

    @property
    def checked_positions(self) -> tuple[int, ...]:
        """The positions of the points that were executed by value."""
        return tuple(k for k, point in enumerate(self.points) if point.checked_by_value)

    def add_plans(self, position: int | Literal["all"]) -> "CascadeAnswer":
        """Return the answer in which every point, or only the point at a position, has its problem and plan.

        A negative position counts from the end. Raises OptionError for a position without a point.
        """
        count = len(self.points)
        if position == "all":
            return self.model_copy(update={"points": tuple(map(_add_plan, self.points))})
        if not -count <= position < count:
            raise OptionError(f"point: must be all, or from {-count} to {count - 1}, got {position}")
        return self.model_copy(update={"points": (_add_plan(self.points[position]),), "first": position % count})


def _add_plan(point: CascadePoint) -> CascadePoint:
    return point.model_copy(update={"planned": PlanAndProblem(problem=point.problem, plan=point.plan)})
