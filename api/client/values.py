"""Values received from the service: jobs, events, results of batches, and errors (subclasses of ServiceError)."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict
from pydantic_core import from_json

from memplan.api.store.job import OPEN, State
from memplan.planner.errors import MAX_SHOWN, MemplanError, escape_controls
from memplan.planner.model.plan import Plan

_MOST_SHOWN = 2_000
"""The maximum length, in characters, of an error sentence kept from a service."""


class ServiceError(MemplanError):
    """The service did not answer a request; a retry may succeed after `retry_after_s` seconds."""

    retry_after_s = 0.5


class RefusedError(ServiceError):
    """The service refused a request; `status` is the HTTP status, and `sentences` are the reasons."""

    def __init__(self, status: int, *sentences: str) -> None:
        """Set the HTTP status, and the sentences that give the reasons."""
        super().__init__("\n".join(sentences))
        self.status, self.sentences = status, sentences


class BusyError(RefusedError):
    """The service is overloaded, or its database or workers are unavailable; a retry may succeed."""


class AwayError(ServiceError):
    """The service could not be reached, or did not answer in time."""


class WrongAnswerError(ServiceError):
    """The service's answer is malformed or false, such as a plan that violates a constraint."""


def refusal_of(status: int, content: bytes, retry_after: str = "") -> RefusedError:
    """Return the error for a response, from its HTTP status and its problem details (RFC 9457)."""
    sentences: tuple[str, ...] = ()
    with suppress(LookupError, TypeError, ValueError):
        sentences = tuple(escape_controls(str(each)[:_MOST_SHOWN]) for each in from_json(content)["errors"][:MAX_SHOWN])
    is_busy = status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE)
    sentences = sentences or (f"service: answered with {status}",)
    error = BusyError(status, *sentences) if is_busy else RefusedError(status, *sentences)
    if retry_after.isdecimal():
        error.retry_after_s = float(retry_after)
    return error


class RemoteJob(BaseModel):
    """The current state of a job; further fields that the service sends become attributes with JSON values."""

    model_config = ConfigDict(frozen=True, extra="allow")

    id: str
    kind: str
    state: State
    name: str | None = None
    problem_hash: str
    priority: int = 0
    progress: dict[str, Any] | None = None
    plan_status: str | None = None
    plan_hash: str | None = None
    error: str | None = None

    @property
    def is_over(self) -> bool:
        """True if the job has ended."""
        return self.state not in OPEN


class JobPage(BaseModel):
    """A page of a list of jobs, and the link to the next page; None on the last page."""

    jobs: list[RemoteJob]
    next: str | None


@dataclass(frozen=True)
class RemoteEvent:
    """An event of a job, of kind queued, started, better, progress, retried or finished; `data` has its details."""

    seq: int
    kind: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class BatchResult:
    """The result for the problem at position `index` of a batch: either a plan or an error."""

    index: int
    plan: Plan | None
    error: RefusedError | None
