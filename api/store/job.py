"""Jobs as the store keeps them."""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memplan.api.store.job_states import State
from memplan.solvers.search.result import Progress


def new_id() -> str:
    """Return a name for a job that sorts by when it was made (UUID version 7, RFC 9562 section 5.7 and 6.2)."""
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    value = milliseconds << 80 | 7 << 76 | nanoseconds * 4096 // 1_000_000 << 64 | 2 << 62 | secrets.randbits(62)
    text = f"{value:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


@dataclass(frozen=True, kw_only=True)
class NewJob:
    """A job that is submitted: `problem` is packed JSON; the time limit counts from its start.

    `idempotency_key` makes one job of equal submissions with the same key (`key_id`); `request_digest` tells if they
    are equal.
    """

    problem: bytes
    problem_hash: str
    n_buffers: int
    options: Mapping[str, Any]
    time_limit_s: float
    id: str = field(default_factory=new_id)
    key_id: str | None = None
    name: str | None = None
    priority: int = 0
    deadline_at: float | None = None
    created_at: float = field(default_factory=time.time)
    idempotency_key: str | None = None
    request_digest: str | None = None


@dataclass(frozen=True, kw_only=True)
class StoredJob:
    """A job, without its problem and its plan. Times are seconds since 1970; `late_s` is by how much it ended late."""

    id: str
    key_id: str | None
    state: State
    priority: int
    problem_hash: str
    name: str | None
    n_buffers: int
    options: Mapping[str, Any]
    deadline_at: float | None
    created_at: float
    started_at: float | None
    finished_at: float | None
    attempts: int
    is_cancel_asked: bool
    last_event: int
    progress: Mapping[str, Any] | None
    plan_status: str | None
    error: str | None
    late_s: float | None


@dataclass(frozen=True)
class Lease:
    """The right of a server to run a job: void once another has it. `number` counts the leases of a job."""

    job_id: str
    server: str
    number: int


@dataclass(frozen=True)
class Claim:
    """A job that a server has taken: its problem, and its best plan so far, both packed."""

    lease: Lease
    job: StoredJob
    time_limit_s: float
    problem: bytes
    plan: bytes | None


@dataclass(frozen=True)
class PackedPlan:
    """A packed plan, and its status."""

    data: bytes
    status: str


@dataclass(frozen=True)
class JobOutcome:
    """The end of a job."""

    state: State
    progress: Progress | None = None
    plan: PackedPlan | None = None
    error: str | None = None
