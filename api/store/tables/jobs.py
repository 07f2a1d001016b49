"""Jobs as callers see them: submitted once, looked up, listed, cancelled."""

from __future__ import annotations

import json
import re
import time
from math import inf
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError
from sqlalchemy import ColumnElement, Connection, Select, Text, delete, func, insert, select, type_coerce, update

from memplan.api.refusals import FullError
from memplan.api.store import schema
from memplan.api.store.caller import Caller
from memplan.api.store.database import Database
from memplan.api.store.errors import RepeatedKeyError
from memplan.api.store.job import ENDED, OPEN, Job, State
from memplan.api.store.tables.events import moved, tell
from memplan.api.store.writing import insert_new, wake_workers
from memplan.planner.errors import shown
from memplan.questions import QUESTIONS

COLUMNS = [column for column in schema.jobs.c if column.name in Job.__dataclass_fields__]
"""The columns of a Job."""

MOST_LISTED, NAME_CHARACTERS = 1000, 200
"""The most jobs on a page, and the characters of a problem's name that become the job's name."""
HASH = re.compile(r"sha256:[0-9a-f]{64}")
_COUNT_S, _NEAR = 1.0, 1000
"""The seconds for which a count of jobs is valid, and the least distance from the limit for using it."""
JOB_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
KINDS = tuple(QUESTIONS)
if TYPE_CHECKING:
    JobKindName = str
else:
    JobKindName = Literal[KINDS]


def matching(pattern: re.Pattern[str], rule: str) -> AfterValidator:
    """Return a validator for an optional text that must match a pattern as a whole."""

    def check(text: str | None) -> str | None:
        if text is not None and not pattern.fullmatch(text):
            raise PydanticCustomError("rule", "{rule}, got {shown}", {"rule": rule, "shown": shown(text)})
        return text

    return AfterValidator(check)


