"""The simulator of schedules, which executes every step, tile and reduction slice one by one.

It verifies what searches claim, and shares nothing with them but graphs, targets and schedules. The rules are those of
the contest's document and of its organisers' rulings (docs/schedule.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memplan.capabilities.schedule.form import Run, StepFigures, Target
from memplan_tile.graph import ScheduleStep, TileGraph
from memplan_tile.step_run import StepRun


@dataclass(frozen=True)
class Simulation(Run):
    """The figures of a schedule step by step, and its broken rules."""

    violations: tuple[str, ...]


def simulate(graph: TileGraph, target: Target, schedule: Sequence[ScheduleStep]) -> Simulation:
    """Run a schedule; if it breaks a rule, violations are reported, with the figures that can still be computed."""
    violations = list(_broken_shapes(graph, schedule, target))
    if violations:
        return Simulation((), tuple(violations))
    written, missing = _written(graph, schedule)
    violations += missing
    before: tuple[int, ...] = ()
    figures = []
    for i, step in enumerate(schedule):
        step_figures, wrong = simulate_step(graph, target, step, frozenset(before), frozenset(written[i]))
        if step_figures is not None:
            figures.append(step_figures)
        violations += [f"steps[{i}]: {text}" for text in wrong]
        before = step.retained
    return Simulation(tuple(figures), tuple(violations))


def simulate_step(
    graph: TileGraph, target: Target, step: ScheduleStep, resident: frozenset[int], written: frozenset[int]
) -> tuple[StepFigures | None, list[str]]:
    """Run one step with its resident tensors and its outputs; return its figures and its violations."""
    run = StepRun(graph, target, step, resident, written)
    if wrong := list(run.violations()):
        return None, wrong
    figures = run.figures()
    if figures.peak > target.capacity:
        wrong.append(f"needs {figures.peak} bytes of the fast memory, more than its {target.capacity}")
    return figures, wrong


def _broken_shapes(graph: TileGraph, schedule: Sequence[ScheduleStep], target: Target) -> Iterator[str]:
    """Yield the faults that make a schedule impossible to run."""
    seen: set[int] = set()
    keeps, rolls = target.keeps, target.rolls
    for i, step in enumerate(schedule):
        if not step.operations or not set(step.operations) <= set(range(len(graph.operations))):
            yield f"steps[{i}].operations: must be some of the graph's {len(graph.operations)}"
            return
        made = {graph.operations[o].output for o in step.operations}
        held = schedule[i - 1].retained if i and keeps else ()
        if not set(step.retained) <= made.union(held):
            yield f"steps[{i}].retained: must be made by the step{', or resident before' * keeps}"
        if min(step.width, step.height, step.depth) < 1:
            yield f"steps[{i}]: width, height and depth must be at least 1"
        ways = [len(graph.operations[o].ways) for o in step.operations]
        if step.alternatives and not (
            len(step.alternatives) == len(ways)
            and all(0 <= chosen < count for chosen, count in zip(step.alternatives, ways, strict=True))
        ):
            yield f"steps[{i}].alternatives: must be one for each operation, each less than {ways}"
        if not set(step.rolls) <= (made if rolls else set()):
            yield f"steps[{i}].rolls: must be made by the step, on a target that rolls"
        seen.update(step.operations)
    for o in sorted(set(range(len(graph.operations))) - seen):
        yield f"operations[{o}]: must be in a step"


def _written(graph: TileGraph, schedule: Sequence[ScheduleStep]) -> tuple[list[set[int]], list[str]]:
    """Return the tensors that each step writes to the slow memory, and the tensors that a step misses there.

    What leaves a step and is not retained is written; what other operations of the step read, too, only where a later
    step needs it in the slow memory.
    """
    written: list[set[int]] = []
    for step in schedule:
        read = {t for o in step.operations for t in graph.operations[o].inputs}
        made = {graph.operations[o].output for o in step.operations} - set(step.retained)
        written.append({t for t in made if t not in read or t in graph.outputs})
    missing = []
    for i, step in enumerate(schedule):
        made = {graph.operations[o].output for o in step.operations}
        resident = set(schedule[i - 1].retained) if i else set()
        needed = {t for o in step.operations for t in graph.operations[o].inputs} - made - resident
        for tensor in sorted(needed & graph.producer.keys()):
            if any(tensor in written[j] for j in range(i)):
                continue
            makers = [j for j in range(i) if graph.producer[tensor] in schedule[j].operations]
            maker = next((j for j in makers if tensor not in schedule[j].retained), None)
            if maker is None:
                missing.append(f"steps[{i}]: tensor {tensor} must be in one of the memories")
            else:
                written[maker].add(tensor)
    stored = set().union(*written)
    missing += [f"tensor {t}: must be written, as an output of the graph" for t in graph.outputs if t not in stored]
    return written, missing
