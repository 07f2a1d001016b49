"""The names that programs give to a plan: operations and loops along time, and the role and type of each buffer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memplan.planner.model.application import Application, times_of_models


@dataclass(frozen=True)
class NamedTime:
    """The name of the operations that run from a time step on, until the next named time."""

    time: int
    name: str


@dataclass(frozen=True)
class Span:
    """A range of time steps, half-open, with a name: a loop, a region run in stripes, or one of several models."""

    kind: str
    name: str
    start: int
    end: int


@dataclass(frozen=True)
class ProgramNames:
    """The names that a program gives to a problem: along time, and for each buffer.

    `steps` and `spans` name times. Each other field is empty, or has an entry for each buffer: `roles` is `input`,
    `output`, `state`, `temporary` or `ring`; `operations` names the operation that writes it; `types` are shapes with
    the type of elements; `models` are those of an application.
    """

    steps: tuple[NamedTime, ...] = ()
    spans: tuple[Span, ...] = ()
    roles: Sequence[str] = ()
    operations: Sequence[str] = ()
    types: Sequence[str] = ()
    models: Sequence[str] = ()


NO_NAMES = ProgramNames()


def names_of_models(application: Application) -> ProgramNames:
    """Return an application's models as ranges of time, and the model of each buffer."""
    spans = (Span("model", name, *times) for name, times in times_of_models(application).items())
    own = [name for name, model in application.models.items() for _ in range(len(model.buffers))]
    return ProgramNames(spans=tuple(spans), models=own)
