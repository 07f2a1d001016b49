"""Schedules of a graph on a target: searched, simulated, placed, and compared with what the search says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from memplan.capabilities.schedule.model.graph import TileGraph
from memplan.capabilities.schedule.model.schedule import Schedule
from memplan.capabilities.schedule.model.simulator import Simulation, simulate
from memplan.capabilities.schedule.model.target import Target
from memplan.capabilities.schedule.search.costs import Objective, StepCosts
from memplan.capabilities.schedule.search.downsets import EPSILON, Found
from memplan.capabilities.schedule.search.effort import ScheduleEffort
from memplan.capabilities.schedule.search.frontier import front_of, least_peak
from memplan.capabilities.schedule.search.ground import Ground
from memplan.capabilities.schedule.search.improvement import Improvement
from memplan.capabilities.schedule.search.lowering import lowered
from memplan.capabilities.schedule.search.nests import bits
from memplan.capabilities.schedule.search.placement import PlacedSlot, placed
from memplan.capabilities.schedule.search.search import FoundSchedule, ScheduleSearch, Steps, depth_first, in_order
from memplan.capabilities.schedule.search.shifts import Shifts
from memplan.planner.errors import InvalidPlanError

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
    ground = Ground(in_order(task.graph, depth_first(task.graph)), task.target, task.objective, effort, report)
    has_front = task.wants_front or task.objective == "peak"
    effort.within = _SEARCH if has_front else 1.0
    found, front = ScheduleSearch(ground).run(), list[Steps]()
    effort.within = 1.0
    if has_front:
        front, is_complete = front_of(ground, [step for step, _ in found.steps])
        found = least_peak(ground, front[-1], is_complete) if task.objective == "peak" else found.improved(front[0])

    count = min(len(front), MOST_POINTS) if task.wants_front else 0
    while (best := _verified(task, ground.costs, found.steps, is_counted)) is None:
        found = cut_off(ground, found)
    points = []
    for place in dict.fromkeys(round(k * (len(front) - 1) / max(1, count - 1)) for k in range(count)):
        if not is_late() and (point := _verified(task, ground.costs, front[place], is_counted, True)) is not None:
            points.append(point)
    return SolvedSchedule(best.schedule, best.simulation, best.slots, found, tuple(points))


def cut_off(ground: Ground, found: FoundSchedule) -> FoundSchedule:
    """Return a schedule without the largest tensor that stays over the fullest step, and without that step.

    What is resident has no place there, though it fits by its bytes; raises InvalidPlanError where nothing stays.
    """
    full = [(cost.peak, k) for k, (step, cost) in enumerate(found.steps) if step.resident & step.retained]
    if not full:
        raise InvalidPlanError("slots: must have places, as nothing stays for several steps")
    steps = [step for step, _ in found.steps]
    fullest = steps[max(full)[1]]
    ground.costs.cuts.add(fullest.masks)
    gone = max(bits(fullest.resident & fullest.retained), key=lambda tensor: ground.costs.sizes[tensor])
    masks, shifts = [step.operations for step in steps], Shifts(ground)
    fewer = shifts.rebuilt(masks, [step.retained & ~(1 << gone) for step in steps]) or shifts.rebuilt(
        masks, [0] * len(steps)
    )
    if fewer is None:
        raise InvalidPlanError("slots: must have places, also with nothing resident")
    best = Improvement(ground, Found(ground.value(fewer), fewer, False)).run(1.0)
    again = tuple((step, ground.cost(step)) for step in best.steps)
    return replace(found, steps=again, value=best.value, proof=None, is_complete=False)


def _verified(
    task: ScheduleTask, costs: StepCosts, steps: Steps, is_counted: bool, is_tight: bool = False
) -> SimulatedSchedule | None:
    """Return a schedule that holds what the search says of it; None without places, where it `is_tight` in its peak."""
    schedule = lowered(costs, depth_first(task.graph), steps)
    simulation = simulate(task.graph, task.target, schedule)
    if simulation.violations:
        raise InvalidPlanError(*simulation.violations[:5])
    said = sum(cost.latency for _, cost in steps)
    if abs(simulation.latency - said) > said * EPSILON:
        raise InvalidPlanError(f"latency: must be what the search says, {said}, got {simulation.latency}")
    target = task.target.with_capacity(simulation.peak) if is_tight else task.target
    slots = placed(simulation.steps, target, PLACEMENT_S, is_counted)
    return None if slots is None else SimulatedSchedule(schedule, simulation, tuple(slots))
