"""Jobs and their events, as callers read them."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import urlencode

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema
from sse_starlette import ServerSentEvent

from memplan.api.http.requests.job_requests import JobQuery
from memplan.api.options import Options
from memplan.api.service.answering import PLAN
from memplan.api.store.job import StoredJob
from memplan.api.store.job_states import MEANINGS, State
from memplan.api.store.tables.events import StoredEvent
from memplan.capabilities.capability import Answer

PATH = "/v1/jobs"


def _moment(seconds: object) -> object:
    """Return a moment in seconds as text; what is no number as it is."""
    if not isinstance(seconds, float | int):
        return seconds
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


Moment = Annotated[str, BeforeValidator(_moment), WithJsonSchema({"type": "string", "format": "date-time"})]


class PlanProgress(BaseModel):
    """The peak, bound and gap of a job's best plan; `gap` is None where the bound is 0."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    peak: int | None
    lower_bound: int | None
    gap: float | None
    solver: str | None


class Links(BaseModel):
    """The paths of the job, its events, its answer so far, and the same as a plan where it is one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    self: str
    events: str
    result: str
    plan: str | None


class JobAnswer(Answer):
    """A job: how far it is, and where its answer is; `late_s` is by how much it ended after its deadline.

    `problem_hash`, `name` and `buffers` are those of the problem, or of what else a job of its kind is about.
    `options` and `progress` are those of the kind; `plan_status` is that of the plan, or of the answer. `plan_hash` is
    that of the plan's JSON: `keep` of `POST /v1/plan` takes it.
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
    options: Annotated[dict[str, Any], WithJsonSchema({"type": "object"})]
    progress: PlanProgress | dict[str, Any] | None
    plan_status: str | None
    plan_hash: str | None
    attempts: int
    late_s: float | None
    error: str | None
    links: Links


class JobList(BaseModel):
    """A page of jobs, newest first, and where the next one is; None: there is none."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    jobs: list[JobAnswer]
    next: str | None


def job_answer(job: StoredJob) -> JobAnswer:
    """Say what is known of a job."""
    at, is_plan = f"{PATH}/{job.id}", job.kind == PLAN
    options, progress = dict(job.options), None if job.progress is None else dict(job.progress)
    return JobAnswer.of(
        job,
        meaning=MEANINGS[job.state],
        buffers=job.n_buffers,
        options=Options.model_validate(options).model_dump(mode="json") if is_plan else options,
        progress=PlanProgress.model_validate(progress) if progress is not None and "gap" in progress else progress,
        links=Links(self=at, events=f"{at}/events", result=f"{at}/result", plan=f"{at}/plan" if is_plan else None),
    )


def job_list(jobs: list[StoredJob], query: JobQuery) -> JobList:
    """Make a page of the jobs that were found for `query`; a full one may have a next."""
    following = None
    if len(jobs) == query.limit:
        asked: dict[str, Any] = query.model_dump(exclude_none=True, exclude_defaults=True) | {"after": jobs[-1].id}
        following = f"{PATH}?{urlencode(asked)}"
    return JobList(jobs=[job_answer(job) for job in jobs], next=following)


def server_sent(event: StoredEvent) -> ServerSentEvent:
    """Write an event for a stream; its id is what `Last-Event-ID` goes on from."""
    data = json.dumps({"at": _moment(event.at), **event.data}, separators=(",", ":"))
    return ServerSentEvent(data, event=event.kind, id=str(event.seq), sep="\n")
