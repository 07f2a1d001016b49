"""Differences of plans, as JSON has them and as lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from memplan.planner.errors import shown
from memplan.solvers.studies.replanning.diff import PlanDiff

MOST_LINES = 50
"""The moves that are listed for people; JSON has all."""


def facts(found: PlanDiff) -> dict[str, Any]:
    """Return a difference as JSON has it."""
    kept = found.kept
    return {
        "diff": {
            "added": found.added,
            "removed": found.removed,
            "resized": _changes(found.resized),
            "lifetime": _changes(found.lifetime),
            "moved": [_move(found, k) for k in range(len(found.moved))],
            "stayed": found.stayed,
            "moved_bytes": found.moved_bytes,
            "least_moves": None if kept is None else kept.least_moves,
            "proved": None if kept is None else kept.proved,
            "peak_before": found.peak_before,
            "peak": found.peak,
            "peak_without_keeping": None if kept is None else kept.peak_without_keeping,
            "eps": None if kept is None else kept.eps,
            "pools": [{"name": name, "from": was, "to": now} for name, (was, now) in found.pools.items()],
        }
    }


def _changes(rows: Any) -> list[dict[str, Any]] | None:
    return None if rows is None else [{"id": row.id, "from": row.before, "to": row.after} for row in rows]


def _move(found: PlanDiff, k: int) -> dict[str, Any]:
    move = found.moved[k]
    row: dict[str, Any] = {"id": move.id, "from": move.before, "to": move.after, "bytes": move.bytes}
    if move.pool_before != move.pool_after:
        row |= {"from_pool": move.pool_before, "to_pool": move.pool_after}
    return row | {"reason": move.reason, "why": move.why or None}


def lines(found: PlanDiff) -> Iterator[str]:
    """Write a difference for people, one line a fact."""
    before, after = (f"{peak:,}" if peak is not None else "unknown" for peak in (found.peak_before, found.peak))
    change = ""
    if found.peak is not None and found.peak_before is not None:
        change = f" ({found.peak - found.peak_before:+,})"
    yield f"peak {before} -> {after} bytes{change}"
    size = "" if found.moved_bytes is None else f", {found.moved_bytes:,} bytes"
    yield f"moved {len(found.moved):,}{size}; stayed {found.stayed:,}"
    if (kept := found.kept) is not None:
        least = "bytes" if kept.least == "bytes" else "buffers"
        rule = "fewest" if kept.proved else f"at least {kept.least_moves:,} {least} move in any plan"
        yield f"kept within {kept.eps:.2%} of the best peak: {rule}{', proved' if kept.proved else ''}"
    for word, ids in (("added", found.added), ("removed", found.removed)):
        for name in ids[:MOST_LINES]:
            yield f"{word} {shown(name)}"
    for row in (found.resized or ())[:MOST_LINES]:
        yield f"resized {shown(row.id)}: {row.before:,} -> {row.after:,} bytes"
    for life in (found.lifetime or ())[:MOST_LINES]:
        yield f"lifetime {shown(life.id)}: {_times(life.before)} -> {_times(life.after)}"
    for move in found.moved[:MOST_LINES]:
        pools = "" if move.pool_before == move.pool_after else f" of {move.pool_before} to {move.pool_after}"
        yield f"moved {shown(move.id)}: {move.before:,} -> {move.after:,}{pools}{f': {move.why}' if move.why else ''}"
    if len(found.moved) > MOST_LINES:
        yield f"... and {len(found.moved) - MOST_LINES:,} more moved"


def _times(intervals: tuple[tuple[int, int], ...]) -> str:
    return ", ".join(f"{start}:{end}" for start, end in intervals) or "none"
