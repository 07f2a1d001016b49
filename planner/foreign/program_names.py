"""The names that programs give to a plan: operations along time, loops, models, and roles and types of buffers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from memplan.planner import formats
from memplan.planner.foreign import reading as importers
from memplan.planner.foreign.imported import Imported
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.foreign.programs import application_from, poses_a_problem
from memplan.planner.formats import memplan_json
from memplan.planner.liveness import analyse
from memplan.planner.model.application import Application, times_of_models
from memplan.planner.model.problem import Problem
from memplan.planner.operations.graph_facts import TensorFacts
from memplan.planner.operations.operations import Operations
from memplan.planner.operations.statements import Repetition

_STEPS_AT_MOST = 200_000
_AS_IT_IS = ModelOptions()


@dataclass(frozen=True)
class NamedTime:
    """The name of what runs from a time step on, until the next one."""

    time: int
    name: str


@dataclass(frozen=True)
class Span:
    """A range of time with a name, half-open: a loop, a region that runs in stripes, or one of several models."""

    kind: str
    name: str
    start: int
    end: int


@dataclass(frozen=True)
class ProgramNames:
    """What a program tells beside the problem: names along time, and role, operation, type and model of each buffer.

    `models` are those of an application; `roles` is one of `input`, `output`, `state`, `temporary`, `ring` for each
    buffer; `types` say shape and type of elements. Each of the four is empty or has an entry for each buffer.
    """

    steps: tuple[NamedTime, ...] = ()
    spans: tuple[Span, ...] = ()
    roles: Sequence[str] = ()
    operations: Sequence[str] = ()
    types: Sequence[str] = ()
    models: Sequence[str] = ()


NO_NAMES = ProgramNames()


def names_in(data: bytes, name: str | None, problem: Problem, options: ModelOptions = _AS_IT_IS) -> ProgramNames:
    """Return the names that a file gives to the buffers of a problem; none where what it poses is another one.

    The problem may have other pools than the file's own; `options` are those with which it was read.
    """
    if importers.detect(data, name) is None and b'"functions"' not in data and b'"models"' not in data:
        return NO_NAMES
    own, imported = importers.read_problem(data, name, options, None)
    same = own.buffers.ids == problem.buffers.ids and np.array_equal(own.buffers.start, problem.buffers.start)
    return names_read(data, imported) if same else NO_NAMES


def names_read(data: bytes, imported: Imported | None) -> ProgramNames:
    """Return the names in a file that was read: those of a program, or of several models in JSON."""
    if imported is not None:
        return program_names(imported)
    if b'"models"' not in data or formats.detect(data, None) != "json":
        return NO_NAMES
    value = memplan_json.parse(data)
    return names_of_models(application_from(value)) if poses_a_problem(value) else NO_NAMES


def names_of_models(application: Application) -> ProgramNames:
    """Return the models of an application as ranges of time, and of each buffer the model that it is of."""
    spans = (Span("model", name, *times) for name, times in times_of_models(application).items())
    own = [name for name, model in application.models.items() for _ in range(len(model.buffers))]
    return ProgramNames(spans=tuple(spans), models=own)


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
