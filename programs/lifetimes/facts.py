"""Facts about a program that follow from its operations alone, without a plan: the fields of `Analysis`."""

from dataclasses import dataclass
from typing import Any, Literal

from pydantic import field_serializer

from memplan.planner.model.field_docs import DescribedFields
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import WireValue
from memplan.programs.lifetimes.lifetimes import Liveness, Reading, Temporaries
from memplan.programs.lifetimes.uses import Where
from memplan.programs.operations.operations import OrderStatus


@dataclass(frozen=True)
class Event(DescribedFields):
    """The start or the end of a lifetime, at the beginning of a time step."""

    time: int
    """The time step; -1 for inputs of the program."""
    kind: Literal["alloc", "kill"]
    """`alloc` at the start of a lifetime, `kill` at its end."""
    buffer: str
    """The id of the buffer."""


@dataclass(frozen=True)
class InsertFree(DescribedFields):
    """The earliest point on a control path after which a program that allocates dynamically may free a buffer.

    Between two of them, every path uses the buffer again; a path that never used the buffer has nothing to free.
    """

    buffer: str
    """The id of the buffer."""
    where: Where
    """`after` the statement at `path`, or at the start of this branch or program."""
    path: str
    """The statement, branch or program, such as `main/3:f/0`, the first statement of f in the fourth statement of
    main."""


@dataclass(frozen=True)
class Step(DescribedFields):
    """A time step of the program."""

    time: int
    """The number of the step, from 0."""
    path: str
    """The statement that runs in it, such as `main/3:f/0`."""
    label: str
    """The name of its operation, or the kind of statement, such as `alloc`."""
    live_bytes: int
    """The bytes that are alive in it."""


@dataclass(frozen=True)
class FunctionFacts(DescribedFields):
    """The temporaries of a function."""

    name: str
    """The name of the function."""
    calls: int
    """The number of its calls; 1 for the entry."""
    temporaries: int
    """The number of temporaries, without those of called functions."""
    live_bytes: int | None
    """The live peak in bytes of its temporaries in its first call, including those of called functions; null if it is
    never called."""


@dataclass(frozen=True)
class TemporaryCounts(DescribedFields):
    """The called functions, without the entry, by their numbers of temporaries."""

    none: int
    """The number of functions without temporaries."""
    one: int
    """The number of functions with one temporary."""
    many: int
    """The number of functions with several temporaries."""


@dataclass(frozen=True)
class Workspace(DescribedFields):
    """The live peak of the program."""

    live_bytes: int
    """The live peak in bytes, which is a lower bound on every plan's peak."""
    time: int | None
    """The first time step with this peak; null if no bytes are ever alive."""
    path: str | None
    """The statement that runs in this step; null if no bytes are ever alive."""
    any_order_live_bytes: int
    """The bytes that some operation needs by itself, in any order of the operations."""


@dataclass(frozen=True)
class ReadingFacts(DescribedFields):
    """The live peak for one reading of lifetimes."""

    liveness: Liveness
    """The rule for lifetimes, `usage` or `scope`, as in `reading`."""
    temporaries: Temporaries
    """The rule for temporaries, `nested` or `lifted`, as in `reading`."""
    live_bytes: int
    """The live peak in bytes."""
    lost_bytes: int
    """The excess in bytes over the live peak by usage with nested temporaries."""


class Analysis(WireValue):
    """The problem of placing a program's buffers, for one reading of lifetimes, and facts about the program."""

    problem: Problem
    """The problem of placing the buffers."""
    reading: Reading
    """The options by which the lifetimes were derived."""
    order: OrderStatus
    """Whether the order of operations is `final`, or `tentative` and may change, as the program states."""
    workspace: Workspace
    """The live peak, and where it is."""
    readings: tuple[ReadingFacts, ...]
    """The live peaks of all readings of lifetimes; the first, by usage with nested temporaries, is the lowest."""
    functions: tuple[FunctionFacts, ...]
    """The calls and temporaries of each function."""
    temporaries: TemporaryCounts
    """How many called functions have no temporary, one, or several."""
    constant_bytes: int
    """The bytes of all constants."""
    constants: tuple[str, ...]
    """The ids of the constants, which are outside of the problem."""
    not_planned: tuple[str, ...]
    """The ids of inputs and outputs that are outside of the problem, as the options require."""
    unused: tuple[str, ...]
    """The ids of buffers that nothing uses, which are outside of the problem."""
    orphans: tuple[str, ...]
    """The ids of temporaries that are written but never read."""
    steps: tuple[Step, ...]
    """The time steps, in order."""
    events: tuple[Event, ...]
    """The starts and ends of all lifetimes, by time; at the same time, ends come first."""
    insert_free: tuple[InsertFree, ...]
    """The points at which a program may free its temporaries."""
    warnings: tuple[Finding, ...]
    """The buffers that may be read before they are written."""

    @field_serializer("problem")
    def _serialize_problem(self, problem: Problem) -> Any:
        return problem.model_dump(mode="json", exclude_defaults=True)
