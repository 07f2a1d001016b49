"""Jobs as the store keeps them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memplan.api.store.job_states import State


def new_id() -> str:
    """Return a name for a job that sorts by when it was made (UUID version 7, RFC 9562 section 5.7 and 6.2)."""
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    value = milliseconds << 80 | 7 << 76 | nanoseconds * 4096 // 1_000_000 << 64 | 2 << 62 | secrets.randbits(62)
    text = f"{value:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


@dataclass(frozen=True, kw_only=True)
class JobTerms:
    """The part of a job that its submission says. Times are seconds since 1970."""

    problem_hash: str
    n_buffers: int
    options: Mapping[str, Any]
    id: str = field(default_factory=new_id)
    kind: str = "plan"
    key_id: str | None = None
    name: str | None = None
    priority: int = 0
    deadline_at: float | None = None
    created_at: float = field(default_factory=time.time)


@dataclass(frozen=True, kw_only=True)
class NewJob(JobTerms):
    """A job that is submitted: `problem` is packed, what it is about; the time limit counts from its start.

    `idempotency_key` makes one job of equal submissions with the same key (`key_id`); `request_digest` tells if they
    are equal.
    """

    problem: bytes
    time_limit_s: float
    idempotency_key: str | None = None
    request_digest: str | None = None


@dataclass(frozen=True, kw_only=True)
class StoredJob(JobTerms):
    """A job, without its problem and its plan; the defaults are those of a new one. It ended `late_s` too late."""

    state: State = "queued"
    started_at: float | None = None
    finished_at: float | None = None
    attempts: int = 0
    is_cancel_asked: bool = False
    last_event: int = 1
    progress: Mapping[str, Any] | None = None
    plan_status: str | None = None
    plan_hash: str | None = None
    error: str | None = None
    late_s: float | None = None


@dataclass(frozen=True)
class Lease:
    """The right of a worker to run a job: void once another has it. `number` counts the leases of a job."""

    job_id: str
    holder: str
    number: int


@dataclass(frozen=True)
class Claim:
    """A job that a worker has taken: its problem or request, and its best plan so far, both packed."""

    lease: Lease
    job: StoredJob
    time_limit_s: float
    problem: bytes
    plan: bytes | None


@dataclass(frozen=True)
class PackedPlan:
    """A packed plan, or the answer of another kind of job, its status, and the hash of a plan's JSON."""

    data: bytes
    status: str | None
    hash: str | None = None


@dataclass(frozen=True)
class JobProgress:
    """The progress of a job, as JSON has it, and the seconds since its work began."""

    facts: Mapping[str, Any]
    elapsed_s: float

    @property
    def is_of_plan(self) -> bool:
        """True for a better plan or bound; else it is what the work on another question reports."""
        return "gap" in self.facts


@dataclass(frozen=True)
class JobOutcome:
    """The end of a job."""

    state: State
    progress: Mapping[str, Any] | None = None
    plan: PackedPlan | None = None
    error: str | None = None
