"""Jobs as they come in: many in one transaction, since a disk takes only some hundred transactions a second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, func, insert, select

from memplan.api.refusals import FullError
from memplan.api.store import schema
from memplan.api.store.database import Database
from memplan.api.store.errors import RepeatedKeyError
from memplan.api.store.job import Job, NewJob
from memplan.api.store.job_states import OPEN
from memplan.api.store.tables.jobs import COLUMNS, job_of
from memplan.api.store.writing import insert_new

_JOBS = schema.jobs.c
_Kept = tuple[Job, str | None]
"""A job, and the digest of its request."""
Admitted = Job | FullError | RepeatedKeyError


class Arrivals:
    """The table of jobs, for new ones; each call is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add_all(self, submitted: Sequence[NewJob]) -> list[Admitted]:
        """Keep many jobs; return for each the job, or the one that the same request made before, or an error.

        It is a FullError where there are too many; RepeatedKeyError where another request had its idempotency key.
        """
        with self._database.writing() as connection:
            known = _known(connection, submitted)
            counts = _Counts(connection, submitted)
            fresh: dict[str, NewJob] = {}
            for new in submitted:
                name = scoped(new)
                if (name is None or name not in known) and counts.admits(new):
                    fresh[new.id] = new
                    if name is not None:
                        known[name] = new, new.request_digest
            inserted = _insert(connection, list(fresh.values()))
            # Where another server was a moment quicker with the same request, its job counts.
            known |= _known(connection, [new for new in fresh.values() if new.id not in inserted])
            return [_admitted(new, known, inserted) for new in submitted]


class _Counts:
    """The numbers of open jobs, counted on while more are admitted."""

    def __init__(self, connection: Connection, submitted: Sequence[NewJob]) -> None:
        is_open = _JOBS.state.in_(OPEN)
        self._open = connection.execute(select(func.count()).select_from(schema.jobs).where(is_open)).scalar_one()
        keys = {new.key_id for new in submitted if new.most_of_key is not None}
        counted = select(_JOBS.key_id, func.count()).where(is_open, _JOBS.key_id.in_(keys)).group_by(_JOBS.key_id)
        self._of_key = {key: int(count) for key, count in connection.execute(counted)} if keys else {}

    def admits(self, new: NewJob) -> bool:
        """Return True if one more job may be admitted, and count it."""
        of_key = self._of_key.get(new.key_id, 0)
        if self._open >= new.most or (new.most_of_key is not None and of_key >= new.most_of_key):
            return False
        self._open += 1
        self._of_key[new.key_id] = of_key + 1
        return True


def scoped(new: NewJob) -> str | None:
    """Return the idempotency key of a job among those of all callers."""
    return None if new.idempotency_key is None else f"{new.key_id or ''} {new.idempotency_key}"


def _known(connection: Connection, jobs: Sequence[NewJob]) -> dict[str, _Kept]:
    """Return the jobs, and the digests of their requests, that have the idempotency keys of these."""
    names = [name for new in jobs if (name := scoped(new)) is not None]
    if not names:
        return {}
    columns = [*COLUMNS, _JOBS.idempotency_key.label("scoped"), _JOBS.request_digest]
    found = connection.execute(select(*columns).where(_JOBS.idempotency_key.in_(names)))
    known = {}
    for row in found:
        values = dict(row._mapping)
        name, digest = values.pop("scoped"), values.pop("request_digest")
        known[name] = job_of(values), digest
    return known


def _admitted(new: NewJob, known: dict[str, _Kept], inserted: frozenset[str]) -> Admitted:
    name = scoped(new)
    if name is not None and name in known:
        job, digest = known[name]
        if digest == new.request_digest:
            return job
        return RepeatedKeyError(f"Idempotency-Key: must be new for a new request, this one made job {job.id}")
    if new.id in inserted:
        return new
    of_key = "" if new.most_of_key is None else f"{new.most_of_key} of one key, and "
    return FullError(f"jobs: at most {of_key}{new.most}{' of all,' if of_key else ''} may wait or run at a time")


def _insert(connection: Connection, fresh: Sequence[NewJob]) -> frozenset[str]:
    """Write jobs, each with its request and its first event; return the ids of those that were not there yet."""
    if not fresh:
        return frozenset()
    rows = [
        {column.name: getattr(new, column.name) for column in COLUMNS}
        | {"idempotency_key": scoped(new), "request_digest": new.request_digest, "lease": 0}
        for new in fresh
    ]
    inserted = frozenset(insert_new(connection, schema.jobs, rows, _JOBS.id))
    if kept := [new for new in fresh if new.id in inserted]:
        requests = [{"job_id": new.id, "head": new.head, "body": new.body} for new in kept]
        connection.execute(insert(schema.submissions), requests)
        connection.execute(insert(schema.job_events), [_queued(new) for new in kept])
    return inserted


def _queued(new: NewJob) -> dict[str, Any]:
    data = {"state": "queued", "priority": new.priority}
    return {"job_id": new.id, "seq": 1, "kind": "queued", "at": new.created_at, "data": data}
