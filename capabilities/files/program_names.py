"""The names that a program gives to a plan: operations along time, loops, and roles and types of buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from memplan.planner import importers
from memplan.planner.importers.imported import Imported, ImportOptions
from memplan.planner.liveness import analyse
from memplan.planner.model.problem import Problem
from memplan.planner.operations.graph_facts import TensorFacts
from memplan.planner.operations.operations import Operations
from memplan.planner.operations.statements import Repetition

_STEPS_AT_MOST = 200_000
_AS_IT_IS = ImportOptions()


@dataclass(frozen=True)
class NamedTime:
    """The name of what runs from a time step on, until the next one."""

    time: int
    name: str


@dataclass(frozen=True)
class Span:
    """A range of time with a name, half-open: a loop, or a region that runs in stripes."""

    kind: str
    name: str
    start: int
    end: int


@dataclass(frozen=True)
class ProgramNames:
    """What a program tells beside the problem: names along time, and of each buffer its role, operation and type.

    `roles` is one of `input`, `output`, `state`, `temporary`, `ring` for each buffer; `types` say shape and type of
    elements. Each of the three is empty, or has one entry for each buffer of the problem.
    """

    steps: tuple[NamedTime, ...] = ()
    spans: tuple[Span, ...] = ()
    roles: Sequence[str] = ()
    operations: Sequence[str] = ()
    types: Sequence[str] = ()


NO_NAMES = ProgramNames()


def names_in(data: bytes, name: str | None, problem: Problem, options: ImportOptions = _AS_IT_IS) -> ProgramNames:
    """Return the names that a file gives to the buffers of a problem; none where it is no program that poses it.

    The problem may have other pools than the file's own; `options` are those with which it was read.
    """
    if importers.detect(data, name) is None and b'"functions"' not in data:
        return NO_NAMES
    own, imported = importers.read_problem(data, name, options.model_copy(update={"facts": True}), None)
    same = imported is not None and own.buffers.ids == problem.buffers.ids
    if imported is None or not same or not np.array_equal(own.buffers.start, problem.buffers.start):
        return NO_NAMES
    return program_names(imported)


def program_names(imported: Imported) -> ProgramNames:
    """Return the names that an imported program gives; none where its file tells lifetimes only."""
    if imported.operations is None:
        return NO_NAMES
    steps = analyse(imported.operations).steps
    if len(steps) > _STEPS_AT_MOST:
        return NO_NAMES
    table, entry = imported.problem.buffers, imported.operations.entry
    times = np.array([step.time for step in steps], dtype=np.int64)
    labels = [step.label for step in steps]
    makers, types, roles = [], [], []
    for i, buffer in enumerate(table.ids):
        first = int(table.start[table.first[i]]) if table.first[i] < table.first[i + 1] else 0
        at = int(np.searchsorted(times, first, side="right")) - 1
        makers.append(labels[at] if at >= 0 else "before the program")
        facts = imported.facts.tensors.get(str(buffer).removeprefix(f"{entry}/"))
        types.append(_type_of(facts))
        roles.append(_role_of(imported.operations, str(buffer).removeprefix(f"{entry}/"), facts))
    return ProgramNames(
        steps=tuple(NamedTime(step.time, step.label) for step in steps),
        spans=tuple(_loops(imported.operations, [(step.time, step.path) for step in steps])),
        roles=roles,
        operations=makers,
        types=types if any(types) else (),
    )


def _type_of(facts: TensorFacts | None) -> str:
    """Return the type of elements and the shape, as `int8 1x49x10x1`."""
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


def _loops(operations: Operations, steps: list[tuple[int, str]]) -> Iterator[Span]:
    """Yield the times of the loops in the body of the entry."""
    for k, statement in enumerate(operations.functions[operations.entry].body):
        if isinstance(statement, Repetition):
            own = f"{operations.entry}/{k}"
            times = [time for time, path in steps if path == own or path.startswith((f"{own}.", f"{own}/"))]
            if times:
                yield Span("loop", f"at {own}", min(times), max(times) + 1)
