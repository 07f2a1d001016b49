"""The work on a claimed job: a plan by the plan service, or an answer of another kind by the work service."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Protocol

from anyio import to_thread

from memplan.api.cluster.task import WorkAnswer
from memplan.api.jobs.serialization import pack_answer, pack_plan, unpack_plan, unpack_problem, unpack_request
from memplan.api.options import Options
from memplan.api.requests import PLAN
from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.plan_request import PlanRequest
from memplan.api.service.work_service import WorkRequest
from memplan.api.store.job import Claim, JobProgress, PackedPlan, WorkProgress
from memplan.planner.model.plan import Plan
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.search.result import Progress

_LOG = logging.getLogger("memplan")
_LEAST_S = 0.05
"""The time of a job whose deadline has passed between its claim and its start."""
Hear = Callable[[JobProgress, Plan | None], None]
"""Takes the progress of a job, with a better plan where one is sent along."""


class Solves(Protocol):
    """The plan service, as jobs and batches use it."""

    async def plan(
        self,
        request: PlanRequest,
        cancelled: asyncio.Event,
        on_progress: Callable[[Progress | Mapping[str, Any]], None] | None = None,
    ) -> Plan:
        """Return a verified plan by the deadline, or soon after `cancelled` is set the best one so far.

        `on_progress` hears of better plans and bounds, and of the stages of the reason where nothing fits.
        The time limit counts from when a worker is free. Raises FullError where none was until the deadline.
        """


class Works(Protocol):
    """The work service, as jobs use it."""

    async def work(
        self,
        request: WorkRequest,
        cancelled: asyncio.Event,
        on_progress: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> WorkAnswer:
        """Return the answer to a request by its deadline, or soon after `cancelled` is set what there is by then."""


@dataclass(frozen=True)
class Services:
    """The services that do the work of jobs."""

    solving: Solves
    working: Works


@dataclass(frozen=True)
class Worked:
    """What came of the work on a job: its answer, or the best until it `was_cancelled`, if there is one."""

    answer: PackedPlan | None
    progress: JobProgress | None
    was_cancelled: bool


async def worked(claim: Claim, services: Services, cancelled: asyncio.Event, hear: Hear) -> Worked:
    """Do the work of a job; raises what the services raise."""
    left_s = inf
    if claim.job.deadline_at is not None:
        left_s = max(_LEAST_S, claim.job.deadline_at - time.time())
    deadline, limit_s = Deadline.after(left_s), min(claim.time_limit_s, left_s)
    if claim.job.kind == PLAN:
        problem = await to_thread.run_sync(lambda: CompiledProblem.of(unpack_problem(claim.problem)))
        return await _planned(claim, problem, services, deadline, limit_s, cancelled, hear)
    media, body = await to_thread.run_sync(unpack_request, claim.problem)
    request = WorkRequest(
        claim.job.kind,
        media,
        body,
        claim.job.options,
        limit_s,
        deadline,
        claim.job.priority,
        key_id=claim.job.key_id,
        attempt=claim.job.attempts,
    )
    began = time.monotonic()

    def tell(content: Mapping[str, Any]) -> None:
        hear(WorkProgress(time.monotonic() - began, content), None)

    answer = await services.working.work(request, cancelled, tell)
    return Worked(await to_thread.run_sync(pack_answer, answer), None, cancelled.is_set())


async def _planned(
    claim: Claim,
    problem: CompiledProblem,
    services: Services,
    deadline: Deadline,
    limit_s: float,
    cancelled: asyncio.Event,
    hear: Hear,
) -> Worked:
    options = Options.model_validate(dict(claim.job.options) | {"time_limit_s": limit_s})
    # What was found before depends on clocks, which a deterministic plan must not.
    known = None if options.deterministic else claim.plan
    start = None if known is None else await to_thread.run_sync(unpack_plan, known)
    request = PlanRequest(problem, options, deadline, claim.job.priority, start=start, key_id=claim.job.key_id)

    began = time.monotonic()

    def tell(progress: Progress | Mapping[str, Any]) -> None:
        if isinstance(progress, Progress):
            hear(progress, None if progress.found is None else progress.found.plan)
        else:  # a stage of the reason why nothing fits
            hear(WorkProgress(time.monotonic() - began, progress), None)

    plan = await services.solving.plan(request, cancelled, tell)
    packed, was_cancelled = await to_thread.run_sync(pack_plan, plan), plan.stop_reason == "cancelled"
    return Worked(packed if plan.placements or not was_cancelled else None, _progress(plan), was_cancelled)


def _progress(plan: Plan) -> Progress | None:
    if plan.lower_bound is None:
        return None
    return Progress(plan.wall_time_s or 0.0, plan.peak, plan.lower_bound, plan.solver or "")
