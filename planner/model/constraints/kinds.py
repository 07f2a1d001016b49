"""The table of constraint kinds: the fields, checks, columns and lint findings of each kind."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from memplan.planner.extensions import extensions
from memplan.planner.model.constraints import (
    alias,
    bank,
    conflicts,
    forbid_pools,
    may_share,
    moves,
    relative,
    reuse,
    same_offset,
    together,
)
from memplan.planner.model.constraints.kept import Breaks, Id, KeptBuffers, OffsetRule, clearance_columns
from memplan.planner.model.constraints.relative import partial_overlap_findings
from memplan.planner.model.finding import Finding
from memplan.planner.model.problem_fields import ADDRESS_SPACE, Pool, ProblemFields
from memplan.planner.model.rows import Buffer

Check = Callable[[ProblemFields], Breaks]


class ConstraintKind(NamedTuple):
    """A constraint kind; its functions are called only for problems that use the kind.

    stated_by: the fields that state the constraint, either of a problem or rare fields of buffers.
    checks: functions that validate a problem, by stage; each stage relies on the checks of earlier stages.
    columns: a function that returns the kind's columns of an instance, in bytes; without it, columns restrict nothing.
    offsets: a function that converts a value of a buffer's field to a rule for the buffer's offset in a pool.
    clearances: a function that yields pairs of ids with the bytes to keep free between them within one pool.
    findings: a lint rule.
    """

    stated_by: tuple[str, ...]
    checks: Mapping[int, Check] = MappingProxyType({})
    columns: Callable[[KeptBuffers], dict[str, Any]] | None = None
    offsets: Callable[[Any, Buffer, Pool], OffsetRule] | None = None
    clearances: Callable[[ProblemFields], Iterable[tuple[Id, Id, int]]] | None = None
    findings: Callable[[ProblemFields], Iterator[Finding]] | None = None


KINDS = (
    ConstraintKind(("aliases",), {0: alias.unknown_names, 2: alias.contradictions}, findings=partial_overlap_findings),
    ConstraintKind(
        ("relative",),
        {0: relative.unknown_names, 3: relative.contradictions},
        relative.columns,
        findings=partial_overlap_findings,
    ),
    ConstraintKind(("forbid_pools",), {0: forbid_pools.unknown_names, 1: forbid_pools.no_pool_left}),
    ConstraintKind(("conflicts",), {0: conflicts.unknown_names, 4: conflicts.contradictions}, conflicts.columns),
    ConstraintKind(
        ("may_share",),
        {0: may_share.unknown_names, 4: may_share.contradictions},
        may_share.columns,
        findings=may_share.long_sharing_findings,
    ),
    ConstraintKind(
        ("bank",),
        {0: bank.unknown_names, 1: bank.pair_limit_breaks, 4: bank.contradictions},
        bank.columns,
        findings=bank.idle_bank_findings,
    ),
    ConstraintKind(
        ("reuse",),
        {0: reuse.unknown_names, 1: reuse.pair_limit_breaks, 4: reuse.contradictions},
        reuse.columns,
        findings=reuse.idle_price_findings,
    ),
    ConstraintKind(("together", "relative"), {0: together.unknown_names}, together.columns),
    ConstraintKind(
        ("same_offset", "equal_use"), {0: same_offset.unknown_names, 5: same_offset.contradictions}, same_offset.columns
    ),
    ConstraintKind(("moves", "accesses", "given", "kept_in"), {0: moves.unknown_names, 1: moves.contradictions}),
    ConstraintKind(("no_cross",), offsets=lambda page, buffer, pool: OffsetRule(page=page)),
    ConstraintKind(("offset_mod",), offsets=lambda value, buffer, pool: OffsetRule(step=value[0], remainder=value[1])),
    ConstraintKind(("end_at_most",), offsets=lambda end, buffer, pool: OffsetRule(((0, end - buffer.size + 1),))),
    ConstraintKind(("start_at_least",), offsets=lambda start, buffer, pool: OffsetRule(((start, ADDRESS_SPACE),))),
    *(ConstraintKind((name,), offsets=kind.offsets) for name, kind in extensions("kinds").items()),
)


def columns_of(kept: KeptBuffers) -> dict[str, Any]:
    """Return the columns, by name, of all constraint kinds that a problem uses."""
    columns: dict[str, Any] = {}
    kinds = kinds_of(kept.problem)
    for kind in kinds:
        if kind.columns is not None:
            columns |= kind.columns(kept)
    if required := [kind.clearances(kept.problem) for kind in kinds if kind.clearances is not None]:
        columns |= clearance_columns(kept, chain.from_iterable(required))
    return columns


def kinds_of(problem: ProblemFields) -> list[ConstraintKind]:
    """Return the constraint kinds that a problem uses."""
    table, of_problem = problem.buffers, _OF_PROBLEM(problem)
    # Most problems have no constraints, so return early for them.
    if not (table.aliases or any(table.rules.values()) or any(of_problem)):
        return []
    values = {"aliases": table.aliases, **table.rules, **dict(zip(_FIELDS, of_problem, strict=True))}
    return [kind for kind in KINDS if any(values[name] for name in kind.stated_by)]


def offset_rules(problem: ProblemFields) -> list[list[tuple[int, OffsetRule]]]:
    """Return each pool's offset rules, as pairs (position of a buffer, rule for its offset)."""
    pool_rules: list[list[tuple[int, OffsetRule]]] = [[] for _ in problem.pools]
    for kind in kinds_of(problem):
        if kind.offsets is not None:
            for i, value in problem.buffers.rules[kind.stated_by[0]].items():
                buffer = problem.buffers[i]
                for rules, pool in zip(pool_rules, problem.pools, strict=True):
                    rules.append((i, kind.offsets(value, buffer, pool)))
    return pool_rules


_FIELDS = sorted({name for kind in KINDS for name in kind.stated_by} & ProblemFields.model_fields.keys())
_OF_PROBLEM = attrgetter(*_FIELDS)
