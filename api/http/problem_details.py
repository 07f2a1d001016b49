"""Errors as problem details (RFC 9457): `application/problem+json` with one sentence for each broken rule."""

import json
import logging
import re
from collections.abc import Mapping, Sequence
from functools import cache
from http import HTTPStatus
from itertools import chain
from types import SimpleNamespace
from typing import Any, cast

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import compile_path

from memplan.api.faults import FaultError
from memplan.api.refusals import RefusalError, UnavailableError
from memplan.api.request_bodies import MediaTypeError, TooLargeError
from memplan.api.store.errors import FullDiskError, StoreError
from memplan.api.workers.task import LostWorkersError
from memplan.planner.errors import FormatError, InputError, OptionError, TimeOverError, excerpt, sentences_of_options
from memplan.planner.errors.did_you_mean import KNOWN_FIELDS, OtherWords, closest_word
from memplan.planner.model.field_docs import DescribedFields
from memplan.questions import QUESTIONS, former_names
from memplan.questions.reading import ReadOptions

REFUSED = InputError, RefusalError, FaultError, StoreError, LostWorkersError
"""The exception classes that are answered with problem details."""
MEDIA_TYPE = "application/problem+json"
_LOG = logging.getLogger("memplan")
_CAPITALS = re.compile(r"(?<=[a-z])(?=[A-Z])")
_AFTER_LOSSES_S = 60.0
"""The seconds after which a client should retry a problem that was running, or arrived, when workers died."""
NO_ROOM = "jobs: the disk of the database is full, so new jobs cannot be accepted now"
ROOM = "all questions are answered; DELETE /v1/jobs/ID?forget=true removes a job that has ended, and makes room"
"""Sentences for a full disk: which call is refused, and which calls still work."""
_PATH_SHOWN = 200
_JOBS = "/v1/jobs/"
_NEAR = 0.75
_PATHS: OtherWords = {
    "/healthz": "/health /healthcheck /livez /live /alive /ping /status /heartbeat",
    "/readyz": "/ready /readiness",
    "/docs, or /openapi.json for programs": "/docs /openapi /openapi.yaml /swagger /swagger.json /redoc /api /help",
    "/openapi.json, whose info has the version": "/version /v1/version",
}
"""For each path of this service, the paths that other services use for it, to suggest the right one in a 404."""
_JOB_ACTIONS = dict.fromkeys(("cancel", "stop", "abort", "kill", "delete", "remove"), "DELETE")
_JOB_ACTIONS |= dict.fromkeys(("status", "state", "info", "show"), "GET")
"""For each last part of the path of a job that other services use, the method that does this here."""
_TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}
"""Status phrases of RFC 9110 for which older versions of Python have other texts."""


class ProblemDetails(DescribedFields, BaseModel):
    """The body of an error response."""

    model_config = ConfigDict(extra="forbid")

    type: str = Field(default="about:blank")
    """Always `about:blank`, because `status` says what kind of error it is."""
    title: str
    """The phrase of the HTTP status, such as `Unprocessable Content`."""
    status: int
    """The HTTP status, such as 422."""
    detail: str
    """The first of `errors`."""
    errors: list[str]
    """One sentence for each broken rule, such as `buffers[3].end: must be greater than start (7), got 5`."""
    hints: list[str] = Field(default=[])
    """The remedies that the sentences themselves do not contain; left out if there are none."""


def problem_details(
    status: int, sentences: tuple[str, ...], headers: Mapping[str, str] | None = None, hints: Sequence[str] = ()
) -> Response:
    """Return an error response whose body, ASCII JSON, has the sentences and `hints` (remedies) as problem details."""
    content: dict[str, Any] = {
        "type": "about:blank",
        "title": _TITLES.get(status) or HTTPStatus(status).phrase,
        "status": status,
        "detail": sentences[0],
        "errors": sentences,
    }
    if hints:
        content["hints"] = hints
    return Response(json.dumps(content), status, dict(headers or {}), MEDIA_TYPE)


def add_error_answers(app: Starlette) -> None:
    """Make the app answer every error with problem details."""
    for error_type in REFUSED:
        app.add_exception_handler(error_type, _refuse_client)
    app.add_exception_handler(RequestValidationError, _refuse_query)
    app.add_exception_handler(HTTPException, _answer_http_error)


def _input_error_status(error: InputError) -> int:
    """Return the HTTP status of an input error: by its class, 413 (too large), 415, 504 or 400, else 422."""
    if isinstance(error, TooLargeError):
        return 413
    if isinstance(error, MediaTypeError):
        return 415
    if isinstance(error, TimeOverError):
        return 504
    return 400 if isinstance(error, FormatError) else 422


