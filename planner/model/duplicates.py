"""Ids that occur again."""

from __future__ import annotations

from collections.abc import Sequence


def repeated(ids: Sequence[int | str]) -> list[tuple[int, int]]:
    """Return (first position, later position) of every id that occurs again."""
    if len(set(ids)) == len(ids):
        return []
    seen: dict[int | str, int] = {}
    found = []
    for i, name in enumerate(ids):
        if name in seen:
            found.append((seen[name], i))
        else:
            seen[name] = i
    return found
