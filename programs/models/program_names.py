"""The names that a program gives to its problem: time step labels, loop names, and the roles and types of buffers."""

from collections.abc import Iterator

import numpy as np

from memplan.planner.foreign.program_names import NO_NAMES, NamedTime, ProgramNames, Span
from memplan.planner.model.problem import Problem
from memplan.programs.lifetimes import analyse
from memplan.programs.operations.graph_facts import ProgramFacts, TensorFacts
from memplan.programs.operations.operations import Operations
from memplan.programs.operations.statements import Repetition

_STEPS_AT_MOST = 200_000


def program_names(operations: Operations, problem: Problem, facts_of: ProgramFacts) -> ProgramNames:
    """Return the names that a program gives to its problem; empty for more than `_STEPS_AT_MOST` steps."""
    steps = analyse(operations).steps
    if len(steps) > _STEPS_AT_MOST:
        return NO_NAMES
    table, entry = problem.buffers, operations.entry
    times = np.array([step.time for step in steps], dtype=np.int64)
    labels = [step.label for step in steps]
    makers, types, roles = [], [], []
    for i, buffer in enumerate(table.ids):
        first = int(table.start[table.first[i]]) if table.first[i] < table.first[i + 1] else 0
        at = int(np.searchsorted(times, first, side="right")) - 1
        makers.append(labels[at] if at >= 0 else "before the program")
        facts = facts_of.tensors.get(str(buffer).removeprefix(f"{entry}/"))
        types.append(_type_of(facts))
        roles.append(_role_of(operations, str(buffer).removeprefix(f"{entry}/"), facts))
    return ProgramNames(
        steps=tuple(NamedTime(step.time, step.label) for step in steps),
        spans=tuple(_loop_spans(operations, [(step.time, step.path) for step in steps])),
        roles=roles,
        operations=makers,
        types=types if any(types) else (),
    )


def _type_of(facts: TensorFacts | None) -> str:
    if facts is None:
        return ""
    shape = "" if facts.shape is None else "x".join(map(str, facts.shape)) or "scalar"
    return " ".join(part for part in (facts.dtype or "", shape) if part)


def _role_of(operations: Operations, name: str, facts: TensorFacts | None) -> str:
    function = operations.functions[operations.entry]
    if facts is not None and facts.role is not None:
        return "temporary" if facts.role == "activation" else facts.role
    if name in function.params:
        return "input"
    return "output" if name in function.results else "temporary"


def _loop_spans(operations: Operations, steps: list[tuple[int, str]]) -> Iterator[Span]:
    for k, statement in enumerate(operations.functions[operations.entry].body):
        if isinstance(statement, Repetition):
            own = f"{operations.entry}/{k}"
            times = [time for time, path in steps if path == own or path.startswith((f"{own}.", f"{own}/"))]
            if times:
                yield Span("loop", f"at {own}", min(times), max(times) + 1)
