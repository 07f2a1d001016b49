"""The capability `diff`: what came, went, changed and moved between two plans, and what made the peaks grow."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from typing import Literal

from pydantic import ConfigDict, Field

from memplan.capabilities.capability import Answer, Capability, CapabilityOptions, Control
from memplan.capabilities.check import changes as study
from memplan.capabilities.check.changes import Reason
from memplan.capabilities.inputs import PlanAndProblem, problem_subject
from memplan.capabilities.plan.baseline import (
    Baseline,
    as_baseline,
    baseline_problem,
    read_baseline_field,
    read_baseline_parts,
)
from memplan.capabilities.question import Input, Subject
from memplan.planner.audit import verify
from memplan.planner.errors import shown
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Id
from memplan.planner.peak_growth import Cause, growths, occupancies

MOST_LINES = 50
"""The moves that are listed for people; JSON has all."""
_MOST_CAUSES = 1000
"""The causes of a pool's growth that are listed."""


class _Row(Answer):
    model_config = ConfigDict(frozen=True, populate_by_name=True)


class Resized(_Row):
    """A buffer of another size than before, in bytes."""

    id: Id
    before: int = Field(alias="from")
    after: int = Field(alias="to")


class OtherLifetime(_Row):
    """A buffer that lives at other times than before, half-open."""

    id: Id
    before: tuple[tuple[int, int], ...] = Field(alias="from")
    after: tuple[tuple[int, int], ...] = Field(alias="to")


class Moved(_Row):
    """A buffer of both plans that lies elsewhere; `why` is a sentence about its old place; pools where they differ."""

    id: Id
    before: int = Field(alias="from")
    after: int = Field(alias="to")
    bytes: int | None
    from_pool: str | None = None
    to_pool: str | None = None
    reason: Reason
    why: str | None


class PoolChange(_Row):
    """The use of a pool in both plans, in bytes."""

    name: str
    before: int | None = Field(alias="from")
    after: int | None = Field(alias="to")


class PoolGrowth(Answer):
    """The growth of a pool's peak: bytes used and alive, the times, and the causes; `rest` are the bytes of others."""

    used_before: int | None
    used: int
    live_before: int
    live: int
    time_before: int | None
    time: int | None
    causes: tuple[Cause, ...]
    rest: int


class Difference(Answer):
    """The difference of two plans, in bytes. What is not known is None: sizes and lifetimes without the problems.

    `least_moves`, `least`, `proved`, `peak_without_keeping` and `eps` are what the new plan says of keeping places.
    `growth` has the causes for each pool, where both plans are valid for problems that are known.
    """

    added: tuple[Id, ...]
    removed: tuple[Id, ...]
    resized: tuple[Resized, ...] | None
    lifetime: tuple[OtherLifetime, ...] | None
    moved: tuple[Moved, ...]
    stayed: int
    moved_bytes: int | None
    least_moves: int | None = None
    least: Literal["buffers", "bytes"] | None = None
    proved: bool | None = None
    peak_before: int | None
    peak: int | None
    peak_without_keeping: int | None = None
    eps: float | None = None
    pools: tuple[PoolChange, ...]
    growth: dict[str, PoolGrowth] | None = None


def diff(
    old: Plan | Baseline,
    new: Plan | Baseline,
    old_problem: Problem | None = None,
    new_problem: Problem | None = None,
    options: CapabilityOptions = CapabilityOptions(),
    control: Control = Control(),
) -> Difference:
    """Compare two plans: buffers added, removed, resized and moved, with reasons, and what made the peaks grow.

    Sizes, lifetimes and reasons are known where the problems are: a table holds its own.
    """
    before, after = as_baseline(old, old_problem), as_baseline(new, new_problem)
    found = study.diff(before.plan, after.plan, old_problem=before.problem, new_problem=after.problem)
    return Difference.of(
        found,
        found.kept,
        resized=None if found.resized is None else tuple(map(Resized.of, found.resized)),
        lifetime=None if found.lifetime is None else tuple(map(OtherLifetime.of, found.lifetime)),
        moved=tuple(map(_moved, found.moved)),
        pools=tuple(PoolChange(name=name, before=was, after=now) for name, (was, now) in found.pools.items()),
        growth=_growth(before, after),
    )


