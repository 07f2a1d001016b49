"""The table of jobs as callers use it: they submit, look up, list, rename, cancel and forget jobs."""

import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from math import inf
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError
from sqlalchemy import ColumnElement, Connection, Text, delete, func, insert, select, text, type_coerce, update

from memplan.api.refusals import FullError
from memplan.api.store import schema
from memplan.api.store.caller import Caller
from memplan.api.store.columns import pack, packed_value
from memplan.api.store.database import Database
from memplan.api.store.errors import RepeatedKeyError
from memplan.api.store.job import ENDED, OPEN, Job, State, creation_time
from memplan.api.store.tables.events import change_state, write_events
from memplan.api.store.totals import note_change, total, totals
from memplan.api.store.writing import insert_new, time_in, wake_workers
from memplan.planner.errors import excerpt
from memplan.questions import QUESTIONS

COLUMNS = [column for column in schema.jobs.c if column.name in Job.__dataclass_fields__]
"""The columns of the table that correspond to fields of Job."""

MOST_LISTED, NAME_CHARACTERS = 1000, 200
"""The maximum number of jobs on a page, and the maximum length of a job's name in characters."""
HASH = re.compile(r"sha256:[0-9a-f]{64}")
_COUNT_S, _NEAR, _NEAR_BYTES = 1.0, 1000, 64 * 2**20
"""How long, in seconds, a count of jobs or bytes is reused, if it is at least these jobs or bytes below its limit."""
SEEN_S = 90.0
"""The seconds after its last sign of life for which a worker counts as alive."""
_COUNTED_S = 10.0
"""The seconds for which the counts for metrics are reused."""
_ROW_BYTES = 2_000
"""The estimated bytes of a job in tables and indexes, besides its request and its answer."""
_SHARES = 4
"""A key without a quota may store this fraction (1/4) of the bytes allowed for all keys."""
_SPARED_S = 3600.0
"""The seconds after a job's end during which newer requests of its key cannot displace its request."""
_AT_ONCE, _ROUNDS = 20, 20
"""The number of requests dropped per round, and the maximum number of rounds for one new job."""
_SHOWN = 5
"""The number of removable jobs that the refusal of a job names."""
_FULL_S = 60.0
"""The seconds after which a client should retry if too many bytes are stored."""
JOB_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
KINDS = tuple(QUESTIONS)
if TYPE_CHECKING:
    JobKindName = str
else:
    JobKindName = Literal[KINDS]


def matching(pattern: re.Pattern[str], rule: str) -> AfterValidator:
    """Return a pydantic validator that requires a text, if given, to match the whole pattern; `rule` is the error."""

    def check(text: str | None) -> str | None:
        """Return the text or None; raises PydanticCustomError for a text that the pattern does not match."""
        if text is not None and not pattern.fullmatch(text):
            raise PydanticCustomError("rule", "{rule}, got {shown}", {"rule": rule, "shown": excerpt(text)})
        return text

    return AfterValidator(check)


