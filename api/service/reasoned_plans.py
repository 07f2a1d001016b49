"""Plans as every caller gets them: those of the plan service, with the reason where nothing fits.

The search of the reason is long work for an event loop, so that a worker does it, in what is left of the time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from pydantic_core import from_json

from memplan.api.service.cache.compiled_problem import CompiledProblem
from memplan.api.service.plan_request import PlanRequest
from memplan.api.service.plan_service import PlanService
from memplan.api.service.work_service import WorkRequest, WorkService
from memplan.api.workers.task import WorkAnswer
from memplan.capabilities.capability import Control
from memplan.capabilities.plan.planning import LEAST_REASON_S, REASON_S, with_reason
from memplan.planner.errors import MemplanError
from memplan.planner.model.plan import Explanation, Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.search.deadline import Deadline
from memplan.solvers.search.result import Progress

_LOG = logging.getLogger("memplan")
_COUNTED_S = 30.0
"""The seconds that a reason may take whose work is counted, as a deterministic search may."""
OnProgress = Callable[[Progress | Mapping[str, Any]], None]


class ReasonedPlans:
    """Plans problems for all calls of a server, and looks into the reason where nothing fits. For one event loop."""

    def __init__(self, solving: PlanService, working: WorkService) -> None:
        self._solving, self._working = solving, working
        self._known: WeakKeyDictionary[CompiledProblem, dict[tuple[float, bool], Explanation]] = WeakKeyDictionary()

    async def plan(self, request: PlanRequest, cancelled: asyncio.Event, on_progress: OnProgress | None = None) -> Plan:
        """Return the plan of the plan service; `on_progress` hears of the stages of a reason, too.

        Where no worker is free for the reason, it is the one that the search saw.
        """
        plan = await self._solving.plan(request, cancelled, on_progress)
        reason_s, said = REASON_S, plan.explanation
        if plan.status != "infeasible" or said is None or cancelled.is_set() or reason_s < LEAST_REASON_S:
            return plan
        known = self._known.setdefault(request.problem, {})
        key = reason_s, request.options.deterministic
        if key not in known:
            if (found := await self._looked_into(request, said, cancelled, on_progress)) is None:
                return plan
            known[key] = found
        return plan.model_copy(update={"explanation": known[key]})

    def answered_again(self, problem_hash: str) -> None:
        """Note that a caller was answered as before, by what was written then."""
        self._solving.answered_again(problem_hash)

    @property
    def waiting(self) -> int:
        """The number of callers that wait for searches that they may share."""
        return self._solving.waiting

    async def _looked_into(
        self, request: PlanRequest, said: Explanation, cancelled: asyncio.Event, on_progress: OnProgress | None
    ) -> Explanation | None:
        counts_work, left_s = request.options.deterministic, request.deadline.left_s
        limit_s = min(_COUNTED_S if counts_work else REASON_S, left_s)
        if limit_s < LEAST_REASON_S:
            return None
        what = request.problem.problem, said, REASON_S, counts_work
        due, key_id = request.deadline.within(limit_s), request.key_id
        asked = WorkRequest("plan", what, due, key_id, run=look_into)
        try:
            answer = await self._working.work(asked, cancelled, on_progress)
        except MemplanError as error:  # the plan is an answer without it
            _LOG.warning("a plan has no more of a reason: %s", error)
            return None
        return Explanation.model_validate(from_json(answer.content))


def look_into(control: Control, problem: Problem, said: Explanation, reason_s: float, counts_work: bool) -> WorkAnswer:
    """Look into the reason that a search saw, in a child."""
    seen = Plan(status="infeasible", explanation=said)
    deadline = Deadline(time.monotonic(), control.deadline.at)
    running = replace(control, deadline=deadline, counted_s=reason_s if counts_work else None)
    found = with_reason(problem, seen, running, reason_s).explanation
    assert found is not None
    return WorkAnswer(found.model_dump_json().encode(), "infeasible")