class JobQuery(BaseModel):
    """A query of jobs, newest first: `after` is the last one of the page before, `search` a part of a name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: JobKindName | None = None
    state: State | None = None
    name: str | None = None
    search: Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)] | None = None
    problem_hash: Annotated[str, matching(HASH, "must be sha256: and 64 hexadecimal digits")] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 100
    after: Annotated[str, matching(JOB_ID, "must be the id of a job")] | None = None


class Jobs:
    """The table of jobs, for their callers; each call is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._counted: dict[str | None, tuple[float, int]] = {}

    def add(self, new: Job, most: int, most_of_key: int | None = None) -> Job:
        """Store a new job and return it, or return the job that the same request made before.

        Raises FullError where `most` wait or run, or `most_of_key` of its key, and RepeatedKeyError where another
        request had its idempotency key.
        """
        with self._database.writing() as connection:
            if (job := _made_before(connection, new)) is not None:
                return job
            self._check_room(connection, new, most, most_of_key)
            row = {column.name: getattr(new, column.name) for column in COLUMNS}
            if not insert_new(connection, schema.jobs, [row], schema.jobs.c.id):
                # Another server has just handled the same request.
                return _made_before(connection, new) or new
            sent = {"job_id": new.id, "head": new.head, "body": new.body}
            connection.execute(insert(schema.submissions).values(sent))
            tell(connection, new.id, 1, ("queued", {"state": "queued", "priority": new.priority}))
            return new

    def _check_room(self, connection: Connection, new: Job, most: int, most_of_key: int | None) -> None:
        """Raise FullError if the limit of waiting and running jobs is reached."""
        is_open = select(func.count()).select_from(schema.jobs).where(schema.jobs.c.state.in_(OPEN))
        is_full = self._is_full(connection, None, is_open, most)
        if not is_full and most_of_key is not None:
            is_full = self._is_full(
                connection, new.key_id or "", is_open.where(schema.jobs.c.key_id == new.key_id), most_of_key
            )
        if is_full:
            of_key = "" if most_of_key is None else f"{most_of_key} of one key, and "
            raise FullError(f"jobs: at most {of_key}{most}{' of all,' if of_key else ''} may wait or run at a time")

    def _is_full(self, connection: Connection, whose: str | None, is_open: Select[int], most: int) -> bool:
        """Return True if the limit of open jobs is reached; they are counted again near the limit or after a while.

        All jobs are far too many to be counted each time. What others accept meanwhile stays below what is near.
        """
        now, (at, count) = time.monotonic(), self._counted.get(whose, (-inf, 0))
        if now - at > _COUNT_S or count + max(_NEAR, most // 10) > most:
            at, count = now, int(connection.execute(is_open).scalar_one())
        self._counted[whose] = at, count + 1
        return count >= most

    def find(self, job_id: str) -> Job | None:
        """Return a job."""
        with self._database.reading() as connection:
            return _found(connection, schema.jobs.c.id == job_id)

    def page(self, wanted: JobQuery, caller: Caller) -> list[Job]:
        """Return one page of a caller's jobs that match a query, newest first."""
        rows, query = schema.jobs.c, select(*COLUMNS)
        if not caller.sees_all:
            query = query.where(rows.key_id == caller.key_id)
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
                Job(**row._mapping) for row in connection.execute(query.order_by(rows.id.desc()).limit(wanted.limit))
            ]

    def request(self, job_id: str) -> tuple[str, bytes] | None:
        """Return the head and the body of a job's request."""
        rows = schema.submissions.c
        with self._database.reading() as connection:
            row = connection.execute(select(rows.head, rows.body).where(rows.job_id == job_id)).one_or_none()
            return None if row is None else (row.head, row.body)

    def answer(self, job_id: str) -> bytes | None:
        """Return the best answer of a job so far, or None."""
        wanted = select(schema.answers.c.content).where(schema.answers.c.job_id == job_id)
        with self._database.reading() as connection:
            return connection.execute(wanted).scalar_one_or_none()

    def plan_of_hash(self, plan_hash: str, caller: Caller) -> bytes | None:
        """Return the JSON of the plan with a hash among the jobs of a caller."""
        rows = schema.jobs.c
        wanted = select(schema.answers.c.content).join(schema.jobs, schema.answers.c.job_id == rows.id)
        wanted = wanted.where(rows.plan_hash == plan_hash)
        if not caller.sees_all:
            wanted = wanted.where(rows.key_id == caller.key_id)
        with self._database.reading() as connection:
            return connection.execute(wanted.limit(1)).scalar_one_or_none()

    def ask_to_cancel(self, job_id: str) -> Job | None:
        """Cancel a waiting job, or request that a running one ends. Return its new state."""
        rows = schema.jobs.c
        with self._database.writing() as connection:
            if not moved(connection, "cancelled", (rows.id == job_id) & (rows.state == "queued"), is_cancel_asked=True):
                ask = update(schema.jobs).where(rows.id == job_id, rows.state == "running")
                if connection.execute(ask.values(is_cancel_asked=True)).rowcount:
                    wake_workers(connection)
            return _found(connection, rows.id == job_id)

    def rename(self, job_id: str, name: str) -> None:
        """Rename a job."""
        with self._database.writing() as connection:
            connection.execute(update(schema.jobs).where(schema.jobs.c.id == job_id).values(name=name))

    def forget(self, job_id: str) -> bool:
        """Remove a job that has ended, with all its data; return False if it has not ended."""
        rows = schema.jobs.c
        with self._database.writing() as connection:
            gone = connection.execute(delete(schema.jobs).where(rows.id == job_id, rows.state.in_(ENDED)))
            return gone.rowcount == 1

    def counts(self) -> dict[State, int]:
        """Return the number of jobs in each state that occurs."""
        counted = select(schema.jobs.c.state, func.count()).group_by(schema.jobs.c.state)
        with self._database.reading() as connection:
            return {state: int(count) for state, count in connection.execute(counted)}


def _found(connection: Connection, which: ColumnElement[bool]) -> Job | None:
    row = connection.execute(select(*COLUMNS).where(which)).one_or_none()
    return None if row is None else Job(**row._mapping)


def _made_before(connection: Connection, new: Job) -> Job | None:
    """Return the job of an earlier equal request; raises RepeatedKeyError if the request differs."""
    if new.idempotency_key is None:
        return None
    job = _found(connection, schema.jobs.c.idempotency_key == new.idempotency_key)
    if job is not None and job.request_digest != new.request_digest:
        raise RepeatedKeyError(f"Idempotency-Key: must be new for a new request, this one made job {job.id}")
    return job
