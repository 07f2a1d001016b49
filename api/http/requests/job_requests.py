"""Submissions of jobs: a submission, and its priority and deadline."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, Field, ValidationError, WithJsonSchema
from pydantic_core import PydanticCustomError
from starlette.datastructures import QueryParams

from memplan.api.http.requests.bodies import JSON
from memplan.api.http.requests.submissions import (
    check_size,
    check_time_limit,
    is_bare,
    read_submission,
    submission_from,
)
from memplan.api.http.requests.work_requests import begin_work
from memplan.api.jobs.serialization import pack_problem, pack_request
from memplan.api.options import Options
from memplan.api.service.answering import PLAN, QUESTIONS
from memplan.api.settings import Settings
from memplan.api.store.job import NewJob
from memplan.api.store.job_states import State
from memplan.capabilities.bodies import read_object
from memplan.capabilities.capability import Capability, Seconds
from memplan.capabilities.plan.planning import check_solver
from memplan.capabilities.question import subject_of
from memplan.capabilities.registry import CAPABILITIES
from memplan.planner.errors import InputError, OptionError, sentences, shown
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import WireValue

NAME_CHARACTERS = 200
"""The characters of a problem's name that are kept as the job's."""
MOST_LISTED = 1000
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
if TYPE_CHECKING:
    JobKindName = str
else:
    JobKindName = Literal[(PLAN, *QUESTIONS)]
JOB_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
Q = TypeVar("Q", bound=WireValue)
_KEY = re.compile(r"[!-~]{1,200}")


def _matching(pattern: re.Pattern[str], rule: str) -> AfterValidator:
    """Return the validator of a text that must be all of a pattern."""

    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise PydanticCustomError("rule", "{rule}, got {shown}", {"rule": rule, "shown": shown(text)})
        return text

    return AfterValidator(check)


ContentHash = Annotated[
    str,
    _matching(_HASH, "must be sha256: and 64 hexadecimal digits"),
    WithJsonSchema({"type": "string", "pattern": f"^{_HASH.pattern}$"}),
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


def read_job(kind: str, body: bytes, query: QueryParams) -> tuple[Problem, Options, Terms]:
    """Read the body of `POST /v1/jobs`; raises InputError.

    It is that of `POST /v1/plan`; the terms come beside the problem, or in the query.
    """
    terms, rest = split_query(query)
    if kind != JSON:
        return *read_submission(kind, body, rest), _terms(terms, {})
    content = read_object(body)
    inside = {} if is_bare(content) else {name: content.pop(name) for name in Terms.model_fields if name in content}
    return *submission_from(content, rest), _terms(terms, inside)


def split_query(query: QueryParams) -> tuple[dict[str, str], QueryParams]:
    """Return the terms of a query, and the rest of it; raises OptionError for a term that is given twice."""
    asked = [(name, value) for name, value in query.multi_items() if name in Terms.model_fields]
    terms = dict(asked)
    if len(terms) < len(asked):
        raise OptionError(*(f"{name}: must be given once" for name in terms))
    return terms, QueryParams([(name, value) for name, value in query.multi_items() if name not in Terms.model_fields])


def read_new_job(
    kind: str,
    body: bytes,
    query: QueryParams,
    settings: Settings,
    *,
    key_id: str | None = None,
    idempotency_key: str | None = None,
) -> NewJob:
    """Make a job of the body of `POST /v1/jobs`, its deadline counted from now; raises InputError."""
    digest = None if idempotency_key is None else _digest(kind, body, query)
    said: dict[str, Any] = {"key_id": key_id, "idempotency_key": idempotency_key, "request_digest": digest}
    if (name := kind_of(query)) != PLAN:
        return _work_job(CAPABILITIES[name], kind, body, query, settings, said)
    problem, options, terms = read_job(kind, body, without_kind(query))
    check_time_limit("time_limit_s", options.time_limit_s, settings.max_time_limit_s)
    check_size(problem, settings)
    return new_job(problem, options, **said, **_terms_of_job(terms))


def kind_of(query: QueryParams) -> str:
    """Return the kind of job that a query asks for; raises OptionError."""
    asked = query.getlist("kind")
    if len(asked) > 1:
        raise OptionError("kind: must be given once")
    if asked and asked[0] not in (PLAN, *QUESTIONS):
        raise OptionError(f"kind: must be one of {', '.join((PLAN, *QUESTIONS))}, got {shown(asked[0])}")
    return asked[0] if asked else PLAN


def without_kind(query: QueryParams) -> QueryParams:
    """Return the rest of a query."""
    return QueryParams([(name, value) for name, value in query.multi_items() if name != "kind"])


def _work_job(
    capability: Capability[Any],
    media: str,
    body: bytes,
    query: QueryParams,
    settings: Settings,
    said: Mapping[str, Any],
) -> NewJob:
    """Make a job of another kind than a plan; raises InputError."""
    asked, rest = split_query(without_kind(query))
    begun = begin_work(capability, media, body, rest, settings, Terms.model_fields)
    terms = _terms(asked, {name: value for name, value in begun.fields.items() if name in Terms.model_fields})
    subject = subject_of(capability.inputs, begun.question())
    return NewJob(
        kind=capability.name,
        problem=pack_request(media, body),
        problem_hash=subject.hash,
        n_buffers=subject.n_buffers,
        options=begun.options.model_dump(mode="json"),
        time_limit_s=begun.options.time_limit_s,
        name=None if subject.name is None else subject.name[:NAME_CHARACTERS],
        **said,
        **_terms_of_job(terms),
    )


def _terms_of_job(terms: Terms) -> dict[str, Any]:
    deadline_at = None if terms.deadline_s is None else time.time() + terms.deadline_s
    return {"priority": terms.priority, "deadline_at": deadline_at}


def new_job(problem: Problem, options: Options, **said: Any) -> NewJob:
    """Make a job of a submission that can be solved; raises OptionError where it cannot."""
    options.check()
    options.profile_of(problem)
    instance = compile_problem(problem)
    check_solver(problem, instance, options.solver)
    return NewJob(
        problem=pack_problem(problem),
        problem_hash=problem_hash(problem, instance),
        n_buffers=len(problem.buffers),
        options=options.model_dump(mode="json"),
        time_limit_s=options.time_limit_s,
        name=None if problem.name is None else problem.name[:NAME_CHARACTERS],
        **said,
    )


def idempotency_key(header: str | None) -> str | None:
    """Return the key under which a request is done once; raises OptionError."""
    if header is not None and not _KEY.fullmatch(header):
        raise OptionError(f"Idempotency-Key: must be at most 200 visible ASCII characters, got {shown(header)}")
    return header


def last_event_id(header: str | None) -> int:
    """Return the number of the last event that a follower has seen, 0 for none; raises OptionError."""
    if header is None:
        return 0
    if not (header.isascii() and header.isdecimal() and len(header) < 10):
        raise OptionError(f"Last-Event-ID: must be the number of an event, got {shown(header)}")
    return int(header)


def read_job_change(body: bytes) -> JobChange:
    """Read how a job is to change; raises InputError."""
    try:
        return JobChange.model_validate(read_object(body))
    except ValidationError as error:
        raise InputError(*sentences(error)) from error


def read_query(model: type[Q], query: QueryParams) -> Q:
    """Read the query of a call about jobs; raises OptionError."""
    counts = Counter(name for name, _ in query.multi_items())
    if repeated := sorted(name for name, count in counts.items() if count > 1):
        raise OptionError(*(f"{shown(name)}: must be given once" for name in repeated[:10]))
    try:
        return model.model_validate_strings(dict(query))
    except ValidationError as error:
        raise OptionError(*sentences(error, options=model.model_fields)) from error


def _terms(asked: Mapping[str, str], inside: Mapping[str, Any]) -> Terms:
    if both := asked.keys() & inside.keys():
        raise OptionError(*(f"{name}: must come in the body or in the query, got both" for name in sorted(both)))
    try:
        said = (Terms.model_validate_strings(dict(asked)), Terms.model_validate(dict(inside)))
        return Terms.model_construct(**{name: getattr(one, name) for one in said for name in one.model_fields_set})
    except ValidationError as error:
        raise OptionError(*sentences(error)) from error


def _digest(kind: str, body: bytes, query: QueryParams) -> str:
    return sha256(f"{kind}\n{query}\n".encode() + body).hexdigest()
