"""Facts about a program that follow from its operations alone, without a plan: the fields of `Analysis`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import field_serializer

from memplan.extensions.networks.lifetimes.lifetimes import Liveness, Reading, Temporaries
from memplan.extensions.networks.lifetimes.uses import Where
from memplan.extensions.networks.operations.operations import OrderStatus
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import WireValue


@dataclass(frozen=True)
class Event:
    """A buffer is allocated or freed at the beginning of a time step."""

    time: int
    kind: Literal["alloc", "kill"]
    buffer: str


@dataclass(frozen=True)
class InsertFree:
    """The earliest point after which a program that allocates dynamically may free a buffer.

    It is after the statement at `path`, or at the start of this branch or program; each control path has one. Between
    two of them, every path uses the buffer again; a path that never used the buffer has nothing to free.
    """

    buffer: str
    where: Where
    path: str


@dataclass(frozen=True)
class Step:
    """A time step: the statement that runs in it, and the bytes that are alive."""

    time: int
    path: str
    label: str
    live_bytes: int


@dataclass(frozen=True)
class FunctionFacts:
    """A function's number of calls, its number of temporaries, and their live peak in its first call.

    Temporaries of called functions count in `live_bytes`, which is null for a function that is never called.
    """

    name: str
    calls: int
    temporaries: int
    live_bytes: int | None


@dataclass(frozen=True)
class TemporaryCounts:
    """The number of called functions without temporaries, with one temporary, and with several."""

    none: int
    one: int
    many: int


@dataclass(frozen=True)
class Workspace:
    """The live peak in bytes, which is a lower bound on every plan's peak, with the step and statement of the peak.

    `time` and `path` are null if no bytes are ever alive. In any order of the operations, some operation needs
    `any_order_live_bytes` by itself.
    """

    live_bytes: int
    time: int | None
    path: str | None
    any_order_live_bytes: int


@dataclass(frozen=True)
class ReadingFacts:
    """The live peak in bytes of one reading of lifetimes.

    `lost_bytes` is the excess over the peak of the reading by usage with nested temporaries.
    """

    liveness: Liveness
    temporaries: Temporaries
    live_bytes: int
    lost_bytes: int


class Analysis(WireValue):
    """The problem of placing a program's buffers, for one reading of lifetimes, and facts about the program.

    `constants`, `not_planned` inputs and outputs, and `unused` buffers are outside of the problem. `orphans` are
    planned buffers that are never read.
    """

    problem: Problem
    reading: Reading
    order: OrderStatus
    workspace: Workspace
    readings: tuple[ReadingFacts, ...]
    functions: tuple[FunctionFacts, ...]
    temporaries: TemporaryCounts
    constant_bytes: int
    constants: tuple[str, ...]
    not_planned: tuple[str, ...]
    unused: tuple[str, ...]
    orphans: tuple[str, ...]
    steps: tuple[Step, ...]
    events: tuple[Event, ...]
    insert_free: tuple[InsertFree, ...]
    warnings: tuple[Finding, ...]

    @field_serializer("problem")
    def _serialize_problem(self, problem: Problem) -> Any:
        return problem.model_dump(mode="json", exclude_defaults=True)
