"""Submissions of jobs: a request of a question, and its terms."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from pydantic import ValidationError

from memplan.api.http.job_models import NAME_CHARACTERS, Terms
from memplan.api.jobs.serialization import pack_problem, pack_request
from memplan.api.options import Options
from memplan.api.requests import PLAN, ParsedRequest, check_time_limit, head_of, parse_request
from memplan.api.settings import Settings
from memplan.api.store.job import NewJob
from memplan.capabilities.plan.planning import check_solver
from memplan.capabilities.question import Subject, subject_of
from memplan.capabilities.registry import CAPABILITIES
from memplan.planner.errors import OptionError, path_of, sentences, shown
from memplan.planner.errors.did_you_mean import did_you_mean
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.instance.compile import compile_problem
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import WireValue

Pairs = Sequence[tuple[str, str]]
Q = TypeVar("Q", bound=WireValue)
_KEY = re.compile(r"[!-~]{1,200}")


def read_new_job(media: str, query: str, body: bytes, settings: Settings, said: Mapping[str, Any]) -> NewJob:
    """Make a job of the body of `POST /v1/jobs`, its deadline counted from now; raises InputError.

    `said` has the key of the caller and the one under which the request is done once.
    """
    pairs = parse_qsl(query, keep_blank_values=True)
    kind = kind_of(pairs)
    asked_terms = _once([pair for pair in pairs if pair[0] in Terms.model_fields])
    rest = urlencode([pair for pair in pairs if pair[0] not in Terms.model_fields and pair[0] != "kind"])
    head = head_of(media, rest)
    asked = parse_request(kind, head, body)
    check_time_limit(asked.options, settings)
    terms = _terms(asked_terms, asked.terms)
    digest = sha256(f"{kind}\n{query}\n{media}\n".encode() + body).hexdigest() if said.get("idempotency_key") else None
    more = dict(said) | {
        "request_digest": digest,
        "priority": terms.priority,
        "deadline_at": None if terms.deadline_s is None else time.time() + terms.deadline_s,
    }
    if not asked.is_plain_plan:
        return _new_job(kind, pack_request(head, body), _subject_of(asked, body), asked.options, more)
    assert isinstance(asked.options, Options)
    return new_job(asked.question()["problem"], asked.options, **more)


def _subject_of(asked: ParsedRequest, body: bytes) -> Subject:
    """Return the facts of what a job is about, whose inputs are checked unless another process reads them."""
    if asked.is_foreign:
        name = next((file.name for file in asked.files.values()), None)
        return Subject(f"sha256:{sha256(body).hexdigest()}", name, 0)
    question, capability = asked.question(), asked.capability
    if capability.check is not None:
        capability.check(question, asked.options)
    return subject_of(capability.inputs, question)


def new_job(problem: Problem, options: Options, **said: Any) -> NewJob:
    """Make a job of a problem that can be planned; raises OptionError where it cannot."""
    options.check()
    options.profile_of(problem)
    instance = compile_problem(problem)
    check_solver(problem, instance, options.solver)
    subject = Subject(problem_hash(problem, instance), problem.name, len(problem.buffers))
    return _new_job(PLAN, pack_problem(problem), subject, options, said)


def _new_job(kind: str, packed: bytes, subject: Subject, options: WireValue, said: Mapping[str, Any]) -> NewJob:
    return NewJob(
        kind=kind,
        problem=packed,
        problem_hash=subject.hash,
        n_buffers=subject.n_buffers,
        options=options.model_dump(mode="json"),
        time_limit_s=options.time_limit_s,  # type: ignore[attr-defined]  # all options have it
        name=None if subject.name is None else subject.name[:NAME_CHARACTERS],
        **said,
    )


def kind_of(pairs: Pairs) -> str:
    """Return the kind of job that a query asks for; raises OptionError."""
    kind = _once([pair for pair in pairs if pair[0] == "kind"]).get("kind", PLAN)
    if kind not in CAPABILITIES:
        raise OptionError(
            f"kind: must be one of {', '.join(CAPABILITIES)}, got {shown(kind)}{did_you_mean(kind, CAPABILITIES)}"
        )
    return kind


def read_query(model: type[Q], query: Pairs) -> Q:
    """Read the query of a call about jobs; raises OptionError."""
    try:
        return model.model_validate_strings(_once(query))
    except ValidationError as error:
        raise OptionError(*sentences(error, options=model.model_fields)) from error


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


def _once(pairs: Pairs) -> dict[str, str]:
    """Return a query whose names are given once; raises OptionError."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = sorted({name for name in found if sum(name == other for other, _ in pairs[:200]) > 1})
        raise OptionError(*(f"{path_of((name,))}: must be given once" for name in names[:10] or ["query"]))
    return found


def _terms(asked: Mapping[str, str], inside: Mapping[str, Any]) -> Terms:
    if both := asked.keys() & inside.keys():
        raise OptionError(*(f"{name}: must come in the body or in the query, got both" for name in sorted(both)))
    try:
        said = (Terms.model_validate_strings(dict(asked)), Terms.model_validate(dict(inside)))
        return Terms.model_construct(**{name: getattr(one, name) for one in said for name in one.model_fields_set})
    except ValidationError as error:
        raise OptionError(*sentences(error)) from error
