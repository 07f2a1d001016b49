"""The lifetimes of a program's variables in each reading: by usage or scope, with nested or lifted temporaries.

By scope, a lifetime extends from each alloc to the next free on every path. Without a free, a scope ends with the
statement list that contains the alloc. Without an alloc, the scope is the whole call.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from memplan.planner.errors import OperationsError
from memplan.planner.model.rows import WireValue
from memplan.programs.lifetimes.timeline import (
    NOWHERE,
    BlockPart,
    BranchChoice,
    ProgramTimeline,
    StatementBlock,
    Variable,
)
from memplan.programs.lifetimes.uses import Lifetime, Use, family_uses, lifetime_by_usage, uses_by_part, uses_in_run

Liveness = Literal["usage", "scope"]
Temporaries = Literal["nested", "lifted"]
ReadingKind = tuple[Liveness, Temporaries]


class Reading(WireValue):
    """The options for deriving lifetimes from operations, and for the choice of planned buffers.

    By `usage`, a buffer is alive from its first to its last use; by `scope`, from alloc to free. `nested` temporaries
    are alive in a part of their call or operation only, `lifted` ones during all of it, like its arguments.
    """

    liveness: Liveness = Field(
        "usage", description="A buffer is alive from its first to its last use (usage), or from alloc to free (scope)."
    )
    temporaries: Temporaries = Field(
        "nested",
        description="Temporaries of a call are alive in their own part of it (nested), or during all of it (lifted).",
    )
    plan_inputs: bool = Field(True, description="Give offsets to the inputs of the program as well.")
    plan_outputs: bool = Field(True, description="Give offsets to the outputs of the program as well.")

    @property
    def way(self) -> ReadingKind:
        """The pair (`liveness`, `temporaries`), which determines how lifetimes are derived."""
        return self.liveness, self.temporaries


@dataclass(frozen=True)
class PlannedVariable:
    """The index of a planned variable, all uses of the variable and its aliases, and its lifetime in each reading."""

    variable: int
    uses: list[Use]
    by: Mapping[ReadingKind, Lifetime]


def is_planned(variable: Variable, reading: Reading) -> bool:
    """Return True if a variable is planned: a constant never is, and the options decide on inputs and outputs."""
    if variable.role == "input":
        return reading.plan_inputs
    return variable.role != "constant" and (variable.role != "output" or reading.plan_outputs)


def lifetimes(timeline: ProgramTimeline, reading: Reading) -> Iterator[PlannedVariable]:
    """Yield each variable that is planned, used and not an alias, with its lifetime in each reading.

    It takes O(uses x nesting depth) time for each variable. Raises OperationsError for uses outside of scopes.
    """
    for root, row in enumerate(timeline.variables):
        if row.root != NOWHERE or not is_planned(row, reading):
            continue
        uses = family_uses(timeline, root)
        scope = lifetime_by_scope(timeline, root, uses)  # Unused variables must have valid scopes too.
        accesses = [use for use in uses if not use.is_about_scope]
        if accesses:
            usage = lifetime_by_usage(timeline, uses, row.activation)
            yield PlannedVariable(root, uses, _lifetimes_by_reading(timeline, root, accesses, usage, scope))


def _lifetimes_by_reading(
    timeline: ProgramTimeline, root: int, accesses: list[Use], usage: Lifetime, scope: Lifetime
) -> dict[ReadingKind, Lifetime]:
    """Extend the lifetimes `usage` and `scope` to all readings; lifted ones may last a whole call or operation."""
    row = timeline.variables[root]
    whole = (
        _lifted_span(timeline, row.activation, accesses) if row.role == "temporary" and not row.is_persistent else None
    )
    family = (timeline.variables[i] for i in timeline.families[root])
    lifted = whole
    if whole is None and any(mark.is_passed for member in family for mark in member.marks):
        lifted = lifetime_by_usage(timeline, family_uses(timeline, root, passed=True), row.activation)
    return {
        ("usage", "nested"): usage,
        ("scope", "nested"): scope,
        ("usage", "lifted"): lifted or usage,
        ("scope", "lifted"): whole if whole is not None and whole.covers(scope) else scope,
    }


def _lifted_span(timeline: ProgramTimeline, activation: int, uses: list[Use]) -> Lifetime | None:
    """Return the owning call's time or, in the entry, that of the variable's only operation; None if there are more."""
    stretch = timeline.activations[activation].stretch
    if not activation:
        operations = {timeline.stretches[use.stretch].operation for use in uses}
        stretch = operations.pop()
        if operations or stretch == NOWHERE:
            return None
    whole = Lifetime()
    whole.add(timeline.stretches[stretch].start, timeline.stretches[stretch].end)
    return whole


_FREE, _HELD = frozenset({False}), frozenset({True})
Held = frozenset[bool]
"""The type of a variable's possible states at a point of the program: allocated (True), free (False), or both."""


