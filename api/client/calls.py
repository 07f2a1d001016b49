"""Each call of the service as a value: its request, and the reader of its answer. Nothing here touches a network.

So the blocking client and the asynchronous one share all but the sending.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, cast

import httpx
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from memplan.api.client.errors import BusyError, RefusedError, WrongAnswerError
from memplan.api.client.patience import timeout
from memplan.api.client.values import BatchResult, RemoteEvent, RemoteJob
from memplan.api.options import NO_OPTIONS, Options
from memplan.api.service.cache.canonical_plan import translated
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.capabilities.bodies import written_body
from memplan.capabilities.capability import Capability, CapabilityOptions
from memplan.capabilities.question import Question
from memplan.capabilities.reading import validated
from memplan.capabilities.registry import CAPABILITIES
from memplan.planner.errors import InputError, sentences
from memplan.planner.formats.memplan_json import parse, read_plan, write_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S

T = TypeVar("T")
A = TypeVar("A")
_JSON = "application/json"
_NDJSON = "application/x-ndjson"
_NONE: Mapping[str, Any] = {}
_PATIENCE_S = 30.0
"""The seconds that an answer may take beside the time limit of a search."""


@dataclass(frozen=True)
class ServiceCall(Generic[T]):
    """A request, and the reader of its answer; with `missing_is_none`, 404 gives None."""

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    params: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    content: bytes | None = None
    timeout_s: float = _PATIENCE_S
    missing_is_none: bool = False

    @property
    def sent(self) -> dict[str, Any]:
        """The keyword arguments for httpx."""
        return {
            "params": dict(self.params),
            "headers": dict(self.headers),
            "content": self.content,
            "timeout": timeout(self.timeout_s),
        }

    def answer(self, response: httpx.Response) -> T:
        """Return the value of a response; raises RefusedError, BusyError and WrongAnswerError."""
        if response.status_code == 404 and self.missing_is_none:
            return cast(T, None)
        if not response.is_success:
            raise refusal(response)
        try:
            return self.read(response)
        except ValidationError as error:
            raise WrongAnswerError(f"{self.path}: {sentences(error)[0]}") from error
        except InputError as error:
            raise WrongAnswerError(f"{self.path}: {error.sentences[0]}") from error


def refusal(response: httpx.Response) -> RefusedError:
    """Return the error that a response describes."""
    try:
        details = json.loads(response.content)
    except ValueError:
        details = None
    return refusal_of(response.status_code, details, response.headers.get("retry-after"))


def refusal_of(status: int, details: Any, retry_after: str | None = None) -> RefusedError:
    """Return the error of a status and problem details."""
    said = details.get("errors") if isinstance(details, dict) else None
    told = [str(one) for one in said] if isinstance(said, list) and said else [f"service: answered with {status}"]
    if status in (429, 503):
        wait_s = float(retry_after) if retry_after is not None and retry_after.isdecimal() else 1.0
        return BusyError(status, *told, retry_after_s=wait_s)
    return RefusedError(status, *told)


def plan(problem: Problem, options: Options = NO_OPTIONS) -> ServiceCall[Plan]:
    """Plan a problem, and wait for the plan: `POST /v1/plan`."""
    return ServiceCall(
        "POST",
        "/v1/plan",
        lambda response: checked(problem, read_plan(response.content, problem)),
        headers={"Content-Type": _JSON, "Accept": _JSON},
        content=_submission(problem, options),
        timeout_s=options.time_limit_s + _PATIENCE_S,
    )


def known_plan(problem: Problem) -> ServiceCall[Plan | None]:
    """Return the best plan that the service knows of a problem, which is not solved, and not even sent.

    `GET /v1/plans/{problem_hash}`.
    """
    compiled = CompiledProblem.of(problem)

    def read(response: httpx.Response) -> Plan | None:
        known = read_plan(response.content, problem)
        found = translated(compiled, known)
        if found is None:
            raise WrongAnswerError("known plan: is not one of this problem")
        return found

    return ServiceCall("GET", f"/v1/plans/{compiled.hash}", read, missing_is_none=True)


def submit(
    problem: Problem,
    options: Options = NO_OPTIONS,
    *,
    priority: int = 0,
    deadline_s: float | None = None,
    idempotency_key: str | None = None,
) -> ServiceCall[RemoteJob]:
    """Submit a problem as a job; once this returns, it is not lost: `POST /v1/jobs`."""
    content = _submission(problem, options, _terms(priority, deadline_s))
    return ServiceCall("POST", "/v1/jobs", _job, headers=_once(idempotency_key), content=content)


def job(job_id: str) -> ServiceCall[RemoteJob]:
    """Look at a job: `GET /v1/jobs/{id}`."""
    return ServiceCall("GET", f"/v1/jobs/{job_id}", _job)


def jobs(params: Mapping[str, str]) -> ServiceCall[tuple[Sequence[RemoteJob], str | None]]:
    """`GET /v1/jobs`: a page, and the id after which the next one begins; None: there is none."""

    def read(response: httpx.Response) -> tuple[Sequence[RemoteJob], str | None]:
        content = parse(response.content)
        found = [RemoteJob.model_validate(one) for one in content["jobs"]]
        return found, found[-1].id if content["next"] and found else None

    return ServiceCall("GET", "/v1/jobs", read, params=params)


def job_plan(job_id: str, problem: Problem) -> ServiceCall[Plan | None]:
    """Return the best plan so far of a job for this problem, the final one once it is over; None: there is none.

    `GET /v1/jobs/{id}/plan`.
    """
    return ServiceCall(
        "GET",
        f"/v1/jobs/{job_id}/plan",
        lambda response: checked(problem, read_plan(response.content, problem)),
        headers={"Accept": _JSON},
        missing_is_none=True,
    )


def ask(name: str, fields: Mapping[str, Any], **options: Any) -> ServiceCall[dict[str, Any]]:
    """Return the answer of a capability, such as `order`, with inputs and answer as JSON has them."""
    limit_s = float(options.get("time_limit_s", DEFAULT_TIME_LIMIT_S))
    return ServiceCall(
        "POST",
        f"/v1/{name}",
        lambda response: _object(response.content),
        headers={"Content-Type": _JSON},
        content=to_json({**fields, "options": options}),
        timeout_s=limit_s + _PATIENCE_S,
    )


def answer(capability: Capability[A], question: Question, options: CapabilityOptions) -> ServiceCall[A]:
    """Return the answer of a capability to its inputs, by their names, verified as far as it can be here."""

    def read(response: httpx.Response) -> A:
        found: A = TypeAdapter(capability.answer).validate_json(response.content)
        if (wrong := capability.refutes({**question, "options": options}, found)) is not None:
            raise WrongAnswerError(f"{capability.name}: {wrong}")
        return found

    return ServiceCall(
        "POST",
        capability.path,
        read,
        headers={"Content-Type": _JSON},
        content=written_body(capability, question, options),
        timeout_s=options.time_limit_s + _PATIENCE_S,
    )


def method(name: str, answer: Callable[[Capability[Any], Question, Any], Any]) -> Callable[..., Any]:
    """Return the method of a client that asks for a capability; raises AttributeError where there is none."""
    known = name.rstrip("_").replace("_", "-")
    if known not in CAPABILITIES:
        raise AttributeError(f"client: has no call {name!r}")
    capability = CAPABILITIES[known]

    def call(*inputs: Any, options: CapabilityOptions | None = None, **given: Any) -> Any:
        names = [each.name for each in capability.inputs]
        question = dict(zip(names, inputs, strict=False)) | {name: given.pop(name) for name in names if name in given}
        return answer(capability, question, options or validated(capability.options, given))

    return call


def submit_request(
    kind: str,
    fields: Mapping[str, Any],
    *,
    options: Mapping[str, Any] = _NONE,
    priority: int = 0,
    deadline_s: float | None = None,
    idempotency_key: str | None = None,
) -> ServiceCall[RemoteJob]:
    """Submit a request of a kind of job; once this returns, it is not lost: `POST /v1/jobs?kind=…`."""
    return ServiceCall(
        "POST",
        "/v1/jobs",
        _job,
        params={"kind": kind},
        headers=_once(idempotency_key),
        content=to_json({**fields, "options": dict(options), **_terms(priority, deadline_s)}),
    )


def job_result(job_id: str) -> ServiceCall[dict[str, Any] | None]:
    """Return the answer of a job, of whatever kind, as JSON has it: the best so far; None: there is none.

    `GET /v1/jobs/{id}/result`.
    """
    return ServiceCall(
        "GET", f"/v1/jobs/{job_id}/result", lambda response: _object(response.content), missing_is_none=True
    )


def cancel(job_id: str) -> ServiceCall[RemoteJob]:
    """End a job; its best plan so far is kept: `DELETE /v1/jobs/{id}`."""
    return ServiceCall("DELETE", f"/v1/jobs/{job_id}", _job)


def forget(job_id: str) -> ServiceCall[RemoteJob]:
    """Remove a job that has ended, with all that is kept of it: `DELETE /v1/jobs/{id}?forget=true`."""
    return ServiceCall("DELETE", f"/v1/jobs/{job_id}", _job, params={"forget": "true"})


def rename(job_id: str, name: str) -> ServiceCall[RemoteJob]:
    """Give a job another name: `PATCH /v1/jobs/{id}`."""
    return ServiceCall("PATCH", f"/v1/jobs/{job_id}", _job, content=json.dumps({"name": name}).encode())


def batch_lines(problems: Iterable[Problem], options: Options) -> bytes:
    """Write the body of `POST /v1/batch`."""
    return b"".join(_submission(problem, options) + b"\n" for problem in problems)


BATCH_HEADERS = {"Content-Type": _NDJSON, "Accept": _NDJSON}


def batch_result(line: str, problems: Sequence[Problem]) -> BatchResult:
    """Read a line of the answer to a batch; raises WrongAnswerError."""
    try:
        content = parse(line.encode())
        index = int(content["index"])
        if "error" in content:
            return BatchResult(index, None, refusal_of(int(content["error"]["status"]), content["error"]))
        return BatchResult(index, checked(problems[index], Plan.model_validate(content["plan"])), None)
    except (InputError, LookupError, TypeError, ValueError) as error:
        raise WrongAnswerError(f"batch: {error}") from error


class EventReader:
    """Puts the lines of a stream of server-sent events together; remembers where it is."""

    def __init__(self) -> None:
        self.last: int | None = None
        self.is_over = False
        self._fields: dict[str, str] = {}

    @property
    def headers(self) -> dict[str, str]:
        """The header that requests the events after the last one that came."""
        accept = {"Accept": "text/event-stream"}
        return accept if self.last is None else accept | {"Last-Event-ID": str(self.last)}

    def line(self, line: str) -> RemoteEvent | None:
        """Take a line without its end; return the event that it completes, if it does."""
        if line:
            name, _, value = line.partition(":")
            if name:  # else it is a comment, which keeps the connection alive
                self._fields[name] = value.removeprefix(" ")
            return None
        found, self._fields = self._fields, {}
        if "data" not in found:
            return None
        try:
            event = RemoteEvent(int(found.get("id", "")), found.get("event", "message"), json.loads(found["data"]))
        except ValueError as error:
            raise WrongAnswerError(f"events: {error}") from error
        self.last = event.seq
        self.is_over = event.kind == "finished"
        return event


def checked(problem: Problem, plan: Plan) -> Plan:
    """Return a plan that passes the verifier here, too; raises WrongAnswerError."""
    if violations := verify(problem, plan):
        raise WrongAnswerError(f"plan: is not one of this problem: {violations[0].message}")
    return plan


def _object(content: bytes) -> dict[str, Any]:
    found = parse(content)
    if not isinstance(found, dict):
        raise WrongAnswerError("answer: is not an object")
    return found


def _terms(priority: int, deadline_s: float | None) -> dict[str, Any]:
    return {"priority": priority} | ({} if deadline_s is None else {"deadline_s": deadline_s})


def _once(idempotency_key: str | None) -> dict[str, str]:
    """Return the headers of what is submitted once, however often it is sent."""
    return {"Content-Type": _JSON, "Idempotency-Key": idempotency_key or uuid.uuid4().hex}


def _job(response: httpx.Response) -> RemoteJob:
    return RemoteJob.model_validate(parse(response.content))


def _submission(problem: Problem, options: Options, terms: Mapping[str, Any] | None = None) -> bytes:
    rest = {"options": options.model_dump(exclude_defaults=True), **(terms or {})}
    return b'{"problem":' + write_problem(problem).strip() + b"," + json.dumps(rest).encode()[1:]
