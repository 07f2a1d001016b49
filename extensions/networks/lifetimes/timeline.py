"""A program laid out in time: the step of each statement, the buffers, and the steps that use them.

Every statement without a body takes one step of time. Calls are replaced by their bodies; branches follow one another,
so that they never meet in time, while buffers that live across them cover them all; a loop's body occurs once. The
caller's filling of the inputs is step -1, and its reading of the outputs the step after the last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

Role = Literal["input", "output", "constant", "temporary"]
Action = Literal["read", "write", "update", "part", "scratch", "hold", "alloc", "free", "end"]
"""The actions of a statement on a buffer.

`update` reads and writes it, `part` writes some of it, `scratch` uses it as its own temporary, `hold` keeps its
contents. The last three are about scopes only; `end` is the end of a scope that no statement ends.
"""
NOWHERE = -1


@dataclass(frozen=True)
class Activation:
    """One call of a function, or the program itself; `stretch` is that of the call, `path` names it.

    Its variables are `first_variable:after_variables`, those of the calls in it included.
    """

    path: str
    function: str
    stretch: int
    first_variable: int
    after_variables: int = 0


class Stretch(NamedTuple):
    """The time `[start, end)` of a statement, in the block at `depth`, and the position in its function.

    `operation` is the stretch of the outermost operation of the program's own that it is inside of, or NOWHERE.
    """

    activation: int
    position: tuple[int, ...]
    label: str
    start: int
    end: int
    depth: int
    operation: int = NOWHERE


class Mark(NamedTuple):
    """One action on a variable in a stretch; the action of a call itself, `is_passed`, precedes those inside."""

    stretch: int
    action: Action
    is_passed: bool = False


@dataclass
class Variable:
    """A buffer of one activation, in bytes; `marks` are in program order; an alias lies in the variable `root`."""

    id: str
    size: int
    alignment: int
    pools: tuple[str, ...] | None
    role: Role
    activation: int
    is_persistent: bool = False
    root: int = NOWHERE
    distance: int = 0
    marks: list[Mark] = field(default_factory=list)


@dataclass(frozen=True)
class TimeSpan:
    """A time `[start, end)`, in which the stretches `first:after` begin."""

    start: int
    end: int
    first: int
    after: int


@dataclass(frozen=True)
class StatementBlock(TimeSpan):
    """A time whose steps and parts run one after another."""

    depth: int
    parts: tuple[BlockPart, ...] = ()


@dataclass(frozen=True)
class BranchChoice(TimeSpan):
    """Branches: each execution passes through the time of exactly one of them."""

    path: str
    branches: tuple[StatementBlock, ...]


@dataclass(frozen=True)
class Loop(TimeSpan):
    """A body that may run repeatedly, and at least once if `surely_runs`."""

    path: str
    body: StatementBlock
    surely_runs: bool


BlockPart: TypeAlias = BranchChoice | Loop


@dataclass(frozen=True, eq=False)
class ProgramTimeline:
    """A program in time, from step -1 to `steps`. Activation 0 is the program itself."""

    whole: StatementBlock
    steps: int
    stretches: list[Stretch]
    activations: list[Activation]
    variables: list[Variable]

    def path(self, stretch: int) -> str:
        """Return a stretch's position: `main/3:f/0` is the first statement in the call by main's fourth statement."""
        span = self.stretches[stretch]
        path = self.activations[span.activation].path
        return f"{path}/{'.'.join(map(str, span.position))}" if span.position else path

    @cached_property
    def families(self) -> dict[int, list[int]]:
        """Maps each variable that is no alias to its family, itself first."""
        families: dict[int, list[int]] = {i: [i] for i, row in enumerate(self.variables) if row.root == NOWHERE}
        for i, row in enumerate(self.variables):
            if row.root != NOWHERE:
                families[row.root].append(i)
        return families