class JobQuery(BaseModel):
    """A query of jobs, newest first: `after` is the last job of the page before, `search` a part of a name."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: "JobKindName | None" = None
    state: State | None = None
    name: str | None = None
    search: Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)] | None = None
    problem_hash: Annotated[str, matching(HASH, "must be sha256: and 64 hexadecimal digits")] | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 100
    after: Annotated[str, matching(JOB_ID, "must be the id of a job, such as `next` in the previous answer")] | None = (
        None
    )


@dataclass(frozen=True)
class JobCounts:
    """The numbers of jobs of all servers.

    open, ended: the numbers of unfinished and of ended jobs by state.
    kept_bytes: the bytes that all jobs store.
    oldest_s: the age of the oldest waiting job in seconds; 0 if none waits.
    workers: the number of live servers and workers that run jobs.
    """

    open: Mapping[State, int]
    ended: Mapping[str, int]
    kept_bytes: int
    oldest_s: float
    workers: int


class Jobs:
    """The operations of callers on the table of jobs, such as submission and search; each is one transaction."""

    def __init__(self, database: Database) -> None:
        """Make an object without cached counts of jobs."""
        self._database = database
        self._counted: dict[str, tuple[float, int]] = {}
        self._counts: tuple[float, JobCounts] | None = None
        self._counting = threading.Lock()

    def add(
        self,
        new: Job,
        most: int,
        most_of_key: int | None = None,
        most_bytes: int = 2**62,
        most_bytes_of_key: int | None = None,
    ) -> Job:
        """Store a new job and return it; for a repeated request, return the job that the first request made.

        Raises FullError if `most` jobs of all keys, or `most_of_key` of this key, are unfinished, or if the stored
        bytes would exceed `most_bytes` in total, `most_bytes_of_key` for this key (None: a quarter of the total), or
        the disk's free space. Raises RepeatedKeyError if a different request had the same idempotency key.
        """
        body = pack(new.body)
        n_bytes = _ROW_BYTES + len(body)
        with self._database.writing() as connection:
            if (job := _repeated_job(connection, new)) is not None:
                return job
            self._require_free_job(connection, new, most, most_of_key)
            self._require_free_bytes(connection, new, n_bytes, most_bytes, most_bytes_of_key)
            row = {column.name: getattr(new, column.name) for column in COLUMNS}
            if not insert_new(connection, schema.jobs, [row | {"bytes": n_bytes}], schema.jobs.c.id):
                # Another server has stored an equal request since the look-up above, so return that job.
                return _repeated_job(connection, new) or new
            sent = {"job_id": new.id, "head": new.head, "body": packed_value(body)}
            connection.execute(insert(schema.submissions).values(sent))
            write_events(connection, new.id, 1, ("queued", {"state": "queued", "priority": new.priority}))
            note_change(connection, "bytes", new.key_id, n_bytes)
            return new

    def _require_free_job(self, connection: Connection, new: Job, most: int, most_of_key: int | None) -> None:
        """Raise FullError if the limit on unfinished jobs, in total or for the key, is reached."""
        is_open = select(func.count()).select_from(schema.jobs).where(schema.jobs.c.state.in_(OPEN))
        of_key = is_open.where(schema.jobs.c.key_id == new.key_id)

        def counter(query: Any) -> Callable[[], int]:
            return lambda: int(connection.execute(query).scalar_one())

        is_full = self._is_full(connection, "jobs", counter(is_open), most)
        if not is_full and most_of_key is not None:
            is_full = self._is_full(connection, f"jobs of {new.key_id}", counter(of_key), most_of_key)
        if is_full:
            said = "" if most_of_key is None else f" in total, and at most {most_of_key} of one key"
            raise FullError(f"jobs: must be at most {most} unfinished{said}, got one more")

    def _require_free_bytes(
        self, connection: Connection, new: Job, n_bytes: int, most: int, most_of_key: int | None
    ) -> None:
        """Raise FullError if storing a new job's `n_bytes` bytes would exceed a limit or the disk, unless room is made.

        To make room, the requests of ended jobs are deleted: first those of the job's own key, if it is at its quota
        and the jobs ended over an hour ago. If the limit of all keys is reached or the disk is full, then those of the
        keys with the most stored bytes.
        """
        disk, key_id = self._database.disk, new.key_id

        def total_bytes() -> int:
            return sum(totals(connection, "bytes").values())

        def is_full(name: str, count: Callable[[], int], most: int) -> bool:
            return self._is_full(connection, name, count, most, n_bytes, _NEAR_BYTES)

        if most_of_key is None and key_id is not None:
            most_of_key = min(most, most if disk is None else total_bytes() + disk.capacity(connection)) // _SHARES
        of_key = partial(total, connection, "bytes", key_id)
        if most_of_key is not None and is_full(f"bytes of {key_id}", of_key, most_of_key):
            _drop_requests(connection, key_id, of_key() + n_bytes - most_of_key, time.time() - _SPARED_S)
            if (kept := of_key()) + n_bytes > most_of_key:
                rule = f"must keep at most {most_of_key} bytes of requests and answers of this key"
                raise _full_error(connection, key_id, f"{rule}, got {n_bytes} more than the {kept} already kept")
        for _ in range(_ROUNDS):
            room = most if disk is None else disk.room(connection)
            if not (is_full("bytes", total_bytes, most) or room < n_bytes):
                return
            over = max(total_bytes() + n_bytes - most, n_bytes - room)
            if not any(_drop_requests(connection, name or None, over, inf) for name in totals(connection, "bytes")):
                break
        rule = f"must keep at most {most} bytes of requests and answers of all keys"
        rule = f"must fit the {room} free bytes of the database's disk" if room < n_bytes else rule
        raise _full_error(connection, key_id, f"{rule}, got a request of {n_bytes} bytes")

    def _is_full(
        self, connection: Connection, name: str, count: Callable[[], int], most: int, more: int = 1, near: int = _NEAR
    ) -> bool:
        """Return True if `more` jobs or bytes, added to those that exist, would exceed the limit `most`.

        `name` identifies the count, which may be a second old, because counting is too slow for every request. Within
        `near` of the limit, a lock is taken and the count is exact, so several servers cannot exceed the limit
        together.
        """
        now, (at, found) = time.monotonic(), self._counted.get(name, (-inf, 0))
        if now - at > _COUNT_S:
            at, found = now, count()
        if found + max(near, most // 10) > most:
            if connection.dialect.name == "postgresql":
                lock = int.from_bytes(sha256(name.encode()).digest()[:8], signed=True)
                connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": lock})
            at, found = now, count()
        self._counted[name] = at, found + more
        return found + more > most

    def find(self, job_id: str) -> Job | None:
        """Return the job with this id; None if there is none."""
        with self._database.reading() as connection:
            return _find_job(connection, schema.jobs.c.id == job_id)

    def page(self, wanted: JobQuery, caller: Caller) -> list[Job]:
        """Return one page of the caller's jobs that match a query, newest first."""
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
        """Return the head and body of a job's request; None if the request was dropped."""
        rows = schema.submissions.c
        with self._database.reading() as connection:
            row = connection.execute(select(rows.head, rows.body).where(rows.job_id == job_id)).one_or_none()
            return None if row is None else (row.head, row.body)

    def answer(self, job_id: str) -> bytes | None:
        """Return the best answer of a job so far; None if it has none."""
        wanted = select(schema.answers.c.content).where(schema.answers.c.job_id == job_id)
        with self._database.reading() as connection:
            return connection.execute(wanted).scalar_one_or_none()

    def plan_of_hash(self, plan_hash: str, caller: Caller) -> bytes | None:
        """Return the JSON of the plan with this hash among the caller's jobs; None if there is none."""
        rows = schema.jobs.c
        wanted = select(schema.answers.c.content).join(schema.jobs, schema.answers.c.job_id == rows.id)
        wanted = wanted.where(rows.plan_hash == plan_hash)
        if not caller.sees_all:
            wanted = wanted.where(rows.key_id == caller.key_id)
        with self._database.reading() as connection:
            return connection.execute(wanted.limit(1)).scalar_one_or_none()

    def ask_to_cancel(self, job_id: str) -> Job | None:
        """Cancel a waiting job, or request a running one to end early; return the updated job, or None if unknown."""
        rows = schema.jobs.c

        def cancel(connection: Connection) -> Job | None:
            """Cancel a waiting job, or request a running one to end; return the job, or None if it is unknown."""
            if not change_state(
                connection, "cancelled", (rows.id == job_id) & (rows.state == "queued"), is_cancel_asked=True
            ):
                ask = update(schema.jobs).where(rows.id == job_id, rows.state == "running")
                if connection.execute(ask.values(is_cancel_asked=True)).rowcount:
                    wake_workers(connection)
            return _find_job(connection, rows.id == job_id)

        return self._database.use_reserve(cancel)

    def rename(self, job_id: str, name: str) -> None:
        """Change the name of a job."""
        with self._database.writing() as connection:
            connection.execute(update(schema.jobs).where(schema.jobs.c.id == job_id).values(name=name))

    def forget(self, job_id: str) -> bool:
        """Remove an ended job with all its data; return False if the job has not ended."""
        which = (schema.jobs.c.id == job_id) & schema.jobs.c.state.in_(ENDED)
        return self._database.use_reserve(lambda connection: remove_jobs(connection, which)) == 1

    def counts(self) -> JobCounts:
        """Return the numbers of jobs of all servers, at most ten seconds old; ended jobs come from stored totals."""
        rows = schema.jobs.c
        with self._counting:
            if self._counts is None or time.monotonic() - self._counts[0] > _COUNTED_S:
                of_open = select(rows.state, func.count().label("n"), func.min(rows.id).label("first"))
                with self._database.reading() as connection:
                    found = connection.execute(of_open.where(rows.state.in_(OPEN)).group_by(rows.state)).all()
                    is_there = schema.workers.c.seen_at > time_in(connection) - SEEN_S
                    workers = connection.execute(select(func.count()).where(is_there)).scalar_one()
                    ended, kept = totals(connection, "ended"), sum(totals(connection, "bytes").values())
                waits = {row.state: row.first for row in found}.get("queued")
                oldest_s = 0.0 if waits is None else max(0.0, time.time() - creation_time(waits))
                counts = JobCounts({row.state: row.n for row in found}, ended, kept, oldest_s, workers)
                self._counts = time.monotonic(), counts
            return self._counts[1]


