"""A program laid out in time: the steps of each statement, the variables, and the steps that use them.

Every statement without a body takes one time step. Calls are replaced by their bodies. The branches of a choice follow
one another and never overlap in time; a buffer that is alive across a choice is alive in all branches. A loop's body
occurs once. The caller writes the inputs in step -1, and reads the outputs in the step after the last one.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

Role = Literal["input", "output", "constant", "temporary"]
Action = Literal["read", "write", "update", "part", "scratch", "hold", "alloc", "free", "end"]
"""The actions of a statement on a buffer.

`update` reads and writes it, `part` writes some of its bytes, `scratch` uses it as a temporary, and `hold` needs its
content unchanged. `alloc`, `free` and `end` only concern scopes; `end` ends a scope that has no free.
"""
NOWHERE = -1


@dataclass(frozen=True)
class Activation:
    """A call of a function, or the whole program; `path` is its name, and `stretch` the index of its time span.

    The variables of the call, and of calls inside it, have the indices `first_variable:after_variables`.
    """

    path: str
    function: str
    stretch: int
    first_variable: int
    after_variables: int = 0


class Stretch(NamedTuple):
    """The time span `[start, end)` of a statement, with the statement's call, position, label and nesting depth.

    `operation` is the time span (index) of the outermost operation around the statement in the entry, or NOWHERE.
    """

    activation: int
    position: tuple[int, ...]
    label: str
    start: int
    end: int
    depth: int
    operation: int = NOWHERE


class Mark(NamedTuple):
    """An action of a statement on a variable; `is_passed` is True if a call itself acts, and not the called body."""

    stretch: int
    action: Action
    is_passed: bool = False


@dataclass
class Variable:
    """A buffer of one call, with its bytes and its marks (actions) in program order; an alias is inside `root`."""

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
    """The time span `[start, end)`; the statements with indices from `first` up to `after` - 1 begin in it."""

    start: int
    end: int
    first: int
    after: int


@dataclass(frozen=True)
class StatementBlock(TimeSpan):
    """A time span in which statements and nested parts run one after another."""

    depth: int
    parts: "tuple[BlockPart, ...]" = ()


@dataclass(frozen=True)
class BranchChoice(TimeSpan):
    """A choice between branches, exactly one of which each execution runs."""

    path: str
    branches: tuple[StatementBlock, ...]


@dataclass(frozen=True)
class Loop(TimeSpan):
    """A loop whose body may run repeatedly; `surely_runs` is True if the body runs at least once."""

    path: str
    body: StatementBlock
    surely_runs: bool


BlockPart: TypeAlias = BranchChoice | Loop


@dataclass(frozen=True, eq=False)
class ProgramTimeline:
    """A program in time, from step -1 to `steps`; activation 0 is the program itself, the others are its calls."""

    whole: StatementBlock
    steps: int
    stretches: list[Stretch]
    activations: list[Activation]
    variables: list[Variable]

    def path(self, stretch: int) -> str:
        """Return a statement's path: `main/3:f/0` is the first statement of f, called by main's fourth statement."""
        span = self.stretches[stretch]
        path = self.activations[span.activation].path
        return f"{path}/{'.'.join(map(str, span.position))}" if span.position else path

    @cached_property
    def families(self) -> dict[int, list[int]]:
        """For each variable that is not an alias, a list of the variable itself and then its aliases."""
        families: dict[int, list[int]] = {i: [i] for i, row in enumerate(self.variables) if row.root == NOWHERE}
        for i, row in enumerate(self.variables):
            if row.root != NOWHERE:
                families[row.root].append(i)
        return families
