"""The names that a program gives to parts of a plan: to time ranges (operations, loops) and to each buffer's role."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memplan.planner.model.application import Application, times_of_models


@dataclass(frozen=True)
class NamedTime:
    """The name of the operations that run from a time step until the next named time."""

    time: int
    name: str


@dataclass(frozen=True)
class Span:
    """A named, half-open range of time steps: a loop, a region computed in stripes, or one of several models."""

    kind: str
    name: str
    start: int
    end: int


@dataclass(frozen=True)
class ProgramNames:
    """The names that a program gives to a problem: over time, and for each buffer.

    `steps` and `spans` name times. Every other field is empty or has one entry per buffer. `roles`: `input`, `output`,
    `state`, `temporary` or `ring`. `operations`: the operation that writes the buffer. `types`: its shape and element
    type. `models`: its model within an application.
    """

    steps: tuple[NamedTime, ...] = ()
    spans: tuple[Span, ...] = ()
    roles: Sequence[str] = ()
    operations: Sequence[str] = ()
    types: Sequence[str] = ()
    models: Sequence[str] = ()


NO_NAMES = ProgramNames()


def names_of_models(application: Application) -> ProgramNames:
    """Return the names of an application (several models): each model's time range, and each buffer's model."""
    spans = (Span("model", name, *times) for name, times in times_of_models(application).items())
    own = [name for name, model in application.models.items() for _ in range(len(model.buffers))]
    return ProgramNames(spans=tuple(spans), models=own)
