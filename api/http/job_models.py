"""Jobs, their events and what is asked of them, as callers read and write them."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal
from urllib.parse import urlencode

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError
from sse_starlette import ServerSentEvent

from memplan.api.options import Options
from memplan.api.requests import PLAN
from memplan.api.store.job import StoredJob
from memplan.api.store.job_states import MEANINGS, State
from memplan.api.store.tables.events import StoredEvent
from memplan.capabilities.capability import Answer, Seconds
from memplan.capabilities.registry import CAPABILITIES
from memplan.planner.errors import shown
from memplan.planner.model.rows import WireValue

PATH = "/v1/jobs"
NAME_CHARACTERS = 200
"""The characters of a problem's name that are kept as the job's."""
MOST_LISTED = 1000
HASH = re.compile(r"sha256:[0-9a-f]{64}")
JOB_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
if TYPE_CHECKING:
    JobKindName = str
else:
    JobKindName = Literal[tuple(CAPABILITIES)]


def _matching(pattern: re.Pattern[str], rule: str) -> AfterValidator:
    """Return the validator of a text that must be all of a pattern."""

    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise PydanticCustomError("rule", "{rule}, got {shown}", {"rule": rule, "shown": shown(text)})
        return text

    return AfterValidator(check)


ContentHash = Annotated[
    str,
    _matching(HASH, "must be sha256: and 64 hexadecimal digits"),
    WithJsonSchema({"type": "string", "pattern": f"^{HASH.pattern}$"}),
]
"""The hash of a problem or a plan, as text."""


class Terms(WireValue):
    """The terms of a job: of a key's that wait the highest priority goes first, then the oldest; keys take turns.

    The deadline counts from the moment the job is accepted.
    """

    priority: Annotated[int, Field(ge=-100, le=100)] = 0
    deadline_s: Seconds | None = None


class JobQuery(WireValue):
    """A query of jobs; `after` is the last one of the page before, `search` a part of a name in any case."""

    kind: JobKindName | None = None
    state: State | None = None
    name: str | None = None
    search: Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)] | None = None
    problem_hash: ContentHash | None = None
    limit: Annotated[int, Field(ge=1, le=MOST_LISTED)] = 100
    after: Annotated[str, _matching(JOB_ID, "must be the id of a job")] | None = None


class JobChange(WireValue):
    """A change of a job: its new name."""

    name: Annotated[str, Field(min_length=1, max_length=NAME_CHARACTERS)]


class JobEnd(WireValue):
    """The end of a job: with `forget`, one that has ended is removed with all that is kept of it."""

    forget: bool = False


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
