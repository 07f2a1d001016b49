"""Reading of submitted jobs: each consists of a question's request and the job's terms (priority and deadline)."""

import time
from collections.abc import Mapping
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlencode

from memplan.api.http.job_models import JobChange, Terms
from memplan.api.options import Options
from memplan.api.request_bodies import PLAN, body_shape
from memplan.api.requests import ParsedRequest, check_time_limit, head_of, merged_options, parse_request, query_values
from memplan.api.settings import Settings
from memplan.api.store.job import Job
from memplan.api.store.tables.jobs import NAME_CHARACTERS
from memplan.planner.errors import OptionError, excerpt
from memplan.planner.errors.did_you_mean import did_you_mean
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.instance.compile import compile_problem
from memplan.questions import QUESTIONS
from memplan.questions.inputs.values import Subject, subject_of
from memplan.questions.plan.reason import check_solver, refuse_own_planner


def read_new_job(body: bytes, media: str, query: str, settings: Settings, said: Mapping[str, Any]) -> Job:
    """Return the job that a `POST /v1/jobs` request submits; the job's field `body` stays empty.

    The job's deadline counts from now. `said` has the job's fields `key_id` and `idempotency_key`. Raises InputError.
    """
    pairs = parse_qsl(query, keep_blank_values=True)
    own: dict[str, list[str]] = {}
    for name, value in pairs:
        if name in own:
            raise OptionError(f"{name}: must be given once")
        if name in ("kind", "name") or name in Terms.model_fields:
            own[name] = [value]
    (kind,), (own_name,) = own.pop("kind", [PLAN]), own.pop("name", [None])
    if kind not in QUESTIONS:
        names = ", ".join(QUESTIONS)
        raise OptionError(f"kind: must be one of {names}, got {excerpt(kind)}{did_you_mean(kind, QUESTIONS)}")
    # If the question has an option `name`, the job's name is also passed on as the value of that option.
    passed = own.keys() | {"kind"} | ({"name"} - body_shape(kind).known)
    head = head_of(media, urlencode([pair for pair in pairs if pair[0] not in passed]))
    asked = parse_request(kind, head, body)
    check_time_limit(asked.options, settings)
    terms = merged_options(Terms, asked.terms, query_values([Terms], asked.terms, own))
    change = None if own_name is None else JobChange.model_validate({"name": own_name})
    subject, digest = _job_subject(asked, body), sha256(f"{kind}\n{query}\n{media}\n".encode() + body)
    named = subject.name if change is None else change.name
    return Job(
        kind=kind,
        head=head,
        problem_hash=subject.hash,
        n_buffers=subject.n_buffers,
        name=None if named is None else named[:NAME_CHARACTERS],
        options=asked.options.model_dump(mode="json"),
        time_limit_s=asked.options.time_limit_s,
        priority=terms.priority,
        deadline_at=None if terms.deadline_s is None else time.time() + terms.deadline_s,
        request_digest=digest.hexdigest(),
        **said,
    )


def _job_subject(asked: ParsedRequest, body: bytes) -> Subject:
    """Check a job's inputs, and return the hash, name and buffer count of its subject, such as its problem.

    A file of another system is not checked, because only a worker process parses it; its subject has the body's hash.
    """
    if asked.is_foreign:
        name = next((file.name for file in asked.files.values()), None)
        return Subject(f"sha256:{sha256(body).hexdigest()}", name, 0)
    values, question = asked.input_values(), asked.question
    if asked.is_plain_plan:
        problem, options = values["problem"], asked.options
        assert isinstance(options, Options)
        options.check()
        options.profile_of(problem)
        instance = compile_problem(problem)
        check_solver(problem, instance, options.solver)
        return Subject(problem_hash(problem, instance), problem.name, len(problem.buffers))
    refuse_own_planner(getattr(asked.options, "solver", ""))
    if question.check is not None:
        question.check(values, asked.options)
    return subject_of(question.inputs, values)
