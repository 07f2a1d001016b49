"""Audits of plans, as JSON has them and as lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from memplan.planner.errors import shown
from memplan.solvers.studies.audit.audit import PlanAudit, PoolAudit

MOST_NAMED = 10
"""The buffers that a line names; JSON has all."""


def facts(found: PlanAudit) -> dict[str, Any]:
    """Return an audit as JSON has it."""
    moves = found.moves
    return {
        "audit": {
            "valid": found.valid,
            "violations": [asdict(entry) for entry in found.violations],
            "peak": found.peak,
            "best": found.best,
            "lower_bound": found.lower_bound,
            "gap": found.gap,
            "too_much_bytes": found.too_much_bytes,
            "status": found.status,
            "pools": [_pool(pool) for pool in found.pools],
            "fewest_moves": None
            if moves is None
            else {
                "count": len(moves.moved),
                "moved": moves.moved,
                "at_least": moves.at_least,
                "proved": moves.proved,
            },
        }
    }


def _pool(pool: PoolAudit) -> dict[str, Any]:
    return {
        "name": pool.name,
        "used": pool.used,
        "best": pool.best,
        "above_line": pool.above_line,
        "tower": [asdict(row) for row in pool.tower],
        "idle_in_tower": pool.idle_in_tower,
    }


def lines(found: PlanAudit) -> Iterator[str]:
    """Write an audit for people, one line a fact."""
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
    if (moves := found.moves) is not None and moves.moved:
        rule = "no fewer do" if moves.proved else f"at least {moves.at_least:,} must"
        yield f"{len(moves.moved):,} moves reach the best peak ({rule}): {_named(moves.moved)}"


def _named(ids: tuple[int | str, ...]) -> str:
    more = f", and {len(ids) - MOST_NAMED:,} more" if len(ids) > MOST_NAMED else ""
    return ", ".join(shown(name) for name in ids[:MOST_NAMED]) + more
