"""Schedules of a graph on a target: searched, simulated, placed, and compared with what the search says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from memplan.planner.errors import InvalidPlanError
from memplan.planner.schedules.graph import TileGraph
from memplan.planner.schedules.schedule import Schedule
from memplan.planner.schedules.simulator import Simulation, simulate
from memplan.planner.schedules.target import Target
from memplan.solvers.schedules.costs import Objective
from memplan.solvers.schedules.downsets import EPSILON
from memplan.solvers.schedules.effort import ScheduleEffort
from memplan.solvers.schedules.ground import Ground
from memplan.solvers.schedules.lowering import lowered
from memplan.solvers.schedules.placement import PlacedSlot, placed
from memplan.solvers.schedules.search import FoundSchedule, ScheduleSearch, depth_first, in_order

PLACEMENT_S = 2.0
"""The most seconds for the plan of the fast memory: that of 500 slots takes less than one."""


@dataclass(frozen=True)
class SolvedSchedule:
    """A schedule with what the simulator says of it, the places of its slots, and how it was found."""

    schedule: Schedule
    simulation: Simulation
    slots: tuple[PlacedSlot, ...]
    found: FoundSchedule


def solve_schedule(
    graph: TileGraph,
    target: Target,
    objective: Objective,
    effort: ScheduleEffort,
    report: Callable[[float], None] = lambda _: None,
    is_counted: bool = False,
) -> SolvedSchedule:
    """Return the best schedule within the effort, verified; raises ProblemError where there is none."""
    order = depth_first(graph)
    found = ScheduleSearch(Ground(in_order(graph, order), target, objective, effort, report)).run()
    schedule = lowered(graph, order, found.steps)
    simulation = simulate(graph, target, schedule)
    if simulation.violations:
        raise InvalidPlanError(*simulation.violations[:5])
    said = sum(cost.latency for _, cost in found.steps)
    if simulation.latency > said * (1 + EPSILON):
        raise InvalidPlanError(f"latency: must be at most what the search says, {said}, got {simulation.latency}")
    slots = placed(simulation.steps, target, PLACEMENT_S, is_counted)
    return SolvedSchedule(schedule, simulation, tuple(slots), found)
