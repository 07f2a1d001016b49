"""The quick way from JSON to columns, for rows with nothing but an id, a size, one lifetime and maybe an alignment.

Most rows are such, and of some hundred of them, checking one by one is most of what reading them takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

_FIELDS = ("id", "size", "start", "end")


def plain_columns(rows: Sequence[Any]) -> tuple[tuple[Any, ...], ...] | None:
    """Return the columns id, size, start, end and, where the rows have one, alignment, of rows of JSON.

    The rows must have equal fields, the ids be ids, and the rest whole numbers; None for other rows.
    """
    first = rows[0] if rows else None
    if not isinstance(first, dict) or set(map(type, rows)) != {dict} or set(map(len, rows)) != {len(first)}:
        return None
    names = (*_FIELDS, "alignment") if "alignment" in first else _FIELDS
    if len(first) != len(names):
        return None
    try:
        ids, *numbers = zip(*map(itemgetter(*names), rows), strict=True)
    except KeyError:
        return None
    are_ids = set(map(type, ids)) <= {int, str} and "" not in ids
    are_numbers = all(set(map(type, column)) == {int} for column in numbers)
    return (ids, *numbers) if are_ids and are_numbers else None
