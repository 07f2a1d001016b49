"""The answer of `cascade`: points (Pareto-optimal cascades) of falling peak, each with a verified plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field, InstanceOf
from pydantic.json_schema import SkipJsonSchema

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.regions.regions import Cascade, CascadeRegion, Slide, is_none
from memplan.planner.errors import OptionError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions.inputs import PlanAndProblem
from memplan.questions.question import Answer, AnswerOfFile


@dataclass(frozen=True)
class Barrier:
    """An operation that no region crosses, with the reason, and its live bytes: a lower bound for this order.

    `binds` is True if the lowest peak found equals these bytes, so that no other regions lower it.
    """

    operation: int
    kind: str
    reason: str
    bytes: int
    binds: bool = False


@dataclass(frozen=True)
class Exhausted:
    """The extent of the search; in a region, the rows shared by steps are all kept, or all recomputed.

    intervals: True if all intervals of at most `longest` operations in the given order were searched. strides: the
    strides tried along the longest axis. skipped_strides: the number of strides omitted because they take too many
    steps. evaluated: the number of regions examined. repeats: the number of graphs with repeated operations that
    lowered the minimum peak. orders: the number of other orders searched. cut_chains: the number of chains omitted from
    a front of three objectives. unplanned: the number of chains without time for a plan. unchecked: the number of
    points that were not executed on values before the time was over. cut_short: the parts of the search, among
    `LOOKED_AT`, that the time limit ended early.
    """

    intervals: bool
    longest: int
    strides: tuple[int, ...]
    skipped_strides: int
    evaluated: int
    repeats: int = 0
    orders: int = 0
    cut_chains: int = 0
    unplanned: int = 0
    unchecked: int = 0
    cut_short: tuple[str, ...] = ()


class MemorySize(Answer):
    """The name of a memory, and its size in bytes."""

    name: str
    size: int


class CascadeConventions(Answer):
    """The options on which the numbers of an answer depend."""

    input: str
    output: str
    sliding: bool
    objectives: tuple[str, ...]
    pools: tuple[MemorySize, ...] | None = Field(None, exclude_if=is_none)
    alignment: int
    weights: str = "not counted"
    in_place: bool = False


class CascadeTensor(Answer):
    """A tensor as rows and columns of pixels."""

    name: str
    bytes: int
    rows: int
    columns: int
    pixel: int


class CascadeOperation(Answer):
    """An operation of the graph; `in` and `out` are positions of tensors."""

    kind: str
    name: str
    inputs: tuple[int, ...] = Field(alias="in", serialization_alias="in")
    outputs: tuple[int, ...] = Field(alias="out", serialization_alias="out")


class PointFigures(Answer):
    """The figures of a planned point; `latency` is given for a target whose fast memory holds the point."""

    peak: int
    macs: int
    macs_ratio: float
    traffic: int
    runs: int
    slow_traffic: int | None = Field(None, exclude_if=is_none)
    latency: float | None = Field(None, exclude_if=is_none)


class SweptPoint(PointFigures):
    """The figures of a point found for one combination of swept options."""

    checked_by_value: bool


class SweptRow(Answer):
    """The values of the swept options, and the points found with them, by falling peak."""

    values: dict[str, bool | int | float | str]
    layers_peak: int
    points: tuple[SweptPoint, ...]


@dataclass(frozen=True, eq=False)
class PlacedPoint:
    """The data of a point in the process that found it: a cascade, the problem of its buffers, and their plan."""

    cascade: Cascade
    problem: Problem
    plan: Plan


class CascadePoint(PointFigures):
    """A cascade with its plan: its placed peak, its multiplications, and its regions, with the offset of each buffer.

    `estimate` is the peak that the search counted. With two memories, `peak` is the peak of the fast one, `pools` has
    the memory of each buffer, and `used` the bytes of both. If operations run again or in another order, `origins` and
    `tensor_origins` have the model's operation and tensor for each one here, and `reads` and `makes` the tensors of
    each operation. `planned` is present for the points selected by the option `point`.
    """

    estimate: int
    status: str
    checked_by_value: bool = False
    slides: tuple[Slide, ...]
    regions: tuple[CascadeRegion, ...]
    offsets: dict[str, int]
    pools: dict[str, str] | None = Field(None, exclude_if=is_none)
    used: dict[str, int] | None = Field(None, exclude_if=is_none)
    origins: tuple[int, ...] | None = Field(None, exclude_if=is_none)
    tensor_origins: tuple[int, ...] | None = Field(None, exclude_if=is_none)
    reads: tuple[tuple[int, ...], ...] | None = Field(None, exclude_if=is_none)
    makes: tuple[tuple[int, ...], ...] | None = Field(None, exclude_if=is_none)
    planned: PlanAndProblem | None = Field(None, exclude_if=is_none)
    placed: SkipJsonSchema[InstanceOf[PlacedPoint] | None] = Field(None, exclude=True, repr=False)

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
    """Points of falling peak and rising multiplications; sizes are in bytes, operations and tensors are positions.

    `layers_macs` and `layers_traffic` describe the operations run one after another; they are None if the time was over
    before they were counted, and then points, operations and tensors are empty. `layers_latency` is their latency on a
    target. `without_rolling` is the minimum peak, with its cost, of cascades whose steps recompute all that they read.
    `first` is the number of the first point if the option `point` selected one. For a sweep, `swept` has the
    combinations searched in time, out of `combinations`, and all other fields describe the one with the lowest peak.
    `layers` is the plan without cascades.
    """

    name: str | None
    conventions: CascadeConventions
    layers_peak: int
    layers_macs: int | None
    layers_traffic: int | None
    layers_latency: float | None = Field(None, exclude_if=is_none)
    tensors: tuple[CascadeTensor, ...]
    operations: tuple[CascadeOperation, ...]
    points: tuple[CascadePoint, ...]
    first: int = Field(0, exclude_if=lambda number: number == 0)
    without_rolling: PointFigures | None = Field(None, exclude_if=is_none)
    barriers: tuple[Barrier, ...]
    exhausted: Exhausted
    wall_time_s: float
    swept: tuple[SweptRow, ...] = Field((), exclude_if=lambda rows: not rows)
    combinations: int = Field(1, exclude_if=lambda count: count == 1)
    layers: SkipJsonSchema[InstanceOf[CascadePoint] | None] = Field(None, exclude=True, repr=False)

    @property
    def graph(self) -> AccessGraph:
        """The graph that was searched; only for an answer found in this process."""
        assert self.layers is not None, "an answer of this machine's own has its layers"
        return self.layers.cascade.graph

    @property
    def checked_positions(self) -> tuple[int, ...]:
        """The positions of the points that were executed by value."""
        return tuple(k for k, point in enumerate(self.points) if point.checked_by_value)

    def add_plans(self, position: int | Literal["all"]) -> CascadeAnswer:
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
    """Return a copy of the point whose field `planned` has its problem and its plan."""
    return point.model_copy(update={"planned": PlanAndProblem(problem=point.problem, plan=point.plan)})
