"""The capability `audit`: what is wrong with a plan of any origin, and how far it is from the best."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import Field

from memplan.capabilities.capability import Answer, Capability, CapabilityOptions, Control
from memplan.capabilities.inputs import EXAMPLE
from memplan.capabilities.plan.any_plan import ANY_PLAN, AUDITED_PROBLEM
from memplan.capabilities.verify import better as study
from memplan.capabilities.verify.better import TowerBuffer
from memplan.planner.errors import shown
from memplan.planner.model.plan import Ids, Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.violation import Violation

MOST_NAMED = 10
"""The buffers that a line names; JSON has all."""


class AuditOptions(CapabilityOptions):
    """Options of an audit."""

    with_better: bool = Field(False, description="Answer with the plan, too, that the fewest moves lead to.")


class AuditedPool(Answer):
    """A pool: its use and the best known, the buffers that end above that, and what the highest buffer stands on."""

    name: str
    used: int
    best: int | None
    above_line: Ids
    tower: tuple[TowerBuffer, ...]
    idle_in_tower: int


class FewestMoves(Answer):
    """The buffers that leave their places in a plan with the best peak; none has fewer if that is `proved`.

    `not_tried` is the reason why nothing looked for the fewest.
    """

    count: int
    moved: Ids
    at_least: int
    proved: bool
    not_tried: str | None = Field(None, exclude_if=lambda reason: reason is None)


class Audit(Answer):
    """An audit of a plan, in bytes; `gap` is the distance of its peak above the bound, as a part of the bound.

    `best` is the least peak found. What is not known is None: `peak` where buffers are not placed, `best` and moves
    where no plan was found, `better` where it was not asked for, too.
    """

    valid: bool
    violations: tuple[Violation, ...]
    peak: int | None
    best: int | None
    lower_bound: int | None
    gap: float | None
    too_much_bytes: int | None
    status: str
    pools: tuple[AuditedPool, ...]
    fewest_moves: FewestMoves | None
    better: Plan | None = None


def audit(problem: Problem, plan: Plan, options: AuditOptions = AuditOptions(), control: Control = Control()) -> Audit:
    """Audit a plan of any origin: its violations, bytes too much, what ends above the best peak and on what it stands.

    Nothing that the plan claims is believed. The fewest moves that lead to the best peak are found, too.
    """
    running = control.begun(options)
    found = study.audit(problem, plan, time_limit_s=running.left_s, control=running.searching())
    moves = found.moves
    return Audit.of(
        found,
        pools=tuple(AuditedPool.of(pool) for pool in found.pools),
        fewest_moves=None if moves is None else FewestMoves.of(moves, count=len(moves.moved)),
        better=found.better if options.with_better else None,
    )


def lines(found: Audit) -> Iterator[str]:
    """Yield the lines for people, one a fact."""
    if found.valid:
        yield "valid"
    for violation in found.violations[:MOST_NAMED]:
        yield f"not valid: {violation.rule}: {violation.message}"
    if len(found.violations) > MOST_NAMED:
        yield f"... and {len(found.violations) - MOST_NAMED:,} more violations"
    best = "unknown" if found.best is None else f"{found.best:,}"
    bound = "unknown" if found.lower_bound is None else f"{found.lower_bound:,}"
    peak = "unknown, as some buffers are not placed" if found.peak is None else f"{found.peak:,} bytes"
    gap = "" if found.gap is None else f", gap {found.gap:.2%}"
    yield f"peak {peak}; best {best}, lower bound {bound}{gap}"
    if found.too_much_bytes:
        yield f"{found.too_much_bytes:+,} bytes against the best plan found"
    for pool in found.pools:
        if pool.above_line:
            yield f"{pool.name}: {len(pool.above_line):,} buffers end above {pool.best:,}: {_named(pool.above_line)}"
        if pool.tower:
            idle = f"{pool.idle_in_tower:,} idle bytes between them"
            yield f"{pool.name}: the highest stands on {len(pool.tower) - 1:,} others, with {idle}"
            for row in pool.tower[:MOST_NAMED]:
                note = f", {row.idle_below:,} idle below" if row.idle_below else ""
                yield f"  {shown(row.id)} at {row.offset:,}, {row.bytes:,} bytes{note}"
    if (moves := found.fewest_moves) is not None and moves.moved:
        rule = "no fewer do" if moves.proved else f"at least {moves.at_least:,} must"
        yield f"{moves.count:,} moves reach the best peak ({rule}): {_named(moves.moved)}"
        if moves.not_tried is not None:
            yield f"not tried: {moves.not_tried}"


def _named(ids: tuple[int | str, ...]) -> str:
    more = f", and {len(ids) - MOST_NAMED:,} more" if len(ids) > MOST_NAMED else ""
    return ", ".join(shown(name) for name in ids[:MOST_NAMED]) + more


_PLACEMENTS = [{"id": "conv1", "pool": "default", "offset": 0}, {"id": "conv2", "pool": "default", "offset": 128}]
CAPABILITY = Capability(
    audit,
    inputs=(AUDITED_PROBLEM, ANY_PLAN),
    lines=lines,
    exit_status=lambda found: 0 if found.valid else 3,
    exits={0: "the plan is valid", 3: "it is not"},
    example={"problem": EXAMPLE, "plan": {"placements": _PLACEMENTS}},
)
