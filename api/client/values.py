"""Jobs, events and results of batches, as the service writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict

from memplan.api.client.errors import RefusedError
from memplan.api.store.job_states import OPEN, State
from memplan.planner.model.plan import Plan


class RemoteJob(BaseModel):
    """A job in its present state; fields that a newer service adds are left out."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    id: str
    kind: str = "plan"
    state: State
    meaning: str
    name: str | None = None
    problem_hash: str
    priority: int
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    deadline_at: datetime | None = None
    progress: dict[str, Any] | None = None
    plan_status: str | None = None
    plan_hash: str | None = None
    attempts: int = 0
    late_s: float | None = None
    error: str | None = None

    @property
    def is_over(self) -> bool:
        """True if the job has ended."""
        return self.state not in OPEN


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
