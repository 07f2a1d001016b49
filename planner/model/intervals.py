"""Lifetimes as intervals: conversion of inclusive ends to half-open ones, and merging of overlapping intervals."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from memplan.planner.errors import MAX_SHOWN, Break, Location, excerpt, raise_rules
from memplan.planner.model.rows import MAX_TIME, Buffer

Interval = Literal["half-open", "closed"]
"""What an end means: the first time after the lifetime (half-open), or its last time (closed)."""


def half_open(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a problem's fields with closed lifetimes converted to half-open ones.

    Only integer ends are converted; later checks report other ends. Raises ValidationError if a lifetime ends before it
    starts, or if the buffers are a table, which is already half-open.
    """
    rows = fields.get("buffers")
    if not isinstance(rows, (list, tuple)) or not all(isinstance(row, Mapping | Buffer) for row in rows):
        raise_rules((("interval",), "must be half-open unless the buffers are rows, got 'closed'"))
    breaks: list[Break] = []
    changed = []
    for i, row in enumerate(rows):
        row = row.model_dump(exclude_unset=True) if isinstance(row, Buffer) else row
        row_fields = dict(row)
        if is_time(row.get("end")):
            breaks += _closed_breaks(("buffers", i, "end"), row.get("start"), row["end"])
            row_fields["end"] = row["end"] + 1
        if isinstance(row.get("lifetimes"), (list, tuple)):
            row_fields["lifetimes"] = [[p[0], p[1] + 1] if _is_pair(p) else p for p in row["lifetimes"]]
            for k, pair in enumerate(row["lifetimes"]):
                if _is_pair(pair):
                    breaks += _closed_breaks(("buffers", i, "lifetimes", k, 1), *pair)
        changed.append(row_fields)
        if len(breaks) > MAX_SHOWN:
            break
    if breaks:
        raise_rules(*breaks[: MAX_SHOWN + 1])
    return {**fields, "interval": "half-open", "buffers": changed}


def handovers_of(start: npt.NDArray[np.int64], end: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], int]:
    """Return the suspicious handover times, which are empty unless they are frequent, and the number of birth times.

    A handover is a time t at which buffers are born although no older buffer is alive, and the last older buffer died
    at t or t - 1. Handovers are rare, because an operation's inputs are alive together with its outputs. They become
    frequent if inclusive ends are read as half-open. In about 110 problems from compilers, at most 2 of 153 birth times
    are handovers. With inclusive ends, from 1 in 20 up to all of them are, if the problem is sequential enough.
    """
    order = np.argsort(start, kind="stable")
    born, dead = start[order], np.maximum.accumulate(end[order])
    births = np.flatnonzero(born[1:] > born[:-1]) + 1
    last, now = dead[births - 1], born[births]
    handovers = now[(last <= now) & (last >= now - 1)]
    looks_inclusive = len(handovers) >= 3 and 20 * len(handovers) >= len(births)
    return handovers if looks_inclusive else handovers[:0], len(births)


def closed_rule(start: int, last: int) -> str | None:
    """Return the error sentence for an invalid closed lifetime; None if the lifetime is valid."""
    if last < start:
        return f"must be at least start ({start}), as ends are inclusive, got {last}"
    if last >= MAX_TIME:
        return f"must be less than {MAX_TIME}, as ends are inclusive, got {excerpt(last)}"
    return None


def is_time(value: object) -> bool:
    """Return True for an integer that is not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def _is_pair(value: object) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2 and all(map(is_time, value))


def _closed_breaks(where: Location, start: object, last: int) -> Iterator[Break]:
    rule = closed_rule(start if isinstance(start, int) else last, last)
    if rule is not None:
        yield where, rule


def merge_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return half-open intervals in ascending order, with overlapping and adjacent ones merged."""
    merged_spans: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged_spans and start <= merged_spans[-1][1]:
            merged_spans[-1] = merged_spans[-1][0], max(merged_spans[-1][1], end)
        else:
            merged_spans.append((start, end))
    return merged_spans
