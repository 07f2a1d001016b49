"""`POST /v1/plan`: a problem in, a verified plan out, within its time limit."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Hashable
from dataclasses import dataclass
from functools import partial
from hashlib import sha256

from fastapi import APIRouter, Request, Response

from memplan.api.http.app_state import Service
from memplan.api.http.auth.gate import PlainRoute, may
from memplan.api.http.keeping import kept_plan
from memplan.api.http.openapi.schemas import PLAN_ANSWER, PLAN_REQUEST, selectable
from memplan.api.http.problem_details import error_answers
from memplan.api.http.requests.bodies import (
    CSV,
    FORMAT_OF,
    JSON,
    format_of_answer,
    links_of,
    media_type,
    plan_answer,
    read_body,
)
from memplan.api.http.requests.keep_requests import WORD, read_keeping
from memplan.api.http.requests.readers import LARGE_BYTES, limit_of
from memplan.api.http.requests.submissions import (
    GRACE_S,
    ROW_S,
    BegunSubmission,
    begin_submission,
    check_size,
    check_time_limit,
)
from memplan.api.http.selected import selected
from memplan.api.http.written_answers import WrittenAnswer
from memplan.api.logs import PROBLEMS
from memplan.api.refusals import NotInTimeError
from memplan.api.service.cache.compiled_problem import CompiledProblem, Reading
from memplan.api.service.plan_request import PlanRequest
from memplan.api.store.caller import Caller
from memplan.capabilities.capability import due
from memplan.planner import __version__
from memplan.planner.model.plan import Explanation, Plan
from memplan.solvers.search.deadline import Deadline

router = APIRouter(route_class=PlainRoute)


@router.post(
    "/v1/plan",
    summary="Plan a problem",
    response_class=Response,
    responses={200: PLAN_ANSWER, **error_answers(400, 413, 415, 422, 429)},
    openapi_extra=selectable(PLAN_REQUEST),
    dependencies=[may("plan")],
)
async def plan(request: Request) -> Response:
    """Answer with the best plan found within the time limit, verified, with a proof or an honest gap.

    That nothing fits is an answer too: its status is `infeasible` or `unknown`, and it is JSON whatever was asked for.
    """
    return await selected(request, Plan, _planned)


async def _planned(request: Request) -> Response:
    arrived = time.monotonic()
    service: Service = request.app.state.service
    kind = media_type(request, *FORMAT_OF)
    body = await read_body(request, service.settings.max_body_bytes)
    digest = sha256(body) if len(body) <= LARGE_BYTES else await service.briefly(partial(sha256, body), request)
    name = kind, request.scope["query_string"], digest.digest()
    accept = request.headers.get("accept")
    if not PROBLEMS.isEnabledFor(logging.INFO) and (written := service.written.find((name, accept))) is not None:
        service.solving.answered_again(written.problem_hash)
        return written.response(time.monotonic() - arrived)
    if WORD in body and kind == JSON:
        read_keep = partial(read_keeping, body, request.query_params, service.settings)
        if len(body) > LARGE_BYTES:
            read_keep = partial(service.readers.keeping, body, str(request.query_params), arrived)
        seems_due = limit_of(body, str(request.query_params), arrived)
        if (keeping := await service.in_time(read_keep, request, seems_due)) is not None:
            async with service.caller(request) as cancelled:
                return await kept_plan(service, request, keeping, arrived, cancelled)
    asking = _Asking(service, request, kind, body, name, arrived)
    reading = service.readings.find(name)
    if reading is not None:
        answering, options = asking.answer(reading, len(body) <= LARGE_BYTES), reading[1]
    else:
        seems_due = limit_of(body, str(request.query_params), arrived)
        try:
            begun = await _begun(service, request, kind, body, arrived, seems_due)
        except NotInTimeError:
            service.metrics.answered_by(seems_due)
            count = body.count(b'"id"' if kind == JSON else b"\n")  # as far as is known without a parser
            return asking.too_late(round(seems_due.at - seems_due.began, 6), f"{count} buffers")
        answering = asking.answer(asking.read(begun)) if begun.is_short else asking.answer_in_time(begun)
        options = begun.options
    try:
        return await answering
    finally:  # a refusal may come late, too
        service.metrics.answered_by(due(options.time_limit_s, arrived))


async def _begun(
    service: Service, request: Request, kind: str, body: bytes, arrived: float, seems_due: Deadline
) -> BegunSubmission:
    """Begin to read a body: here, in a thread, or apart."""
    query = request.query_params
    if _is_soon_begun(kind, body):
        return begin_submission(kind, body, query)
    if len(body) <= LARGE_BYTES:
        return await service.briefly(partial(begin_submission, kind, body, query), request)
    reading = partial(service.readers.plan, kind, body, str(query), arrived)
    return await service.in_time(reading, request, seems_due, lambda found: found.end and found.end())


@dataclass(frozen=True)
class _Asking:
    """A request for a plan; `name` is all that the reading of its body depends on."""

    service: Service
    request: Request
    kind: str
    body: bytes
    name: Hashable
    arrived: float

    def read(self, begun: BegunSubmission) -> Reading:
        """Read, check and compile the problem; raises InputError."""
        check_time_limit("time_limit_s", begun.options.time_limit_s, self.service.settings.max_time_limit_s)
        if begun.compiled is not None:
            return begun.compiled(), begun.options
        problem = begun.problem()
        check_size(problem, self.service.settings)
        return CompiledProblem.of(problem), begun.options

    async def answer(self, reading: Reading, is_short: bool = True) -> Response:
        """Answer with the best plan for what was read."""
        problem, options = reading
        deadline, key_id = due(options.time_limit_s, self.arrived), Caller.of(self.request).key_id
        asked = PlanRequest(problem, options, deadline, may_be_refused=True, key_id=key_id)
        plan_format = format_of_answer(self.request, options)
        async with self.service.caller(self.request) as cancelled:
            found = await self.service.solving.plan(asked, cancelled)
        write = partial(plan_answer, found, problem.problem, plan_format)
        answer = write() if is_short else await self.service.briefly(write, self.request)
        answer.headers.update(links_of(found.status))
        is_usual = options.solver == "auto" and not options.deterministic
        written = WrittenAnswer.of(answer, found) if is_usual else None
        if written is not None:
            self.service.written.keep((self.name, self.request.headers.get("accept")), written)
        else:
            self.service.readings.keep(self.name, reading, len(self.body))
        return answer

    async def answer_in_time(self, begun: BegunSubmission) -> Response:
        """Answer what may take long to read and compile: where that takes all the time, that nothing is known.

        A thread cannot be stopped; its work ends unheard. A process that reads ends it in time.
        """
        try:
            return await self._answer_in_time(begun)
        finally:
            if begun.end is not None:
                asyncio.get_running_loop().run_in_executor(None, begun.end)

    async def _answer_in_time(self, begun: BegunSubmission) -> Response:
        deadline = due(begun.options.time_limit_s, self.arrived)
        late = partial(self.too_late, begun.options.time_limit_s, f"{begun.rows} buffers")
        if begun.rows * ROW_S > deadline.left_s + GRACE_S:
            return late()

        async def work() -> Response:
            reading = await self.service.briefly(partial(self.read, begun), self.request)
            return await self.answer(reading, is_short=False)

        working = asyncio.create_task(work())
        working.add_done_callback(lambda task: task.cancelled() or task.exception())  # where it comes too late
        try:
            await asyncio.wait({working}, timeout=max(0.0, deadline.left_s) + GRACE_S)
            return working.result() if working.done() else late()
        finally:
            working.cancel()

    def too_late(self, limit_s: float, what: str) -> Response:
        """Answer that nothing is known, since `what` was sent could not be read in time."""
        passed_s = time.monotonic() - self.arrived
        check_time_limit("time_limit_s", limit_s, self.service.settings.max_time_limit_s)
        why = f"{what} could not be read, compiled and planned within {limit_s:g} s"
        plan = Plan(
            status="unknown",
            stop_reason="time_limit",
            explanation=Explanation(message=why),
            wall_time_s=round(passed_s, 6),
            version=__version__,
        )
        return Response(plan.model_dump_json(), media_type=JSON)


def _is_soon_begun(kind: str, body: bytes) -> bool:
    """Return True if parsing takes less time than handing it to a thread; escapes make a second parser look at JSON."""
    return len(body) <= LARGE_BYTES and (kind == CSV or b"\\" not in body)
