"""The difference between two plans: buffers added, removed, changed or moved (with reasons), and peak growth."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, TypeVar

from pydantic import ConfigDict, Field

from memplan.planner.errors import excerpt
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import Id
from memplan.planner.verify.peak_growth import Cause, growths
from memplan.planner.verify.placed import PlacedBuffers
from memplan.questions.check.moves import MoveReasons, Reason
from memplan.questions.plan.baseline import Baseline
from memplan.questions.question import Answer

MOST_LINES = 50
"""The maximum number of moves listed as text; JSON lists all moves."""
_MOST_CAUSES = 1000
"""The maximum number of causes listed for a pool's growth; the bytes of all further causes are summed up."""
_NOT_REACHED = "the time was over before its old place was examined"
Lifetimes = tuple[tuple[int, int], ...]
Value = TypeVar("Value")


class _Row(Answer):
    model_config = ConfigDict(frozen=True, populate_by_name=True)


class Resized(_Row):
    """A buffer whose size changed."""

    id: Id
    """The name of the buffer."""
    before: int = Field(alias="from")
    """The old size, in bytes."""
    after: int = Field(alias="to")
    """The new size, in bytes."""


class OtherLifetime(_Row):
    """A buffer whose lifetimes changed."""

    id: Id
    """The name of the buffer."""
    before: tuple[tuple[int, int], ...] = Field(alias="from")
    """The old lifetimes, as half-open ranges of time steps, such as [[0, 3]]."""
    after: tuple[tuple[int, int], ...] = Field(alias="to")
    """The new lifetimes, in the same form."""


class Moved(_Row):
    """A buffer that moved."""

    id: Id
    """The name of the buffer."""
    before: int = Field(alias="from")
    """The old offset, in bytes."""
    after: int = Field(alias="to")
    """The new offset, in bytes."""
    bytes: int | None
    """The size of the buffer; null if the problem of the new plan is unknown."""
    from_pool: str | None = None
    """The old pool; null if the pool is the same."""
    to_pool: str | None = None
    """The new pool; null if the pool is the same."""
    reason: Reason
    """Why it does not keep its old place: `pool` (the new plan chose another pool), `rule` (the old place breaks a rule
    of the new problem), `taken` (another buffer occupies it), `above` (it ends above the bytes that the new plan uses),
    `free` (it is free), or `unknown` (the problem is unknown, or the time was over)."""
    why: str | None
    """A sentence about the old place; null if the problem is unknown."""


class PoolChange(_Row):
    """The use of a pool by two plans."""

    name: str
    """The name of the pool."""
    before: int | None = Field(alias="from")
    """The bytes that the old plan uses; null if that is unknown."""
    after: int | None = Field(alias="to")
    """The bytes that the new plan uses; null if that is unknown."""


class PoolGrowth(Answer):
    """The growth of a pool's peak."""

    used_before: int | None
    """The bytes that the old plan uses; null if its problem lacks the pool."""
    used: int
    """The bytes that the new plan uses."""
    live_before: int
    """The bytes that are alive in the old problem at `time_before`."""
    live: int
    """The most bytes that are alive at once in the new problem."""
    time_before: int | None
    """The old time step at which most of the buffers of the new peak are alive; null if there are no times."""
    time: int | None
    """The first time step at which `live` bytes are alive; null without lifetimes."""
    causes: tuple[Cause, ...]
    """The buffers that explain `live` - `live_before`, by decreasing bytes; at most 1,000."""
    rest: int
    """The bytes of all further causes."""


class Difference(Answer):
    """The difference between two plans. Sizes and lifetimes are unknown if the problem of a plan is."""

    added: tuple[Id, ...]
    """The buffers that only the new plan places."""
    removed: tuple[Id, ...]
    """The buffers that only the old plan places."""
    resized: tuple[Resized, ...] | None
    """The buffers whose size changed; null if that is unknown."""
    lifetime: tuple[OtherLifetime, ...] | None
    """The buffers whose lifetimes changed; null if that is unknown."""
    moved: tuple[Moved, ...]
    """The buffers whose pool or offset changed, without aliases and buffers of size 0."""
    stayed: int
    """The number of buffers that kept their pool and offset, counted like `moved`."""
    moved_bytes: int | None
    """The sum of the sizes of the moved buffers, in bytes; null if the problem of the new plan is unknown."""
    least_moves: int | None = None
    """The new plan's claim how much moves at least, in the unit of `least`; null if it did not keep places."""
    least: Literal["buffers", "bytes"] | None = None
    """What the new plan minimised: the number of moved `buffers`, or their `bytes`; null if it did not keep places."""
    proved: bool | None = None
    """True if the new plan is proved to move the least; null if it did not keep places."""
    peak_before: int | None
    """The peak of the old plan, in bytes; null if it is unknown."""
    peak: int | None
    """The peak of the new plan, in bytes; null if it is unknown."""
    peak_without_keeping: int | None = None
    """The peak in bytes of the best plan found without regard to old places; null if the new plan did not keep
    places."""
    eps: float | None = None
    """How far the new plan's peak was allowed to exceed this best peak, such as 0.02 for 2 %; null if it did not keep
    places."""
    pools: tuple[PoolChange, ...]
    """The use of each pool by both plans."""
    growth: dict[str, PoolGrowth] | None = None
    """The growth of each pool's peak, by the pool's name; null unless both plans are valid and their problems are
    known."""


_OF_KEPT = ("least_moves", "least", "proved", "peak_without_keeping", "eps")


