"""Checks in Markdown, for the summary of a build or a comment on a change."""

from __future__ import annotations

import re
from collections.abc import Iterable

from memplan.capabilities.check.check import Check
from memplan.capabilities.check.pools import CheckedPool
from memplan.capabilities.sizes import size_text
from memplan.planner.errors import shown

_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~&-])")
_MOST_CAUSES = 20


def markdown(*checks: Check) -> bytes:
    """Return what each check found: a line, a table of pools, and for each that grew a table of why."""
    return "\n".join(map(_section, checks)).encode()


def _section(check: Check) -> str:
    verdict = "within limits" if check.passed else "**not within limits**"
    parts = [f"## Memory of {_text(check.subject)}: {verdict}\n"]
    parts += [f"- {_text(failure.message)}\n" for failure in check.failures]
    if check.pools:
        parts.append("\n" + _pools(check.pools))
    for pool in check.pools:
        if pool.grown and pool.causes:
            parts.append("\n" + _causes(pool))
    if check.placements is not None:
        now = check.placements
        same, moved, new, gone = now.same, now.moved, now.new, now.gone
        parts.append(f"\nPlacements: {same:,} as before, {moved:,} moved, {new:,} new, {gone:,} gone.\n")
    return "".join(parts)


def _pools(pools: Iterable[CheckedPool]) -> str:
    rows = [["pool", "used", "budget", "before", "change", "lower bound", ""]]
    for pool in pools:
        change = "" if pool.growth is None else f"{pool.growth:+,}"
        is_wrong = pool.over_budget or pool.is_beyond_tolerance
        counts = (pool.used, pool.budget, pool.before)
        rows.append(
            [_text(pool.name), *map(_bytes, counts), change, _bytes(pool.lower_bound), "✗" if is_wrong else "✓"]
        )
    return _table(rows)


def _causes(pool: CheckedPool) -> str:
    causes, live = pool.causes or (), pool.live_set
    when = "" if live.time is None else f" at {live.time}"
    rows = [["buffer", "bytes more", "why", "size before", "size now"]]
    for cause in causes[:_MOST_CAUSES]:
        why = cause.kind.replace("-", " ")
        sizes = ("" if size is None else f"{size:,}" for size in (cause.before, cause.after))
        rows.append([_text(shown(cause.buffer)), f"{cause.bytes:+,}", why, *sizes])
    left = len(causes) - _MOST_CAUSES
    more = f"\nand {left:,} others.\n" if left > 0 else ""
    alive = f"{live.bytes:,} bytes are alive at the peak of {_text(pool.name)}{when}"
    return f"{alive}, {pool.live_bytes_before or 0:,} of the like before:\n\n{_table(rows)}{more}"


def _table(rows: list[list[str]]) -> str:
    rule = ["---", *["---:"] * (len(rows[0]) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (rows[0], rule, *rows[1:]))


def _bytes(count: int | None) -> str:
    if count is None:
        return ""
    return f"{count:,}" if count < 1024 else f"{count:,} ({size_text(count)})"


def _text(text: str) -> str:
    """Return a text that Markdown shows unchanged, in one line."""
    return _MARKUP.sub(r"\\\1", " ".join(text.split()))
