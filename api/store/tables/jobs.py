"""Jobs as their callers see them: looked at, listed, cancelled."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from pydantic_core import PydanticCustomError
from sqlalchemy import Select, Text, delete, func, select, type_coerce, update

from memplan.api.store import schema
from memplan.api.store.caller import Caller
from memplan.api.store.database import Database
from memplan.api.store.job import ENDED, MEANINGS, Job, State
from memplan.api.store.tables.events import tell
from memplan.capabilities.registry import CAPABILITIES
from memplan.planner.errors import shown

COLUMNS = [schema.jobs.c[name] for name in Job.__dataclass_fields__]
"""The columns of a Job."""


MOST_LISTED, NAME_CHARACTERS = 1000, 200
"""The most jobs of a page, and the characters of a problem's name that are kept as the job's."""
HASH = re.compile(r"sha256:[0-9a-f]{64}")
JOB_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
KINDS = tuple(CAPABILITIES)
if TYPE_CHECKING:
    JobKindName = str
else:
    JobKindName = Literal[KINDS]


def matching(pattern: re.Pattern[str], rule: str) -> AfterValidator:
    """Return the validator of a text, where there is one, that must be all of a pattern."""

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

    def find(self, job_id: str) -> Job | None:
        """Return a job."""
        with self._database.reading() as connection:
            row = connection.execute(_job(job_id)).one_or_none()
            return None if row is None else job_of(row._mapping)

    def page(self, wanted: JobQuery, caller: Caller) -> list[Job]:
        """Return one page of the jobs of a caller that are wanted, newest first."""
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
                job_of(row._mapping) for row in connection.execute(query.order_by(rows.id.desc()).limit(wanted.limit))
            ]

    def request(self, job_id: str) -> tuple[str, bytes] | None:
        """Return the head and the body of a job's request."""
        rows = schema.submissions.c
        with self._database.reading() as connection:
            row = connection.execute(select(rows.head, rows.body).where(rows.job_id == job_id)).one_or_none()
            return None if row is None else (row.head, row.body)

    def answer(self, job_id: str) -> bytes | None:
        """Return the best answer of a job, if there is one so far."""
        wanted = select(schema.answers.c.content).where(schema.answers.c.job_id == job_id)
        with self._database.reading() as connection:
            return connection.execute(wanted).scalar_one_or_none()

    def plan_of_hash(self, plan_hash: str, caller: Caller) -> bytes | None:
        """Return the JSON of the plan with a hash, of a job of a caller."""
        rows = schema.jobs.c
        wanted = select(schema.answers.c.content).join(schema.jobs, schema.answers.c.job_id == rows.id)
        wanted = wanted.where(rows.plan_hash == plan_hash)
        if not caller.sees_all:
            wanted = wanted.where(rows.key_id == caller.key_id)
        with self._database.reading() as connection:
            return connection.execute(wanted.limit(1)).scalar_one_or_none()

    def ask_to_cancel(self, job_id: str) -> Job | None:
        """End a job that waits; ask the server of one that runs to end it. Return its new state."""
        rows = schema.jobs.c
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


def job_of(columns: Mapping[Any, Any]) -> Job:
    """Make a Job of its COLUMNS."""
    return Job(**columns)


def _job(job_id: str) -> Select[Any]:
    return select(*COLUMNS).where(schema.jobs.c.id == job_id)
