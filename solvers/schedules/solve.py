"""Schedules of a graph on a target: searched, simulated, placed, and compared with what the search says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from memplan.planner.errors import InvalidPlanError
from memplan.planner.schedules.graph import TileGraph
from memplan.planner.schedules.schedule import Schedule
from memplan.planner.schedules.simulator import Simulation, simulate
from memplan.planner.schedules.target import Target
from memplan.solvers.schedules.costs import Objective
from memplan.solvers.schedules.downsets import EPSILON
from memplan.solvers.schedules.effort import ScheduleEffort
from memplan.solvers.schedules.frontier import front_of, least_peak
from memplan.solvers.schedules.ground import Ground
from memplan.solvers.schedules.lowering import lowered
from memplan.solvers.schedules.placement import PlacedSlot, placed
from memplan.solvers.schedules.search import FoundSchedule, ScheduleSearch, Steps, depth_first, in_order

PLACEMENT_S = 2.0
"""The most seconds for the plan of the fast memory: that of 500 slots takes less than one."""


_SEARCH = 0.5
"""The part of the effort until a front is searched, where one is wanted."""
MOST_POINTS = 24
"""The points of a front that are verified, evenly many of all."""


@dataclass(frozen=True)
class SimulatedSchedule:
    """A schedule with what the simulator says of it, and the places of its slots."""

    schedule: Schedule
    simulation: Simulation
    slots: tuple[PlacedSlot, ...]


@dataclass(frozen=True)
class SolvedSchedule(SimulatedSchedule):
    """The best schedule, how it was found, and others by falling peaks, of which none is as good with a lower peak."""

    found: FoundSchedule
    front: tuple[SimulatedSchedule, ...] = ()


@dataclass(frozen=True)
class ScheduleTask:
    """A graph to be scheduled on a target for an objective; with a front where `wants_front`."""

    graph: TileGraph
    target: Target
    objective: Objective
    wants_front: bool = False


def solve_schedule(
    task: ScheduleTask,
    effort: ScheduleEffort,
    report: Callable[[float], None] = lambda _: None,
    is_counted: bool = False,
    is_late: Callable[[], bool] = lambda: False,
) -> SolvedSchedule:
    """Return the best schedule within the effort, verified; raises ProblemError where there is none.

    Points of a front that come when it `is_late` are left out.
    """
    order = depth_first(task.graph)
    ground = Ground(in_order(task.graph, order), task.target, task.objective, effort, report)
    has_front = task.wants_front or task.objective == "peak"
    effort.within = _SEARCH if has_front else 1.0
    found, front = ScheduleSearch(ground).run(), list[Steps]()
    effort.within = 1.0
    if has_front:
        front, is_complete = front_of(ground, [step for step, _ in found.steps])
        found = least_peak(ground, front[-1], is_complete) if task.objective == "peak" else found.improved(front[0])

    count = min(len(front), MOST_POINTS) if task.wants_front else 0
    best, points = _verified(task, order, found.steps, is_counted), list[SimulatedSchedule]()
    for place in dict.fromkeys(round(k * (len(front) - 1) / max(1, count - 1)) for k in range(count)):
        if not is_late():
            points.append(_verified(task, order, front[place], is_counted))
    return SolvedSchedule(best.schedule, best.simulation, best.slots, found, tuple(points))


def _verified(task: ScheduleTask, order: Sequence[int], steps: Steps, is_counted: bool) -> SimulatedSchedule:
    """Return a schedule that holds what the search says of it, in places within its own peak."""
    schedule = lowered(task.graph, order, steps)
    simulation = simulate(task.graph, task.target, schedule)
    if simulation.violations:
        raise InvalidPlanError(*simulation.violations[:5])
    said = sum(cost.latency for _, cost in steps)
    if abs(simulation.latency - said) > said * EPSILON:
        raise InvalidPlanError(f"latency: must be what the search says, {said}, got {simulation.latency}")
    target = task.target.with_capacity(simulation.peak)
    return SimulatedSchedule(schedule, simulation, tuple(placed(simulation.steps, target, PLACEMENT_S, is_counted)))
