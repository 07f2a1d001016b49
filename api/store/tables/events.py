"""The events of jobs, in order."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, insert, select

from memplan.api.store import schema
from memplan.api.store.database import Database

Kind = Literal["queued", "started", "better", "progress", "retried", "finished"]


@dataclass(frozen=True)
class StoredEvent:
    """The `seq`-th event of a job, counted from 1."""

    seq: int
    kind: Kind
    at: float
    data: Mapping[str, Any]


class Events:
    """The table of events; each call is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def after(self, job_id: str, seq: int, most: int = 500) -> list[StoredEvent]:
        """Return the events of a job after the `seq`-th, at most `most` of them."""
        rows = schema.job_events.c
        wanted = select(rows.seq, rows.kind, rows.at, rows.data).where(rows.job_id == job_id, rows.seq > seq)
        with self._database.reading() as connection:
            return [StoredEvent(**row._mapping) for row in connection.execute(wanted.order_by(rows.seq).limit(most))]

    def last(self, job_ids: Collection[str]) -> dict[str, int]:
        """Return the number of the last event of each of these jobs that exists."""
        rows = schema.jobs.c
        with self._database.reading() as connection:
            wanted = select(rows.id, rows.last_event).where(rows.id.in_(job_ids))
            return {row.id: row.last_event for row in connection.execute(wanted)}


def tell(connection: Connection, job_id: str, last: int, *told: tuple[Kind, Mapping[str, Any]]) -> None:
    """Write events of which the last has the number `last`, which the job's row has been given in this transaction."""
    now, first = time.time(), last - len(told) + 1
    rows: Sequence[Mapping[str, Any]] = [
        {"job_id": job_id, "seq": first + k, "kind": kind, "at": now, "data": dict(data)}
        for k, (kind, data) in enumerate(told)
    ]
    connection.execute(insert(schema.job_events), rows)
