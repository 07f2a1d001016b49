"""The table of job events, numbered per job."""

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from memplan.api.store import schema
from memplan.api.store.database import Database
from memplan.api.store.job import ENDED, MEANINGS, State, WorkAnswer
from memplan.api.store.totals import note_change
from memplan.api.store.writing import wake_workers

_ANSWER = select(func.length(schema.answers.c.content)).where(schema.answers.c.job_id == schema.jobs.c.id)
ANSWER_BYTES = func.coalesce(_ANSWER.correlate(schema.jobs).scalar_subquery(), 0)
"""The SQL expression for the bytes of a job's best answer, which count as stored once the job has ended."""
Kind = Literal["queued", "started", "better", "progress", "retried", "finished"]


@dataclass(frozen=True)
class StoredEvent:
    """An event of a job; `seq` is its number within the job, counted from 1."""

    seq: int
    kind: Kind
    at: float
    data: Mapping[str, Any]


class Events:
    """The table of job events; each method runs in one transaction."""

    def __init__(self, database: Database) -> None:
        """Use the table in this database."""
        self._database = database

    def events_after(self, job_id: str, seq: int, most: int = 500) -> list[StoredEvent]:
        """Return the first events of a job, at most `most`, whose numbers are greater than `seq`."""
        rows = schema.job_events.c
        wanted = select(rows.seq, rows.kind, rows.at, rows.data).where(rows.job_id == job_id, rows.seq > seq)
        with self._database.reading() as connection:
            return [StoredEvent(**row._mapping) for row in connection.execute(wanted.order_by(rows.seq).limit(most))]

    def last_numbers(self, job_ids: Collection[str]) -> dict[str, int]:
        """Return the last event number of each of these jobs by id; jobs that do not exist are left out."""
        rows = schema.jobs.c
        with self._database.reading() as connection:
            wanted = select(rows.id, rows.last_event).where(rows.id.in_(job_ids))
            return {row.id: row.last_event for row in connection.execute(wanted)}


def write_events(connection: Connection, job_id: str, last: int, *told: tuple[Kind, Mapping[str, Any]]) -> None:
    """Write events (kind, data) of a job; the last one gets the number `last`, already set in the job's row."""
    now, first = time.time(), last - len(told) + 1
    rows: Sequence[Mapping[str, Any]] = [
        {"job_id": job_id, "seq": first + k, "kind": kind, "at": now, "data": dict(data)}
        for k, (kind, data) in enumerate(told)
    ]
    connection.execute(insert(schema.job_events), rows)
    if any(kind in ("queued", "retried") for kind, _ in told):
        wake_workers(connection)


def change_state(
    connection: Connection, after: State, which: ColumnElement[bool], reason: str | None = None, **values: Any
) -> list[str]:
    """Change all jobs that match the condition `which` to the state `after`, with an event each; return their ids."""
    rows, is_end = schema.jobs.c, after in ENDED
    if is_end:
        values |= {"finished_at": time.time(), "bytes": rows.bytes + ANSWER_BYTES}
    change = update(schema.jobs).where(which).values(state=after, last_event=rows.last_event + 1, **values)
    told = change.returning(rows.id, rows.last_event, rows.key_id, ANSWER_BYTES.label("more"))
    changed = connection.execute(told).all()
    kind: Kind = "finished" if is_end else "retried"
    facts = end_of(after, error=values.get("error")) if is_end else {"state": after, "reason": reason}
    for row in changed:
        write_events(connection, row.id, row.last_event, (kind, facts))
        if is_end:
            note_end(connection, after, row.key_id, row.more)
    return [row.id for row in changed]


def note_end(connection: Connection, state: State, key_id: str | None, more: int) -> None:
    """Add an ended job to the totals: a job in this state, and the `more` bytes of the answer for the job's key."""
    note_change(connection, "ended", state, 1)
    note_change(connection, "bytes", key_id, more)


def end_of(
    state: State, answer: WorkAnswer | None = None, error: str | None = None, late_s: float | None = None
) -> dict[str, Any]:
    """Return the data of a job's last event: final state, facts of the answer, error, and delay in seconds."""
    facts: dict[str, Any] = {"state": state, "meaning": MEANINGS[state]}
    if answer is not None:
        facts |= {"plan_status": answer.status, **(answer.facts or {})}
    return facts | {name: value for name, value in (("error", error), ("late_s", late_s)) if value is not None}