def difference_of(before: Baseline, after: Baseline, is_over: Callable[[], bool] = lambda: False) -> Difference:
    """Return the difference between two plans, each with its problem if known; buffers are matched by id.

    Once `is_over()` is true, the remaining moves get the reason `unknown`. Zero-size buffers and aliases count neither
    as moved nor as stayed, since an alias follows the buffer that contains it.
    """
    old, new = before.plan.placements, after.plan.placements
    both = None if before.problem is None or after.problem is None else (before.problem, after.problem)
    moved = tuple(_moved_buffers(old, new, after.problem, is_over))
    common = [name for name in new.ids if name in old.row_of and _can_move(after.problem, name)]
    used = _pool_uses(before.plan, before.problem), _pool_uses(after.plan, after.problem)
    places = after.plan.kept
    return Difference(
        added=tuple(name for name in new.ids if name not in old.row_of),
        removed=tuple(name for name in old.ids if name not in new.row_of),
        resized=None if both is None else tuple(Resized(**row) for row in _changed_values(*both, _size_of)),
        lifetime=None if both is None else tuple(OtherLifetime(**row) for row in _changed_values(*both, _lifetimes_of)),
        moved=moved,
        stayed=len(common) - len(moved),
        moved_bytes=None if after.problem is None else sum(move.bytes or 0 for move in moved),
        peak_before=_known_peak(before.plan, used[0]),
        peak=_known_peak(after.plan, used[1]),
        pools=tuple(
            PoolChange(name=name, before=used[0].get(name), after=used[1].get(name))
            for name in dict.fromkeys((*used[0], *used[1]))
        ),
        growth=_growth_by_pool(before, after),
        **({} if places is None else {name: getattr(places, name) for name in _OF_KEPT}),
    )


def _known_peak(plan: Plan, used: Mapping[str, int]) -> int | None:
    """Return the plan's peak, or else the sum of its pools' used bytes; None if neither is known."""
    return plan.peak if plan.peak is not None else sum(used.values()) if used else None


def _pool_uses(plan: Plan, problem: Problem | None) -> dict[str, int]:
    if problem is None or not len(plan.placements):
        return {pool.name: pool.used for pool in plan.pools if pool.used is not None}
    return PlacedBuffers.from_placements(problem, plan.placements).pool_uses()


def _can_move(problem: Problem | None, name: Id) -> bool:
    if problem is None:
        return True
    i = problem.index.get(name)
    return i is not None and i not in problem.buffers.aliases and int(problem.buffers.size[i]) > 0


def _changed_values(old: Problem, new: Problem, of: Callable[[Problem, int], Value]) -> Iterator[dict[str, Any]]:
    for i, name in enumerate(new.buffers.ids):
        j = old.index.get(name)
        if j is not None and (before := of(old, j)) != (after := of(new, i)):
            yield {"id": name, "before": before, "after": after}


def _size_of(problem: Problem, i: int) -> int:
    return int(problem.buffers.size[i])


def _lifetimes_of(problem: Problem, i: int) -> Lifetimes:
    return tuple(problem.buffers.intervals(i))


def _moved_buffers(
    before: PlacementTable, after: PlacementTable, problem: Problem | None, is_over: Callable[[], bool]
) -> Iterator[Moved]:
    """Yield the buffers whose pool or offset differs between two plans, in the order of the new plan."""
    reasons = None
    for row in after:
        k = before.row_of.get(row.id)
        if k is None or not _can_move(problem, row.id):
            continue
        old = before[k]
        if (old.pool, old.offset) == (row.pool, row.offset):
            continue
        reason: Reason = "unknown"
        why, size = "", None
        if problem is not None:
            i, why = problem.index[row.id], _NOT_REACHED
            size = int(problem.buffers.size[i])
            if not is_over():
                reasons = reasons or MoveReasons(problem, Plan(placements=before), after)
                reason, why = reasons.reason_of(i)
        pools = (old.pool, row.pool) if old.pool != row.pool else (None, None)
        yield Moved(
            id=row.id,
            before=old.offset,
            after=row.offset,
            bytes=size,
            from_pool=pools[0],
            to_pool=pools[1],
            reason=reason,
            why=why or None,
        )


def _growth_by_pool(before: Baseline, after: Baseline) -> dict[str, PoolGrowth] | None:
    """Return the growth of each pool's peak with its causes, largest first; None if a plan's problem is unknown."""
    then, now = before.occupancies, after.occupancies
    if then is None or now is None:
        return None
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


def lines_of_difference(found: Difference) -> Iterator[str]:
    """Yield the text lines of a difference between two plans, one line for each fact."""
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
            yield f"{word} {excerpt(name)}"
    for row in (found.resized or ())[:MOST_LINES]:
        yield f"resized {excerpt(row.id)}: {row.before:,} -> {row.after:,} bytes"
    for life in (found.lifetime or ())[:MOST_LINES]:
        yield f"lifetime {excerpt(life.id)}: {_intervals_text(life.before)} -> {_intervals_text(life.after)}"
    for move in found.moved[:MOST_LINES]:
        pools = "" if move.from_pool is None else f" of {move.from_pool} to {move.to_pool}"
        yield f"moved {excerpt(move.id)}: {move.before:,} -> {move.after:,}{pools}{f': {move.why}' if move.why else ''}"
    if len(found.moved) > MOST_LINES:
        yield f"... and {len(found.moved) - MOST_LINES:,} more moved"


def _intervals_text(intervals: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"{start}:{end}" for start, end in intervals) or "none"