def error_answer(error: Exception) -> Response | None:
    """Return the response to an error whose text callers may see; None for any other error, an internal fault."""
    if isinstance(error, InputError):
        return problem_details(_input_error_status(error), error.sentences, hints=error.ways)
    if isinstance(error, FaultError):
        return problem_details(500, (str(error),))
    if isinstance(error, FullDiskError):
        _LOG.error("%s", error)
        error = UnavailableError(NO_ROOM, _AFTER_LOSSES_S, (ROOM,))
    if isinstance(error, StoreError):
        _LOG.error("%s", error)  # The error may contain names of machines, so only the log may show its text.
        error = UnavailableError("memplan: the database does not respond at the moment")
    if isinstance(error, LostWorkersError):
        error = UnavailableError(str(error), _AFTER_LOSSES_S)
    if isinstance(error, RefusalError):
        return problem_details(error.status, (str(error),), error.headers, error.ways)
    return None


def refusal_response(request: Request, error: Exception) -> Response:
    """Return the response to an error in REFUSED; count and log its reason without data of the caller."""
    answer = error_answer(error)
    assert answer is not None
    reason = _CAPITALS.sub("-", type(error).__name__.removesuffix("Error")).lower()
    route = str(getattr(request.scope.get("route"), "path", None))
    request.app.state.service.metrics.count_refusal(reason, route, _subject_of(str(error)))
    _LOG.info("refused for %s: %s", reason, route)
    return answer


@cache
def _field_names() -> frozenset[str]:
    own = (each.options.model_fields for each in QUESTIONS.values())
    return frozenset(chain(ReadOptions.model_fields, *own, *KNOWN_FIELDS.values(), ("body", "file", "content-type")))


def _subject_of(sentence: str) -> str:
    """Return the field or option at the beginning of an error sentence; `other` if it names none."""
    path = sentence.partition(": ")[0]
    return next((name for name in reversed(re.findall(r"[\w-]+", path)) if name in _field_names()), "other")


async def _refuse_client(request: Request, error: Exception) -> Response:
    return refusal_response(request, error)


async def _refuse_query(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    faults = [each | {"loc": each["loc"][1:]} for each in error.errors()]
    models = (each.field_info.annotation for each in request.scope["route"].dependant.query_params)
    options = {name: about for model in models for name, about in getattr(model, "model_fields", {}).items()}
    wrong = cast(ValidationError, SimpleNamespace(errors=lambda **_: faults))
    return await _refuse_client(request, OptionError(*sentences_of_options(wrong, options)))


async def _answer_http_error(request: Request, error: Exception) -> Response:
    """Return the response to an unknown path, method or job; it suggests the path or method probably meant."""
    assert isinstance(error, HTTPException)
    path: str = request.scope["path"]
    shown_path = path if path.isprintable() and len(path) <= _PATH_SHOWN else excerpt(path)
    methods_by_path: Mapping[str, set[str]] = request.app.state.calls
    job_id = path.removeprefix(_JOBS)
    sentence = str(error.detail)
    if error.status_code == 405:
        fitting = (methods for template, methods in methods_by_path.items() if compile_path(template)[0].match(path))
        allowed = ", ".join(sorted(method for methods in fitting for method in methods))
        allowed = allowed or (error.headers or {}).get("Allow", "")
        sentence = f"method: must be {allowed} for {shown_path}, got {request.method}"
    elif error.status_code == 404 and any(compile_path(template)[0].match(path) for template in methods_by_path):
        job_id = job_id.partition("/")[0]
        sentence = (
            f"job: there is no {excerpt(job_id)} that this key may see: the job has expired, or it never existed"
            f" (GET {_JOBS.rstrip('/')} lists the existing jobs)"
        )
    elif error.status_code == 404:
        asked = re.sub(r"^/(v\d+/)?", "/v1/", path).replace(
            f"{_JOBS}{job_id.partition('/')[0]}/", f"{_JOBS}{{job_id}}/"
        )
        former = former_names().get(asked.removeprefix("/v1/"), "").partition(" ")[0]
        tried = (f"/v1/{former}" if former else asked, path)
        near = (closest_word(each, methods_by_path, cutoff=_NEAR) for each in tried)
        suggestion = closest_word(path.rstrip("/"), (), _PATHS) or next(filter(None, near), None)
        job, _, action = job_id.partition("/")
        if path.startswith(_JOBS) and action in _JOB_ACTIONS:
            suggestion = f"{_JOB_ACTIONS[action]} {_JOBS}{job if job.isprintable() else '{job_id}'}"
        way = f"did you mean {suggestion}?" if suggestion else "GET /docs shows all calls"
        sentence = f"path: nothing is at {shown_path} ({way})"
    return problem_details(error.status_code, (sentence,), dict(error.headers or {}))


def error_answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI entries for error statuses of a call; `calls.toml` has their descriptions."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemDetails"}}}
    return {status: {"content": content} for status in statuses}
