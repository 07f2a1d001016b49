"""The lifetimes of every variable of a program, for each way to read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from memplan.planner.liveness.scopes import lifetime_by_scope
from memplan.planner.liveness.timeline import NOWHERE, ProgramTimeline, Variable
from memplan.planner.liveness.usage import Lifetime, lifetime_by_usage
from memplan.planner.liveness.uses import Use, family_uses
from memplan.planner.model.rows import WireValue

Liveness = Literal["usage", "scope"]
Temporaries = Literal["nested", "lifted"]
ReadingKind = tuple[Liveness, Temporaries]


class Reading(WireValue):
    """The options for reading lifetimes from operations, and for what is planned.

    By `usage`, a buffer is alive from its first to its last use; by `scope`, from alloc to free. Temporaries are alive
    for their own part of a call or operation (`nested`), or for the whole of it, as its arguments are (`lifted`).
    """

    liveness: Liveness = Field("usage", description="From first to last use, or from alloc to free (scope).")
    temporaries: Temporaries = Field(
        "nested", description="Alive for their own part of a call, or for the whole of it (lifted)."
    )
    plan_inputs: bool = Field(True, description="Place the program's inputs, too.")
    plan_outputs: bool = Field(True, description="Place the program's outputs, too.")

    @property
    def way(self) -> ReadingKind:
        """The options for lifetimes, apart from those for what is planned."""
        return self.liveness, self.temporaries


@dataclass(frozen=True)
class PlannedVariable:
    """A variable that is planned, by position: its family's uses, and its lifetime in each way to read them."""

    variable: int
    uses: list[Use]
    by: Mapping[ReadingKind, Lifetime]


def is_planned(variable: Variable, reading: Reading) -> bool:
    """Return True if a variable is planned: constants never are, inputs and outputs by option."""
    if variable.role == "input":
        return reading.plan_inputs
    return variable.role != "constant" and (variable.role != "output" or reading.plan_outputs)


def lifetimes(timeline: ProgramTimeline, reading: Reading) -> Iterator[PlannedVariable]:
    """Yield the lifetimes of each variable that is planned, is no alias, and is used; O(uses x depth of parts) each.

    Of the reading, only what is planned matters. Raises OperationsError for uses outside of scopes.
    """
    for root, row in enumerate(timeline.variables):
        if row.root != NOWHERE or not is_planned(row, reading):
            continue
        uses = family_uses(timeline, root)
        scope = lifetime_by_scope(timeline, root, uses)  # which also holds the uses to the scopes
        accesses = [use for use in uses if not use.is_about_scope]
        if accesses:
            usage = lifetime_by_usage(timeline, uses, row.activation)
            yield PlannedVariable(root, uses, _in_every_way(timeline, root, accesses, usage, scope))


def _in_every_way(
    timeline: ProgramTimeline, root: int, accesses: list[Use], usage: Lifetime, scope: Lifetime
) -> dict[ReadingKind, Lifetime]:
    """Return the lifetime in every way; lifted, it may be that of a whole call or operation."""
    row = timeline.variables[root]
    whole = _whole(timeline, row.activation, accesses) if row.role == "temporary" and not row.is_persistent else None
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


def _whole(timeline: ProgramTimeline, activation: int, uses: list[Use]) -> Lifetime | None:
    """Return the time of the call whose temporary it is, or of the program's only operation that uses it inside."""
    stretch = timeline.activations[activation].stretch
    if not activation:
        operations = {timeline.stretches[use.stretch].operation for use in uses}
        stretch = operations.pop()
        if operations or stretch == NOWHERE:
            return None
    found = Lifetime()
    found.add(timeline.stretches[stretch].start, timeline.stretches[stretch].end)
    return found