def remove_jobs(connection: Connection, which: ColumnElement[bool]) -> int:
    """Remove the jobs that match a condition, with all their data, and return their number."""
    rows = schema.jobs.c
    gone = connection.execute(delete(schema.jobs).where(which).returning(rows.key_id, rows.bytes)).all()
    for row in gone:
        note_change(connection, "bytes", row.key_id, -row.bytes)
    return len(gone)


def _drop_requests(connection: Connection, key_id: str | None, needed: float, before: float) -> int:
    """Delete a key's requests whose jobs ended before a time, largest first, until `needed` bytes are free.

    Return the number of bytes freed, which may be smaller, because a call drops a limited number of requests.
    """
    rows, sent = schema.jobs.c, schema.submissions.c
    # Select jobs by the time of their end, not by state, so that the index by bytes yields the largest at once.
    wanted = select(rows.id, func.length(sent.body).label("bytes")).join(schema.submissions, sent.job_id == rows.id)
    wanted = wanted.where(rows.key_id == key_id, rows.finished_at < before)
    wanted = wanted.order_by(rows.bytes.desc()).limit(_AT_ONCE).with_for_update(skip_locked=True, of=schema.jobs)
    freed, found = 0, connection.execute(wanted).all()
    for row in found:
        if freed >= needed:
            break
        freed += row.bytes
        connection.execute(delete(schema.submissions).where(sent.job_id == row.id))
        connection.execute(update(schema.jobs).where(rows.id == row.id).values(bytes=rows.bytes - row.bytes))
    note_change(connection, "bytes", key_id, -freed)
    return freed


