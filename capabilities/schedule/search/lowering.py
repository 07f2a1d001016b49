"""Steps that were found, as the steps of a schedule: operations by their first positions, and tiles in their order."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.capabilities.schedule.model.schedule import Schedule, ScheduleStep
from memplan.capabilities.schedule.search.costs import StepCosts
from memplan.capabilities.schedule.search.downsets import PlannedStep
from memplan.capabilities.schedule.search.nests import bits
from memplan.capabilities.schedule.search.walks import StepCost


def lowered(costs: StepCosts, order: Sequence[int], steps: Sequence[tuple[PlannedStep, StepCost]]) -> Schedule:
    """Return the schedule of steps over a graph whose operations were taken in an order."""
    return Schedule(tuple(_step(costs, order, step, cost) for step, cost in steps))


def _step(costs: StepCosts, order: Sequence[int], step: PlannedStep, cost: StepCost) -> ScheduleStep:
    operations, look = costs.graph.operations, costs.looks(*step.masks)[cost.look]
    rows, columns = -(-look.nest.height // cost.height), -(-look.nest.width // cost.width)
    ways = {o: operations[o].ways.index(way) for o, way in zip(look.nest.operations, look.ways, strict=True)}
    rolling = {operations[o].output for o, work in zip(look.nest.operations, look.nest.work, strict=True) if work.rolls}
    return ScheduleStep(
        operations=tuple(order[o] for o in bits(step.operations)),
        width=cost.width,
        height=cost.height,
        depth=cost.depth,
        order=walk(rows, columns, cost.by_rows),
        retained=tuple(bits(step.retained)),
        alternatives=tuple(ways[o] for o in bits(step.operations)) if any(ways.values()) else (),
        rolls=tuple(sorted(rolling)),
    )


def walk(rows: int, columns: int, by_rows: bool) -> tuple[int, ...] | None:
    """Return the tiles of a walk there and back, along rows or columns; None where that is row by row."""
    if rows == 1 or columns == 1:
        return None
    if by_rows:
        lines = [[i * columns + j for j in range(columns)] for i in range(rows)]
    else:
        lines = [[i * columns + j for i in range(rows)] for j in range(columns)]
    return tuple(tile for k, line in enumerate(lines) for tile in (line[::-1] if k % 2 else line))
