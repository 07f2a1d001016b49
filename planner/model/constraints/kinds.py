"""The constraint kinds: the fields that state each, its checks of a problem, its columns, its lint findings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from operator import attrgetter
from typing import Any

from memplan.planner.model.constraints import (
    alias,
    bank,
    conflicts,
    forbid_pools,
    may_share,
    no_cross,
    relative,
    together,
)
from memplan.planner.model.constraints.kept import Breaks, Id, KeptBuffers, clearance_columns
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem_fields import ProblemFields

Check = Callable[[ProblemFields], Breaks]


@dataclass(frozen=True)
class ConstraintKind:
    """A constraint kind, of which nothing is called for a problem that has none of the values that state it.

    `stated_by` names these, as attributes of a problem.
    `checks` are of a problem, by stage: each stage relies on what those before it have found to be sound. `columns`
    makes columns of an instance, in bytes, by name; where it is not called, they have the values that require nothing.
    `clearances` yields pairs of ids, with the bytes that the two keep free between them wherever they lie in one pool.
    """

    stated_by: tuple[str, ...]
    checks: Mapping[int, Check] = field(default_factory=dict)
    columns: Callable[[KeptBuffers], dict[str, Any]] | None = None
    clearances: Callable[[ProblemFields], Iterable[tuple[Id, Id, int]]] | None = None


KINDS = (
    ConstraintKind(("buffers.aliases",), {0: alias.unknown_names, 2: alias.contradictions}),
    ConstraintKind(("buffers.relatives",), {0: relative.unknown_names, 3: relative.contradictions}, relative.columns),
    ConstraintKind(("buffers.forbidden",), {0: forbid_pools.unknown_names, 1: forbid_pools.no_pool_left}),
    ConstraintKind(("conflicts",), {0: conflicts.unknown_names, 4: conflicts.contradictions}, conflicts.columns),
    ConstraintKind(("may_share",), {0: may_share.unknown_names, 4: may_share.contradictions}, may_share.columns),
    ConstraintKind(("bank",), {0: bank.unknown_names, 1: bank.too_many_pairs, 4: bank.contradictions}, bank.columns),
    ConstraintKind(("together", "buffers.relatives"), {0: together.unknown_names}, together.columns),
    ConstraintKind(("buffers.pages",), columns=no_cross.columns),
)


def columns_of(kept: KeptBuffers) -> dict[str, Any]:
    """Return the columns that the kinds of a problem make."""
    found: dict[str, Any] = {}
    kinds = kinds_of(kept.problem)
    for kind in kinds:
        if kind.columns is not None:
            found |= kind.columns(kept)
    if required := [kind.clearances(kept.problem) for kind in kinds if kind.clearances is not None]:
        found |= clearance_columns(kept, chain.from_iterable(required))
    return found


def kinds_of(problem: ProblemFields) -> list[ConstraintKind]:
    """Return the kinds that a problem states."""
    if not any(_ALL_THAT_STATE(problem)):  # mostly
        return []
    return [kind for kind in KINDS if any(attrgetter(name)(problem) for name in kind.stated_by)]


_ALL_THAT_STATE = attrgetter(*sorted({name for kind in KINDS for name in kind.stated_by}))


FINDINGS: tuple[Callable[[ProblemFields], Iterator[Finding]], ...] = (
    may_share.long_sharing,
    relative.views_that_cut_each_other,
    bank.idle_banks,
)
"""Rules of lint."""
