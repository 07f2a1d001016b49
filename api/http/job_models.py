"""Jobs, their events and queries for jobs, in the JSON form that callers send and receive."""

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
from memplan.planner.model.field_docs import DescribedFields
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
    """The terms of a job."""

    priority: Annotated[int, Field(ge=-100, le=100)] = 0
    """Jobs of higher priority run first, then older jobs."""
    deadline_s: Seconds | None = None
    """The seconds from the submission until the answer is due; by default, there is no deadline."""


class JobChange(Value):
    """A change of a job, which is its new name; an invalid name raises InputError."""

    error = InputError

    name: Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)]
    """The new name of the job, which lists of jobs show."""


def _time_text(seconds: object) -> object:
    if not isinstance(seconds, float | int):
        return seconds
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[str, BeforeValidator(_time_text), WithJsonSchema({"type": "string", "format": "date-time"})]


class JobAnswer(Answer):
    """A job: its state, its progress, and the paths of its answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """The id, a UUID; ids sort by the time of submission."""
    kind: str
    """The question that the job answers, such as `plan`."""
    state: State
    """`queued`, `running`, or how the job ended: `succeeded`, `cancelled`, `failed` or `expired`."""
    meaning: str
    """What `state` means, as a sentence."""
    name: str | None
    """The name that the job was given, or else that of its problem; null if neither has one."""
    problem_hash: str
    """The hash of the problem or, without a problem, of the job's other subject, such as `sha256:...`."""
    buffers: int
    """The number of buffers of this subject; 0 for a file of another system."""
    priority: int
    """From -100 to 100: jobs of higher priority run first, then older jobs."""
    created_at: Moment
    """The time of submission, in UTC, such as `2026-01-31T12:00:00.000Z`."""
    started_at: Moment | None
    """The time of the last start; null before the first one."""
    finished_at: Moment | None
    """The time at which the job ended; null until then."""
    deadline_at: Moment | None
    """The time at which the answer is due; null without a deadline."""
    options: dict[str, Any]
    """The options of the question, with defaults for all others."""
    progress: dict[str, Any] | None
    """What the search reported last, or the quality of the final answer; the fields depend on `kind`. Null before the
    first report."""
    plan_status: str | None
    """The status of the best plan or other answer so far, such as `optimal`; null without one."""
    plan_hash: str | None
    """The hash of the plan's JSON, which the field `keep` of `POST /v1/plan` accepts; null without a plan."""
    attempts: int
    """The number of starts, without the starts given back by a stopping worker."""
    lapses: int
    """The number of times that the job's worker ended while the job ran."""
    failures: int
    """The number of times that the process that computes the answer ended or was late."""
    late_s: float | None
    """The seconds by which the job missed its deadline; null if it did not."""
    error: str | None
    """Why the job failed; null if it did not."""
    links: dict[str, str | None]
    """The paths of the job (`self`), of its `events`, and of its `result` so far; for the kind `plan`, also of its
    `plan`, which is null for other kinds."""


class JobList(DescribedFields, BaseModel):
    """A page of jobs."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    jobs: list[JobAnswer]
    """The jobs, newest first."""
    next: str | None
    """The path of the next page; null if this page is not full."""


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
