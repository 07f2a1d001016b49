"""Totals over rows too numerous to count for each request: bytes stored by jobs, and jobs that have ended.

A transaction collects its changes and writes them last, in a fixed order, so that it waits for no other lock after
them. Each total is the sum of several rows, so that servers that write simultaneously rarely wait for each other.
"""

import secrets
from collections import Counter
from typing import Literal

from sqlalchemy import Connection, func, insert, literal, select

from memplan.api.store import schema
from memplan.api.store.writing import upsert_row

Kind = Literal["bytes", "ended"]
"""Kinds of totals: bytes stored by jobs, by the id of their key; and jobs that have ended, by their final state."""
_PARTS = 16
_NOTED = "memplan_noted"
_ROWS = schema.totals.c


def forget_changes(connection: Connection) -> None:
    """Forget changes that an earlier, rolled-back transaction of the connection had collected."""
    connection.info[_NOTED] = Counter()


def note_change(connection: Connection, kind: Kind, name: str | None, change: int) -> None:
    """Collect a change of a total, written when this transaction ends; `name` is None for jobs without a key."""
    connection.info[_NOTED][kind, name or ""] += change


def write_changes(connection: Connection) -> None:
    """Write the changes that this transaction has collected."""
    part = 0 if connection.dialect.name == "sqlite" else secrets.randbelow(_PARTS)
    for (kind, name), change in sorted(connection.info.pop(_NOTED).items()):
        if change:
            row = {"kind": kind, "name": name, "part": part, "value": change}
            upsert_row(connection, schema.totals, row, lambda added: {"value": _ROWS.value + added.value})


def total(connection: Connection, kind: Kind, name: str | None) -> int:
    """Return the total of a kind for one name (None for jobs without a key), including this transaction's changes."""
    return totals(connection, kind, name or "").get(name or "", 0)


def totals(connection: Connection, kind: Kind, name: str | None = None) -> dict[str, int]:
    """Return the totals of a kind by name, or only that of the given name, largest first.

    The changes that this transaction has collected are included.
    """
    wanted = select(_ROWS.name, func.sum(_ROWS.value)).where(_ROWS.kind == kind).group_by(_ROWS.name)
    wanted = wanted if name is None else wanted.where(_ROWS.name == name)
    found = Counter({key: int(value) for key, value in connection.execute(wanted)})
    for (its_kind, its_name), change in connection.info.get(_NOTED, {}).items():
        if its_kind == kind and name in (None, its_name):
            found[its_name] += change
    return dict(found.most_common())


def recount(connection: Connection) -> None:
    """Compute the totals of stored bytes from all jobs, if their table is empty."""
    if connection.execute(select(_ROWS.name).where(_ROWS.kind == "bytes").limit(1)).first() is None:
        jobs = schema.jobs.c
        kept = select(literal("bytes"), func.coalesce(jobs.key_id, ""), literal(0), func.sum(jobs.bytes))
        names = ["kind", "name", "part", "value"]
        connection.execute(insert(schema.totals).from_select(names, kept.group_by(jobs.key_id)))
