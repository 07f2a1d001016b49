"""Lifetimes as intervals: inclusive ones are made half-open on reading; overlapping ones can be merged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

from memplan.planner.errors import MAX_SHOWN, Location, broken, shown
from memplan.planner.model.rows import MAX_TIME, Buffer

Interval = Literal["half-open", "closed"]
"""The meaning of an end: the first time after a lifetime, or the last time in it."""


def half_open(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields of a problem with `interval` closed, converted to half-open lifetimes.

    Only ends that are integers are changed: what is wrong with others is reported later. Raises a break of the rules
    where a lifetime ends before it starts, or where buffers are a table, which is half-open already.
    """
    rows = fields.get("buffers")
    if not isinstance(rows, (list, tuple)) or not all(isinstance(row, Mapping | Buffer) for row in rows):
        broken((("interval",), "must be half-open where the buffers are no rows, got 'closed'"))
    breaks: list[tuple[Location, str]] = []
    changed = []
    for i, row in enumerate(rows):
        row = row.model_dump(exclude_unset=True) if isinstance(row, Buffer) else row
        row_fields = dict(row)
        if is_time(row.get("end")):
            breaks += _wrong(("buffers", i, "end"), row.get("start"), row["end"])
            row_fields["end"] = row["end"] + 1
        if isinstance(row.get("lifetimes"), (list, tuple)):
            row_fields["lifetimes"] = [_after(pair) for pair in row["lifetimes"]]
            for k, pair in enumerate(row["lifetimes"]):
                if _is_pair(pair):
                    breaks += _wrong(("buffers", i, "lifetimes", k, 1), *pair)
        changed.append(row_fields)
        if len(breaks) > MAX_SHOWN:
            break
    if breaks:
        broken(*breaks[: MAX_SHOWN + 1])
    return {**fields, "interval": "half-open", "buffers": changed}


def closed_rule(start: int, last: int) -> str | None:
    """Return the sentence about an invalid closed lifetime, or None."""
    if last < start:
        return f"must be at least start ({start}), as ends are inclusive, got {last}"
    if last >= MAX_TIME:
        return f"must be less than {MAX_TIME}, as ends are inclusive, got {shown(last)}"
    return None


def is_time(value: object) -> bool:
    """Return True for an integer that is not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_pair(value: object) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(map(is_time, value))


def _after(pair: Any) -> Any:
    return [pair[0], pair[1] + 1] if _is_pair(pair) else pair


def _wrong(where: Location, start: object, last: int) -> Iterator[tuple[Location, str]]:
    rule = closed_rule(start if isinstance(start, int) else last, last)
    if rule is not None:
        yield where, rule


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return half-open intervals in ascending order, merged where they overlap or touch."""
    merged_spans: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged_spans and start <= merged_spans[-1][1]:
            merged_spans[-1] = merged_spans[-1][0], max(merged_spans[-1][1], end)
        else:
            merged_spans.append((start, end))
    return merged_spans