def _moved(move: study.Move) -> Moved:
    is_elsewhere = move.pool_before != move.pool_after
    return Moved.of(
        move,
        from_pool=move.pool_before if is_elsewhere else None,
        to_pool=move.pool_after if is_elsewhere else None,
        why=move.why or None,
    )


def _growth(before: Baseline, after: Baseline) -> dict[str, PoolGrowth] | None:
    """Return the causes of each pool's growth, the largest first; None where a plan is not one of a known problem."""
    if before.problem is None or after.problem is None:
        return None
    if verify(before.problem, before.plan) or verify(after.problem, after.plan):
        return None
    then, now = occupancies(before.problem, before.plan), occupancies(after.problem, after.plan)
    return {
        name: PoolGrowth(
            used_before=then[name].used if name in then else None,
            used=now[name].used,
            live_before=grown.bytes_before,
            live=grown.now.bytes,
            time_before=grown.time_before,
            time=grown.now.time,
            causes=grown.causes[:_MOST_CAUSES],
            rest=sum(cause.bytes for cause in grown.causes[_MOST_CAUSES:]),
        )
        for name, grown in growths(now, then).items()
    }


def lines(found: Difference) -> Iterator[str]:
    """Yield the lines for people, one a fact."""
    before, after = (f"{peak:,}" if peak is not None else "unknown" for peak in (found.peak_before, found.peak))
    change = ""
    if found.peak is not None and found.peak_before is not None:
        change = f" ({found.peak - found.peak_before:+,})"
    yield f"peak {before} -> {after} bytes{change}"
    size = "" if found.moved_bytes is None else f", {found.moved_bytes:,} bytes"
    yield f"moved {len(found.moved):,}{size}; stayed {found.stayed:,}"
    if found.eps is not None:
        rule = "fewest" if found.proved else f"at least {found.least_moves:,} {found.least} move in any plan"
        yield f"kept within {found.eps:.2%} of the best peak: {rule}{', proved' if found.proved else ''}"
    for word, ids in (("added", found.added), ("removed", found.removed)):
        for name in ids[:MOST_LINES]:
            yield f"{word} {shown(name)}"
    for row in (found.resized or ())[:MOST_LINES]:
        yield f"resized {shown(row.id)}: {row.before:,} -> {row.after:,} bytes"
    for life in (found.lifetime or ())[:MOST_LINES]:
        yield f"lifetime {shown(life.id)}: {_times(life.before)} -> {_times(life.after)}"
    for move in found.moved[:MOST_LINES]:
        pools = "" if move.from_pool is None else f" of {move.from_pool} to {move.to_pool}"
        yield f"moved {shown(move.id)}: {move.before:,} -> {move.after:,}{pools}{f': {move.why}' if move.why else ''}"
    if len(found.moved) > MOST_LINES:
        yield f"... and {len(found.moved) - MOST_LINES:,} more moved"


def _times(intervals: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"{start}:{end}" for start, end in intervals) or "none"


def _subject(of: Baseline) -> Subject:
    if of.problem is not None:
        return problem_subject(of.problem)
    digest = sha256(of.plan.model_dump_json().encode()).hexdigest()
    return Subject(f"sha256:{digest}", None, len(of.plan.placements))


def _side(name: Literal["old", "new"]) -> Input[Baseline]:
    return Input(
        name,
        Plan | PlanAndProblem,
        lambda value: read_baseline_field(value, name),
        Baseline.as_json,
        "A plan, JSON or CSV, or a baseline that holds problem and plan; or -.",
        from_file=lambda _, data, file, question: read_baseline_parts(data, file, question.get(f"{name}_problem")),
        subject=_subject,
        reads_last=True,
    )


_BUFFERS = [{"id": "conv1", "size": 64, "start": 0, "end": 3}]
_OLD, _NEW = (
    {"problem": {"buffers": _BUFFERS}, "plan": {"placements": [{"id": "conv1", "pool": "default", "offset": at}]}}
    for at in (64, 0)
)
CAPABILITY = Capability(
    diff,
    inputs=(
        _side("old"),
        _side("new"),
        baseline_problem("old_problem", "an old plan"),
        baseline_problem("new_problem", "a new plan"),
    ),
    lines=lines,
    exit_status=lambda found: 1 if found.moved or found.added or found.removed else 0,
    exits={0: "nothing moved, came or went", 1: "something did"},
    status=lambda _: None,
    example={"old": _OLD, "new": _NEW},
)
