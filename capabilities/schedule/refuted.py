"""What is wrong with a schedule that came from elsewhere: it is run and placed again."""

from __future__ import annotations

from memplan.capabilities.cascade.regions.regions import CascadeRegion
from memplan.capabilities.cascade.timing.network_run import NetworkStep, run_network
from memplan.capabilities.cascade.timing.target import Target
from memplan.capabilities.schedule.answer import Objective, ScheduleAnswer
from memplan.capabilities.schedule.form import ScheduleForm
from memplan.capabilities.schedule.search.network_search import NetworkRun
from memplan.capabilities.schedule.search.networks import bound_of, network_answer, network_of
from memplan.capabilities.schedule.search.pads import renumbered
from memplan.capabilities.schedule.search.placement import misplaced, second_slots, slots_of
from memplan.planner.errors import ProblemError
from memplan.planner.operations.graph import OperationGraph


def schedule_refuted(
    problem: ScheduleForm | OperationGraph, machine: Target, objective: Objective, found: ScheduleAnswer
) -> str | None:
    """Return what is wrong with a schedule that came from elsewhere: with its steps, their places, or what is said of
    them; None where nothing is.
    """
    if isinstance(problem, ScheduleForm):
        return problem.refuted(machine, found)
    graph, outermost = network_of(problem), set(found.channels_outermost)
    number = {graph.origin(v): v for v in range(len(graph.operations))}
    try:
        rows = zip(found.regions, found.tensors_to_retain, strict=True)
        steps = [
            NetworkStep(_remade(k, renumbered(row, number.__getitem__)), stays, k in outermost)
            for k, (row, stays) in enumerate(rows)
        ]
        far = frozenset(item if item >= 0 else -1 - number[-1 - item] for item in found.far)
        figures, wrong = run_network(graph, steps, machine, far)
    except (ProblemError, ValueError, KeyError, TypeError, IndexError) as error:
        return f"regions: must be such as steps have, {error}"
    if wrong:
        return wrong[0]
    if (why := misplaced(slots_of(figures), machine, found.slots)) is not None:
        return why
    if machine.has_three and (why := misplaced(second_slots(graph, machine, figures), machine, found.second_slots, 1)):
        return why
    run, bound = NetworkRun(figures, steps, found.slots, far, found.second_slots), bound_of(graph, machine, objective)
    again = network_answer(graph, run, (), bound, machine, objective)
    # The figures of the points of a front are claims: they come without their steps.
    claimed = found.model_dump(mode="json", exclude={"frontier"})
    wrong = [name for name, value in again.model_dump(mode="json").items() if value != claimed.get(name, value)]
    return f"{wrong[0]}: must be what its steps say" if wrong else None


def _remade(number: int, row: CascadeRegion) -> CascadeRegion:
    """Return a region with what follows from its ranges; raises ProblemError where it has none."""
    if not row.ops or (row.kind != "whole" and not row.ranges):
        raise ProblemError(f"regions: must have operations and their ranges, got {row.id}")
    for buffer in row.buffers or ():
        if min(*buffer.capacity, buffer.bytes) < 0:
            raise ProblemError(
                f"regions: must have buffers of no less than 0 bytes, got that of tensor {buffer.tensor}"
            )
    return row if row.kind == "whole" else row.model_copy(update={"id": f"r{number}"}).remade(row.ranges)
