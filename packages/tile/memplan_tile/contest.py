"""The wire format of schedule problems: that of the MLSys 2026 contest on graphs in fast memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from memplan.capabilities.schedule.form import (
    Control,
    Engine,
    Link,
    Memory,
    Objective,
    Rate,
    ScheduleAnswer,
    ScheduleForm,
    Side,
    Target,
    misplaced,
    slots_of,
)
from memplan.planner.errors import Location, broken, shown
from memplan.planner.model.rows import MAX_BYTES, Bytes, Value, as_tuple
from memplan_tile.graph import Alternative, ScheduleStep, TileGraph, TileOperation, TileTensor
from memplan_tile.simulator import simulate

MOST_OPERATIONS = 2000
"""The most operations: the search keeps sets of them as bits, and takes about 120 s for so many."""
MOST_TILES = 2**16
"""The most native tiles of a tensor, so that the simulator, which visits each, ends within seconds."""


def _tuples(value: Any) -> Any:
    return tuple(as_tuple(row) for row in value) if isinstance(value, list) else value


Tensors = Annotated[tuple[tuple[Annotated[int, Field(ge=0)], ...], ...], BeforeValidator(_tuples)]
Sides = Annotated[tuple[Side, ...], BeforeValidator(as_tuple)]
Cost = Annotated[int, Field(ge=0, le=MAX_BYTES)]
_KINDS: dict[str, Literal["product", "element-wise"]] = {"MatMul": "product", "Pointwise": "element-wise"}
MOST_ALTERNATIVES = 15
"""The most alternatives of an operation."""
Break = tuple[Location, str]


class OtherWay(Value):
    """An alternative way to compute an operation: its base cost and the size of its native tile.

    It may need a `workspace`, bytes of the fast memory; one that works `in_place` makes its output's tile where that of
    its first input lies.
    """

    base_cost: Cost
    native_granularity: Annotated[tuple[Side, Side], BeforeValidator(as_tuple)] | None = None
    workspace: Bytes = 0
    in_place: bool = False

    @property
    def way(self) -> Alternative:
        """Return the alternative in the form of the graph."""
        native = self.native_granularity
        return Alternative(self.base_cost, native and (native[1], native[0]), self.workspace, self.in_place)


class ScheduleProblem(ScheduleForm):
    """Operations on two-dimensional tensors, and the machine that runs them; all lists are indexed by position.

    A base cost is the time of one native tile, that of a `MatMul` with its whole reduction; tensors have one byte an
    element. The first input of a `MatMul` has the rows of the output, the second one its columns. `alternatives`, which
    the contest does not know, are other ways to compute each operation.
    """

    widths: Sides
    heights: Sides
    inputs: Tensors
    outputs: Tensors
    base_costs: Annotated[tuple[Cost, ...], BeforeValidator(as_tuple)]
    op_types: Annotated[tuple[Literal["MatMul", "Pointwise"], ...], BeforeValidator(as_tuple)]
    fast_memory_capacity: Bytes
    slow_memory_bandwidth: Rate
    native_granularity: Annotated[tuple[Side, Side], BeforeValidator(as_tuple)]
    alternatives: Annotated[tuple[tuple[OtherWay, ...], ...], BeforeValidator(_tuples)] = ()

    @model_validator(mode="after")
    def _is_a_graph(self) -> ScheduleProblem:
        breaks = list(self._wrong_lengths()) or list(self._wrong_tensors()) or list(self._wrong_shapes())
        if breaks:
            broken(*breaks)
        if len(self.graph.in_order) < len(self.op_types):
            stuck = min(set(range(len(self.op_types))) - set(self.graph.in_order))
            broken((("inputs", stuck), "must not depend on what the operation itself makes, over a cycle"))
        return self

    def _wrong_lengths(self) -> Iterator[Break]:
        count = len(self.op_types)
        if not 1 <= count <= MOST_OPERATIONS:
            yield ("op_types",), f"must be 1 to {MOST_OPERATIONS} operations, got {count}"
        if len(self.heights) != len(self.widths):
            yield ("heights",), f"must be as many as widths ({len(self.widths)}), got {len(self.heights)}"
        for name in ("inputs", "outputs", "base_costs", *["alternatives"] * bool(self.alternatives)):
            if len(getattr(self, name)) != count:
                yield (name,), f"must be as many as op_types ({count}), got {len(getattr(self, name))}"
        for i, (ways, kind) in enumerate(zip(self.alternatives, self.op_types, strict=False)):
            if len(ways) > MOST_ALTERNATIVES:
                yield ("alternatives", i), f"must be at most {MOST_ALTERNATIVES}, got {len(ways)}"
            for place, way in enumerate(ways):
                if way.in_place and kind == "MatMul":
                    yield ("alternatives", i, place, "in_place"), "must be false for a MatMul, got true"

    def _wrong_tensors(self) -> Iterator[Break]:
        n_tensors, made = len(self.widths), dict[int, int]()
        for i, (inputs, outputs) in enumerate(zip(self.inputs, self.outputs, strict=True)):
            for name, row in (("inputs", inputs), ("outputs", outputs)):
                for place, tensor in enumerate(row):
                    if tensor >= n_tensors:
                        yield (name, i, place), f"must be a tensor, less than {n_tensors}, got {tensor}"
            if len(outputs) != 1:
                yield ("outputs", i), f"must be one tensor, got {shown(outputs)}"
            wanted = 2 if self.op_types[i] == "MatMul" else None
            if len(inputs) != (wanted or len(inputs)) or not inputs:
                yield ("inputs", i), f"must be {wanted or 'one or more'} tensors, got {shown(inputs)}"
            for tensor in outputs:
                if tensor in made:
                    yield ("outputs", i), f"must be made once, got {tensor} again (first by operation {made[tensor]})"
                made.setdefault(tensor, i)

    def _wrong_shapes(self) -> Iterator[Break]:
        columns, rows = self.native_granularity
        for i, (height, width) in enumerate(zip(self.heights, self.widths, strict=True)):
            if -(-height // rows) * -(-width // columns) > MOST_TILES:
                yield (
                    ("heights", i),
                    f"must be at most {MOST_TILES} native tiles with its width, got {height} x {width}",
                )
        for i, inputs in enumerate(self.inputs):
            wanted = self._shape(self.outputs[i][0])
            if self.op_types[i] == "MatMul":
                left, right = map(self._shape, inputs)
                if left[1] != right[0]:
                    sentence = f"must have as many rows as the first one has columns ({left[1]}), got {right[0]}"
                    yield ("inputs", i, 1), sentence
                if (left[0], right[1]) != wanted:
                    sentence = f"must be {left[0]} x {right[1]}, as its inputs are, got {wanted[0]} x {wanted[1]}"
                    yield ("outputs", i, 0), sentence
                continue
            for place, tensor in enumerate(inputs):
                if (shape := self._shape(tensor)) != wanted:
                    sentence = f"must be {wanted[0]} x {wanted[1]}, as the output is, got {shape[0]} x {shape[1]}"
                    yield ("inputs", i, place), sentence

    def _shape(self, tensor: int) -> tuple[int, int]:
        return self.heights[tensor], self.widths[tensor]

    @cached_property
    def graph(self) -> TileGraph:
        """The graph of the operations."""
        others = [tuple(other.way for other in row) for row in self.alternatives or ((),) * len(self.op_types)]
        rows = zip(self.op_types, self.inputs, self.outputs, self.base_costs, others, strict=True)
        return TileGraph(
            tensors=tuple(TileTensor(h, w) for h, w in zip(self.heights, self.widths, strict=True)),
            operations=tuple(
                TileOperation(_KINDS[kind], reads, made[0], cost, ways) for kind, reads, made, cost, ways in rows
            ),
        )

    @cached_property
    def target(self) -> Target:
        """The machine."""
        return Target(
            memories=(Memory(name="fast", capacity=self.fast_memory_capacity), Memory(name="slow")),
            links=(Link(bandwidth=self.slow_memory_bandwidth),),
            engine=Engine(native=self.native_granularity),
        )

    @property
    def n_tensors(self) -> int:
        """The number of tensors."""
        return len(self.widths)

    def scheduled(
        self, machine: Target, objective: Objective, running: Control, *, wants_front: bool
    ) -> ScheduleAnswer:
        """Return the best schedule found in time, verified; raises ProblemError if there is none."""
        # Imported here: the format of problems stands on no search.
        from memplan_tile.search.search import schedule_tiles

        return schedule_tiles(self.graph, machine, objective, running, wants_front=wants_front)

    def refuted(self, machine: Target, found: ScheduleAnswer) -> str | None:
        """Simulate and place a schedule from another program, and return what is wrong with it."""
        run = simulate(self.graph, machine, steps_of(found))
        if run.violations:
            return run.violations[0]
        if abs(run.latency - found.latency) > 1e-6 * found.latency:
            return "latency: must be that of its steps"
        return misplaced(slots_of(run.figures), machine, found.slots)

    def latency_of(self, rows: Mapping[str, Any]) -> tuple[float, str | None]:
        """Return the latency of the steps in an answer's JSON rows, and the first broken rule."""
        names = ("subgraphs", "granularities", "tensors_to_retain", "traversal_orders")
        steps = [
            ScheduleStep(tuple(ops), width, height, depth, None if walk is None else tuple(walk), tuple(retained))
            for ops, (width, height, depth), retained, walk in zip(*(rows[name] for name in names), strict=True)
        ]
        run = simulate(self.graph, self.target, steps)
        return run.latency, next(iter(run.violations), None)


def steps_of(found: ScheduleAnswer) -> tuple[ScheduleStep, ...]:
    """Return the steps in an answer's rows."""
    row_lists = (rows or ((),) * len(found.subgraphs) for rows in (found.alternatives, found.tensors_to_roll))
    columns = found.subgraphs, found.granularities, found.traversal_orders, found.tensors_to_retain, *row_lists
    return tuple(ScheduleStep(made, *tile, *row) for made, tile, *row in zip(*columns, strict=True))
