"""Jobs, events and results of batches, as the service writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from memplan.api.client.errors import RefusedError
from memplan.api.store.job_states import OPEN, State
from memplan.planner.model.plan import Plan


class RemoteJob(BaseModel):
    """A job in its present state; what else the service says of it is there under its names, as JSON has it."""

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
    """Some jobs, and where the others are."""

    jobs: list[RemoteJob]
    next: str | None


@dataclass(frozen=True)
class RemoteEvent:
    """An event of a job: queued, started, better, progress, retried or finished; `data` says more."""

    seq: int
    kind: str
    data: Mapping[str, Any]


@dataclass(frozen=True)
class BatchResult:
    """The result for one problem of a batch: a plan, or the error."""

    index: int
    plan: Plan | None
    error: RefusedError | None