def lifetime_by_scope(timeline: ProgramTimeline, root: int, uses: Sequence[Use]) -> Lifetime:
    """Return a variable's lifetime by its scopes, given the uses of the variable and its aliases in program order.

    Raises OperationsError for a use outside of the scopes, for a repeated alloc or free, and for a scope that extends
    from one iteration of a loop into the next.
    """
    variable = timeline.variables[root]
    walk = _Walk(timeline, variable.id)
    if any(use.action in ("alloc", "free") for use in uses):
        walk.run(timeline.whole, uses, _FREE)
    elif variable.role != "temporary" or variable.is_persistent:
        walk.found.add(timeline.whole.start, timeline.whole.end)
    elif variable.activation:
        call = timeline.stretches[timeline.activations[variable.activation].stretch]
        walk.found.add(call.start, call.end)
    else:
        walk.found.add(0, timeline.steps)
    return walk.found


class _Walk:
    """A walk through the blocks that use a variable; it tracks the variable's possible states."""

    def __init__(self, timeline: ProgramTimeline, name: str) -> None:
        """Start a walk for the variable `name`, with an empty lifetime."""
        self.timeline, self.name = timeline, name
        self.found = Lifetime()

    def run(self, run: StatementBlock, uses: Sequence[Use], held: Held) -> Held:
        """Add the lifetime within the block `run` to `found`; return the possible states (True: allocated) after it."""
        at = run.start
        for item in uses_by_part(run, uses):
            if True in held:
                self.found.add(at, item.start)
            at = max(at, item.start)
            if item.part is None:
                held = self._states_after_use(item.uses[0], held)
            else:
                held = self._states_after_part(item.part, item.uses, held)
                at = item.end
        if True in held:
            self.found.add(at, run.end)
        return held

    def _states_after_use(self, use: Use, held: Held) -> Held:
        """Return the variable's possible states after a use; raises OperationsError if `held` forbids the use."""
        if use.action == "end":
            return _FREE
        if use.action == "alloc" and held != _FREE:
            raise self._error_at(use.stretch, "must be free when it is allocated")
        if use.action != "alloc" and held != _HELD:
            raise self._error_at(
                use.stretch, f"must be allocated when it is {'freed' if use.action == 'free' else 'used'}"
            )
        return _FREE if use.action == "free" else _HELD

    def _states_after_part(self, part: BlockPart, uses: Sequence[Use], held: Held) -> Held:
        if isinstance(part, BranchChoice):
            ends = [self._states_after_branch(branch, uses_in_run(branch, uses), held) for branch in part.branches]
            return frozenset().union(*ends)
        end = self.run(part.body, uses, held)
        if end != held:
            raise self._error_at(part.path, "must be allocated and freed in the same iteration")
        return held

    def _states_after_branch(self, branch: StatementBlock, uses: Sequence[Use], held: Held) -> Held:
        if uses:
            return self.run(branch, uses, held)
        if True in held:
            self.found.add(branch.start, branch.end)
        return held

    def _error_at(self, where: int | str, rule: str) -> OperationsError:
        path = self.timeline.path(where) if isinstance(where, int) else where
        return OperationsError(f"{self.name}: {rule}, got {path}")
