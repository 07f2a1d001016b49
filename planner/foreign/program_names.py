"""The names that programs give to a plan: operations along time, loops, models, and roles and types of buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memplan.planner.model.application import Application, times_of_models


@dataclass(frozen=True)
class NamedTime:
    """The name of the work that runs from a time step on, until the next named time."""

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
    """The names that a program gives to a problem: names along time, and role, operation, type and model of each
    buffer.

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


def names_of_models(application: Application) -> ProgramNames:
    """Return the models of an application as ranges of time, and of each buffer the model that it is of."""
    spans = (Span("model", name, *times) for name, times in times_of_models(application).items())
    own = [name for name, model in application.models.items() for _ in range(len(model.buffers))]
    return ProgramNames(spans=tuple(spans), models=own)
