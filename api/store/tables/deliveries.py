"""The ends of jobs that are yet to be told to webhooks: taken by one server at a time, again and again until told."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import delete, func, select, update

from memplan.api.store import schema
from memplan.api.store.database import Database
from memplan.api.store.job import StoredJob
from memplan.api.store.tables.jobs import COLUMNS, job_of

_ROWS = schema.deliveries.c


@dataclass(frozen=True)
class WebhookDelivery:
    """One attempt to tell the end of a job; `attempts` counts it."""

    job: StoredJob
    url: str
    attempts: int


class Deliveries:
    """The table of deliveries; each call is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def due(
        self, now: float, most: int, retry_at: list[float], most_of_key: int = 2**31, busy: Collection[str] = ()
    ) -> list[WebhookDelivery]:
        """Take up to `most` that are due; each comes again at retry_at[attempts] unless it is struck off before.

        Keys take turns, each up to `most_of_key`; those that are `busy` have none. No key is the key "".
        """
        key = func.coalesce(schema.jobs.c.key_id, "")
        turn = func.row_number().over(partition_by=key, order_by=_ROWS.next_at).label("turn")
        turns = select(_ROWS.job_id, _ROWS.next_at, turn).join(schema.jobs, schema.jobs.c.id == _ROWS.job_id)
        ranked = turns.where(_ROWS.next_at <= now, key.not_in(busy)).subquery()
        first = select(ranked.c.job_id).where(ranked.c.turn <= most_of_key)
        first = first.order_by(ranked.c.turn, ranked.c.next_at).limit(most)
        waiting = select(_ROWS.job_id, _ROWS.url, _ROWS.attempts).where(_ROWS.job_id.in_(first))
        found = []
        with self._database.reading() as connection:
            if connection.execute(select(_ROWS.job_id).where(_ROWS.next_at <= now).limit(1)).one_or_none() is None:
                return []  # so that looking writes nothing
        with self._database.writing() as connection:
            for row in connection.execute(waiting.with_for_update(skip_locked=True)).all():
                again = retry_at[min(row.attempts, len(retry_at) - 1)]
                taken = update(schema.deliveries).where(_ROWS.job_id == row.job_id)
                connection.execute(taken.values(attempts=row.attempts + 1, next_at=again))
                job = connection.execute(select(*COLUMNS).where(schema.jobs.c.id == row.job_id)).one()
                found.append(WebhookDelivery(job_of(job._mapping), row.url, row.attempts + 1))
        return found

    def strike(self, job_id: str) -> None:
        """Forget a delivery: it was made, or is given up."""
        with self._database.writing() as connection:
            connection.execute(delete(schema.deliveries).where(_ROWS.job_id == job_id))

    def waiting(self) -> list[tuple[str, int]]:
        """Return the jobs whose end is yet to be told, and how often that was tried."""
        with self._database.reading() as connection:
            return [(row.job_id, row.attempts) for row in connection.execute(select(_ROWS.job_id, _ROWS.attempts))]
