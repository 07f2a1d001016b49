"""Jobs, their events and queries for jobs, in the JSON form that callers send and receive."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import Header, Query
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from sse_starlette import ServerSentEvent

from memplan.api.request_bodies import PLAN
from memplan.api.store.job import MEANINGS, Job, State
from memplan.api.store.tables.events import StoredEvent
from memplan.api.store.tables.jobs import NAME_CHARACTERS, JobQuery, matching
from memplan.planner.errors import InputError
from memplan.planner.model.rows import Value, WireValue
from memplan.questions.question import Answer, Seconds

PATH = "/v1/jobs"
JobQueryParameters = Annotated[JobQuery, Query()]
IdempotencyKey = Annotated[
    str | None,
    Header(alias="Idempotency-Key", description="The same request with the same key is one job."),
    matching(re.compile(r"[!-~]{1,200}"), "must be at most 200 visible ASCII characters"),
]
LastEventId = Annotated[
    str | None,
    Header(alias="Last-Event-ID", description="The last event that is known."),
    matching(re.compile(r"[0-9]{1,9}"), "must be the number of an event"),
]
Forget = Annotated[bool, Query(description="Remove a job that has ended, with all that is kept of it.")]


class Terms(WireValue):
    """The terms of a job: jobs of higher priority run first, then older jobs; the deadline counts from submission."""

    priority: Annotated[int, Field(ge=-100, le=100)] = 0
    deadline_s: Seconds | None = None


class JobChange(Value):
    """A change of a job, which is its new name; an invalid name raises InputError."""

    error = InputError

    name: Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)]


def _time_text(seconds: object) -> object:
    """Convert a Unix time in seconds to ISO 8601 text; return a value that is not a number unchanged."""
    if not isinstance(seconds, float | int):
        return seconds
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[str, BeforeValidator(_time_text), WithJsonSchema({"type": "string", "format": "date-time"})]


class JobAnswer(Answer):
    """A job: its state, its progress, and the paths of its answer; `late_s` is by how much it missed its deadline.

    `problem_hash`, `name` and `buffers` describe the job's problem or, without a problem, its other subject. `options`
    and `progress` are those of the job's question (`kind`), and `plan_status` is the status of its plan or other
    answer. `plan_hash` is the hash of the plan's JSON, which the option `keep` of `POST /v1/plan` accepts. `links` has
    the paths of the job (`self`), of its `events`, and of its `result` so far; for a job of kind `plan`, also of the
    `plan`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    kind: str
    state: State
    meaning: str
    name: str | None
    problem_hash: str
    buffers: int
    priority: int
    created_at: Moment
    started_at: Moment | None
    finished_at: Moment | None
    deadline_at: Moment | None
    options: dict[str, Any]
    progress: dict[str, Any] | None
    plan_status: str | None
    plan_hash: str | None
    attempts: int
    lapses: int
    failures: int
    late_s: float | None
    error: str | None
    links: dict[str, str | None]


class JobList(BaseModel):
    """A page of jobs, newest first; `next` is the path of the next page, or None on the last page."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    jobs: list[JobAnswer]
    next: str | None


def job_answer(job: Job) -> JobAnswer:
    """Return the JSON answer that describes a job."""
    at = f"{PATH}/{job.id}"
    links: dict[str, str | None] = {"self": at, "events": f"{at}/events", "result": f"{at}/result"}
    links["plan"] = f"{at}/plan" if job.kind == PLAN else None
    return JobAnswer.from_fields(job, meaning=MEANINGS[job.state], buffers=job.n_buffers, links=links)


def job_list(jobs: list[Job], query: JobQuery) -> JobList:
    """Return the page of jobs for a query; a full page has the link to the next page."""
    following = None
    if len(jobs) == query.limit:
        asked: dict[str, Any] = query.model_dump(exclude_none=True, exclude_defaults=True) | {"after": jobs[-1].id}
        following = f"{PATH}?{urlencode(asked)}"
    return JobList(jobs=[job_answer(job) for job in jobs], next=following)


def server_sent(event: StoredEvent) -> ServerSentEvent:
    """Return a job's event as a server-sent event; the event's number is the id that `Last-Event-ID` sends back."""
    data = json.dumps({"at": _time_text(event.at), **event.data}, separators=(",", ":"))
    return ServerSentEvent(data, event=event.kind, id=str(event.seq), sep="\n")
