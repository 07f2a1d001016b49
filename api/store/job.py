"""Jobs in the form that the database stores: a job waits, runs, and ends in one of the final states."""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal, get_args

from pydantic_core import from_json, to_json

State = Literal["queued", "running", "succeeded", "cancelled", "failed", "expired"]
STATES: tuple[State, ...] = get_args(State)

MEANINGS: Mapping[State, str] = {
    "queued": "It waits for its turn.",
    "running": "It is being solved; the best plan so far can be fetched.",
    "succeeded": "It has its answer: a plan, or what is known of why nothing fits.",
    "cancelled": "It was cancelled; the best plan until then, if there was one, is kept.",
    "failed": "It could not be solved, for the reason that its error gives; the best plan so far, if any, is kept.",
    "expired": "Its deadline passed while it waited; the best plan so far, if any, is kept.",
}

OPEN: tuple[State, ...] = ("queued", "running")
ENDED: tuple[State, ...] = tuple(state for state in STATES if state not in OPEN)
"""The final states. A running job that loses its worker returns to the queue instead."""


def new_id() -> str:
    """Return a new job id, a UUID of version 7 (RFC 9562, sections 5.7 and 6.2), which sorts by creation time."""
    milliseconds, nanoseconds = divmod(time.time_ns(), 1_000_000)
    value = milliseconds << 80 | 7 << 76 | nanoseconds * 4096 // 1_000_000 << 64 | 2 << 62 | secrets.randbits(62)
    text = f"{value:032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def creation_time(job_id: str) -> float:
    """Return the creation time that a job id encodes, in seconds since 1970."""
    return int(job_id[:8] + job_id[9:13], 16) / 1000


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job as stored from its submission on; the defaults are the values of a new job.

    Times are seconds since 1970. `time_limit_s` counts from the job's start; `late_s` is by how many seconds it missed
    its deadline.

    idempotency_key: the key under which equal submissions become one job, prefixed with the id of the caller's API key.
    request_digest: the hash of the request, by which submissions are compared.
    attempts, lapses, failures: how often it was started, lost its worker, and got no answer from its child process.
    lease_holder, lease: the worker that runs it, and the number of its last claim; writes of older claims are refused.
    head, body: its request; set when the job is submitted or claimed.
    answer: its best answer so far; set when the job is claimed.
    """

    problem_hash: str
    n_buffers: int
    options: Mapping[str, Any]
    time_limit_s: float
    id: str = field(default_factory=new_id)
    kind: str = "plan"
    key_id: str | None = None
    name: str | None = None
    priority: int = 0
    deadline_at: float | None = None
    created_at: float = field(default_factory=time.time)
    state: State = "queued"
    started_at: float | None = None
    finished_at: float | None = None
    attempts: int = 0
    lapses: int = 0
    failures: int = 0
    is_cancel_asked: bool = False
    last_event: int = 1
    progress: Mapping[str, Any] | None = None
    plan_status: str | None = None
    plan_hash: str | None = None
    error: str | None = None
    late_s: float | None = None
    idempotency_key: str | None = None
    request_digest: str | None = None
    lease_holder: str | None = None
    lease: int = 0
    head: str = ""
    body: bytes = b""
    answer: bytes | None = None


@dataclass(frozen=True)
class WorkAnswer:
    """The answer to a request, as a child process or thread returns it.

    content: the bytes of the answer as the caller receives them.
    status: the status of the plan or answer; None if it has none.
    is_plan: True for a plan, which can later be found by its hash.
    facts: the quality of the answer (such as its gap), for the last progress report of a job.
    is_proved: True for a plan that cannot be improved.
    known: the improved cache entry of the problem; None if the cache stays unchanged.
    searched: the result of the search for the plan, without placements; None if the cache answered.
    """

    content: bytes
    status: str | None = None
    is_plan: bool = False
    facts: Mapping[str, Any] | None = None
    is_proved: bool = False
    known: Any = None
    searched: Any = None

    def pack(self) -> bytes:
        """Return status and content as bytes that, unlike a pickle, may come from a process that is not trusted."""
        return to_json([self.status, self.is_plan]) + b"\n" + self.content

    @classmethod
    def unpack(cls, data: bytes) -> "WorkAnswer":
        """Return the answer that was packed."""
        head, _, content = data.partition(b"\n")
        status, is_plan = from_json(head)
        return cls(content, status, is_plan)

    @property
    def hash(self) -> str | None:
        """The hash `sha256:...` of a plan's JSON; None for any other answer."""
        return f"sha256:{sha256(self.content).hexdigest()}" if self.is_plan else None