def _full_error(connection: Connection, key_id: str | None, said: str) -> FullError:
    """Return the error for a job refused for lack of space; its remedy names ended jobs of the key to remove."""
    rows = schema.jobs.c
    ended = select(rows.id, rows.bytes).where(rows.key_id == key_id, rows.finished_at.is_not(None), rows.bytes > 0)
    largest = connection.execute(ended.order_by(rows.bytes.desc()).limit(_SHOWN)).all()
    way = "DELETE /v1/jobs/ID?forget=true removes an ended job with its request and answer; the largest jobs"
    named = ", ".join(f"{row.id} with {row.bytes} bytes" for row in largest)
    return FullError(f"jobs: {said}", _FULL_S, (f"{way}: {named or 'none has ended yet'}",))


def _find_job(connection: Connection, which: ColumnElement[bool]) -> Job | None:
    """Return the only job that matches a condition; None if no job does."""
    row = connection.execute(select(*COLUMNS).where(which)).one_or_none()
    return None if row is None else Job(**row._mapping)


def _repeated_job(connection: Connection, new: Job) -> Job | None:
    """Return the job of an earlier equal request, or None; raises RepeatedKeyError if that request was different."""
    if new.idempotency_key is None:
        return None
    job = _find_job(connection, schema.jobs.c.idempotency_key == new.idempotency_key)
    if job is not None and job.request_digest != new.request_digest:
        raise RepeatedKeyError(f"Idempotency-Key: must be new for a new request, but it was used for job {job.id}")
    return job
