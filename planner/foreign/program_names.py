"""The names that a program gives to parts of a plan: to time ranges (operations, loops) and to each buffer's role."""

from collections.abc import Sequence
from dataclasses import dataclass

from memplan.planner.model.application import Application, times_of_models
from memplan.planner.model.field_docs import DescribedFields


@dataclass(frozen=True)
class NamedTime(DescribedFields):
    """The name of the operations that run from a time step until the next named time."""

    time: int
    """The first time step that has the name."""
    name: str
    """The name of the operations."""


@dataclass(frozen=True)
class Span(DescribedFields):
    """A named, half-open range of time steps."""

    kind: str
    """What the range is: a `loop`, or a `model` of an application."""
    name: str
    """The model's name, or the place of the loop in the program, such as `at main/3`."""
    start: int
    """The first time step of the range."""
    end: int
    """The first time step after the range."""


@dataclass(frozen=True)
class ProgramNames(DescribedFields):
    """The names that a program gives to a problem: over time, and for each buffer."""

    steps: tuple[NamedTime, ...] = ()
    """The names of the time steps, in order of time; empty if there are none, or too many."""
    spans: tuple[Span, ...] = ()
    """The named ranges of time steps."""
    roles: Sequence[str] = ()
    """The role of each buffer: `input`, `output`, `state`, `temporary` or `ring`; empty if roles are unknown."""
    operations: Sequence[str] = ()
    """The operation that writes each buffer; empty if it is unknown."""
    types: Sequence[str] = ()
    """The element type and shape of each buffer, such as `int8 1x49x10x1`; empty if no buffer has one."""
    models: Sequence[str] = ()
    """The model of each buffer within an application; empty for a single model."""


NO_NAMES = ProgramNames()


def names_of_models(application: Application) -> ProgramNames:
    """Return the names of an application (several models): each model's time range, and each buffer's model."""
    spans = (Span("model", name, *times) for name, times in times_of_models(application).items())
    own = [name for name, model in application.models.items() for _ in range(len(model.buffers))]
    return ProgramNames(spans=tuple(spans), models=own)
