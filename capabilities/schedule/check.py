"""Schedules that came from elsewhere: run again, step by step, and their places verified."""

from __future__ import annotations

from memplan.capabilities.schedule.answer import ScheduleAnswer, answer_of_network, network_steps
from memplan.capabilities.schedule.model.contest import ScheduleProblem
from memplan.capabilities.schedule.model.network_run import run_network
from memplan.capabilities.schedule.model.simulator import simulate
from memplan.capabilities.schedule.model.target import Target
from memplan.capabilities.schedule.search.costs import Objective
from memplan.capabilities.schedule.search.network_search import NetworkSchedule
from memplan.capabilities.schedule.search.networks import FoundOnTarget, bound_of, network_of
from memplan.capabilities.schedule.search.placement import PlacedSlot, misplaced
from memplan.planner.errors import ProblemError
from memplan.planner.operations.graph import OperationGraph


def schedule_refuted(
    problem: ScheduleProblem | OperationGraph, machine: Target, objective: Objective, found: ScheduleAnswer
) -> str | None:
    """Return what is wrong with a schedule that came from elsewhere; None where nothing is."""
    slots = tuple(PlacedSlot(**slot.model_dump()) for slot in found.slots)
    if isinstance(problem, OperationGraph):
        return _network_refuted(problem, machine, objective, found, slots)
    simulated = simulate(problem.graph, machine, found.schedule)
    if simulated.violations:
        return simulated.violations[0]
    if abs(simulated.latency - found.latency) > 1e-6 * found.latency:
        return "latency: must be that of its steps"
    return misplaced(simulated.steps, machine, slots)


def _network_refuted(
    problem: OperationGraph, machine: Target, objective: Objective, found: ScheduleAnswer, slots: tuple[PlacedSlot, ...]
) -> str | None:
    """Return what is wrong with the steps of a network, their places, or what is said of them."""
    graph = network_of(problem)
    try:
        steps = network_steps(found)
        figures, wrong = run_network(graph, steps, machine)
    except (ProblemError, ValueError, KeyError, TypeError, IndexError) as error:
        return f"regions: must be such as steps have, {error}"
    if wrong:
        return wrong[0]
    if (why := misplaced(figures, machine, slots)) is not None:
        return why
    best = NetworkSchedule(tuple(steps), tuple(figures), slots)
    again = answer_of_network(FoundOnTarget(graph, best, (), bound_of(graph, machine, objective)), machine, objective)
    # The figures of the points of a front are claims: they come without their steps.
    claimed = found.model_dump(mode="json", exclude={"frontier"})
    wrong = [name for name, value in again.model_dump(mode="json").items() if value != claimed.get(name, value)]
    return f"{wrong[0]}: must be what its steps say" if wrong else None
