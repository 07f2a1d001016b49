"""Jobs as their callers see them: looked at, listed, cancelled."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Select, Text, delete, func, select, type_coerce, update

from memplan.api.store import schema
from memplan.api.store.database import Database
from memplan.api.store.job import StoredJob
from memplan.api.store.job_states import ENDED, MEANINGS, State, check_change
from memplan.api.store.tables.events import tell

COLUMNS = [schema.jobs.c[name] for name in StoredJob.__dataclass_fields__]
"""The columns of a StoredJob."""


@dataclass(frozen=True, kw_only=True)
class JobsWanted:
    """The filters of a list of jobs, newest first: of one key unless `of_all_keys`, older than the job `after`.

    `search` is a part of the name, in upper or lower case.
    """

    of_all_keys: bool
    key_id: str | None = None
    kind: str | None = None
    state: State | None = None
    name: str | None = None
    search: str | None = None
    problem_hash: str | None = None
    after: str | None = None
    limit: int = 100


class Jobs:
    """The table of jobs, for their callers; each call is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, job_id: str) -> StoredJob | None:
        """Return a job."""
        with self._database.reading() as connection:
            row = connection.execute(_job(job_id)).one_or_none()
            return None if row is None else job_of(row._mapping)

    def page(self, wanted: JobsWanted) -> list[StoredJob]:
        """Return one page of the jobs that are wanted, newest first."""
        rows, query = schema.jobs.c, select(*COLUMNS)
        if not wanted.of_all_keys:
            query = query.where(rows.key_id == wanted.key_id)
        for column, value in (
            (rows.kind, wanted.kind),
            (rows.state, wanted.state),
            (rows.name, wanted.name),
            (rows.problem_hash, wanted.problem_hash),
        ):
            query = query if value is None else query.where(column == value)
        if wanted.search is not None:
            part = json.dumps(wanted.search)[1:-1].lower()
            query = query.where(func.lower(type_coerce(rows.name, Text)).contains(part, autoescape=True))
        if wanted.after is not None:
            query = query.where(rows.id < wanted.after)
        with self._database.reading() as connection:
            return [
                job_of(row._mapping) for row in connection.execute(query.order_by(rows.id.desc()).limit(wanted.limit))
            ]

    def problem(self, job_id: str) -> bytes | None:
        """Return the packed problem of a job."""
        wanted = select(schema.submissions.c.problem).where(schema.submissions.c.job_id == job_id)
        with self._database.reading() as connection:
            return connection.execute(wanted).scalar_one_or_none()

    def plan(self, job_id: str) -> bytes | None:
        """Return the packed best plan of a job, if there is one so far."""
        wanted = select(schema.answers.c.plan).where(schema.answers.c.job_id == job_id)
        with self._database.reading() as connection:
            return connection.execute(wanted).scalar_one_or_none()

    def plan_of_hash(self, plan_hash: str, key_id: str | None, of_all_keys: bool = False) -> bytes | None:
        """Return the packed plan with a hash, of a job of one key."""
        rows = schema.jobs.c
        wanted = select(schema.answers.c.plan).join(schema.jobs, schema.answers.c.job_id == rows.id)
        wanted = wanted.where(rows.plan_hash == plan_hash)
        if not of_all_keys:
            wanted = wanted.where(rows.key_id == key_id)
        with self._database.reading() as connection:
            return connection.execute(wanted.limit(1)).scalar_one_or_none()

    def ask_to_cancel(self, job_id: str) -> StoredJob | None:
        """End a job that waits; ask the server of one that runs to end it. Return its new state."""
        rows = schema.jobs.c
        check_change("queued", "cancelled")
        with self._database.writing() as connection:
            end = update(schema.jobs).where(rows.id == job_id, rows.state == "queued")
            ended = connection.execute(
                end.values(
                    state="cancelled", is_cancel_asked=True, finished_at=time.time(), last_event=rows.last_event + 1
                ).returning(rows.last_event)
            ).scalar_one_or_none()
            if ended is not None:
                tell(connection, job_id, ended, ("finished", {"state": "cancelled", "meaning": MEANINGS["cancelled"]}))
            else:
                ask = update(schema.jobs).where(rows.id == job_id, rows.state == "running")
                connection.execute(ask.values(is_cancel_asked=True))
            row = connection.execute(_job(job_id)).one_or_none()
            return None if row is None else job_of(row._mapping)

    def rename(self, job_id: str, name: str) -> None:
        """Give a job another name."""
        with self._database.writing() as connection:
            connection.execute(update(schema.jobs).where(schema.jobs.c.id == job_id).values(name=name))

    def forget(self, job_id: str) -> bool:
        """Remove a job that has ended, with all that is kept of it; return False for one that has not."""
        rows = schema.jobs.c
        with self._database.writing() as connection:
            gone = connection.execute(delete(schema.jobs).where(rows.id == job_id, rows.state.in_(ENDED)))
            return gone.rowcount == 1

    def counts(self) -> dict[State, int]:
        """Return how many jobs there are in each state that any is in."""
        counted = select(schema.jobs.c.state, func.count()).group_by(schema.jobs.c.state)
        with self._database.reading() as connection:
            return {state: int(count) for state, count in connection.execute(counted)}


def job_of(columns: Mapping[Any, Any]) -> StoredJob:
    """Make a Job of its COLUMNS."""
    return StoredJob(**columns)


def _job(job_id: str) -> Select[Any]:
    return select(*COLUMNS).where(schema.jobs.c.id == job_id)
