"""Totals over rows that are too many to count each time: the bytes that jobs keep, and the jobs that have ended.

A transaction notes its changes and writes them at its end, in a fixed order, so that it waits for no other lock after
them. Each total is the sum of some rows, so that servers that write at once rarely wait for each other.
"""

from __future__ import annotations

import secrets
from collections import Counter
from typing import Literal

from sqlalchemy import Connection, func, insert, literal, select

from memplan.api.store import schema
from memplan.api.store.writing import put

Kind = Literal["bytes", "ended"]
"""The kinds of totals: bytes kept by the jobs of a key, by its id; jobs that ever ended in a state, by its name."""
_PARTS = 16
_NOTED = "memplan_noted"
_ROWS = schema.totals.c


def begin(connection: Connection) -> None:
    """Drop the changes that an earlier transaction of the connection noted and rolled back."""
    connection.info[_NOTED] = Counter()


def note(connection: Connection, kind: Kind, name: str | None, change: int) -> None:
    """Note a change of a total, to be written at the end of this transaction; None is the name without a key."""
    connection.info[_NOTED][kind, name or ""] += change


def settle(connection: Connection) -> None:
    """Write the changes that this transaction has noted."""
    part = 0 if connection.dialect.name == "sqlite" else secrets.randbelow(_PARTS)
    for (kind, name), change in sorted(connection.info.pop(_NOTED).items()):
        if change:
            row = {"kind": kind, "name": name, "part": part, "value": change}
            put(connection, schema.totals, row, lambda added: {"value": _ROWS.value + added.value})


def total(connection: Connection, kind: Kind, name: str | None) -> int:
    """Return a total, with the changes that this transaction has noted."""
    return totals(connection, kind, name or "").get(name or "", 0)


def totals(connection: Connection, kind: Kind, name: str | None = None) -> dict[str, int]:
    """Return all totals of a kind, or that of a name, the largest first, with the changes noted in this transaction."""
    wanted = select(_ROWS.name, func.sum(_ROWS.value)).where(_ROWS.kind == kind).group_by(_ROWS.name)
    wanted = wanted if name is None else wanted.where(_ROWS.name == name)
    found = Counter({key: int(value) for key, value in connection.execute(wanted)})
    for (its_kind, its_name), change in connection.info.get(_NOTED, {}).items():
        if its_kind == kind and name in (None, its_name):
            found[its_name] += change
    return dict(found.most_common())


def recount(connection: Connection) -> None:
    """Compute the totals of kept bytes from the jobs if there are none, as after the table was dropped."""
    if connection.execute(select(_ROWS.name).where(_ROWS.kind == "bytes").limit(1)).first() is None:
        jobs = schema.jobs.c
        kept = select(literal("bytes"), func.coalesce(jobs.key_id, ""), literal(0), func.sum(jobs.bytes))
        names = ["kind", "name", "part", "value"]
        connection.execute(insert(schema.totals).from_select(names, kept.group_by(jobs.key_id)))
