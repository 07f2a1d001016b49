"""`keep` beside a problem: a plan that keeps the places of an old one, which the caller sends or a job of his made."""

from __future__ import annotations

import asyncio
from functools import partial

from fastapi import Request, Response
from pydantic_core import from_json

from memplan.api.http.app_state import Service
from memplan.api.http.requests.bodies import JSON, format_of_answer, plan_answer
from memplan.api.http.requests.keep_requests import Keeping
from memplan.api.jobs.serialization import plan_json
from memplan.api.service.work_service import WorkRequest
from memplan.api.store.caller import Caller
from memplan.capabilities.capability import due
from memplan.capabilities.plan.plan import PlanOptions
from memplan.planner.errors import OptionError, shown
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem


async def kept_plan(
    service: Service, request: Request, asked: Keeping, arrived: float, cancelled: asyncio.Event
) -> Response:
    """Answer with a plan of few moves; raises OptionError where there is no such old plan."""
    old = await _old_plan(service, request, asked.plan_hash) if asked.old is None else asked.old
    options = asked.options.model_dump(mode="json", include=set(PlanOptions.model_fields))
    body = b'{"problem":' + asked.problem + b',"keep":' + old.strip() + b"}"
    limit_s, key_id = asked.options.time_limit_s, Caller.of(request).key_id
    deadline, plan_format = due(limit_s, arrived), format_of_answer(request, asked.options)
    asking = WorkRequest("plan", JSON, body, options, limit_s, deadline, may_be_refused=True, key_id=key_id)
    answer = await service.working.work(asking, cancelled)
    if plan_format == "json":
        return Response(answer.content, media_type=JSON)
    write = partial(_written, answer.content, asked.problem, plan_format)
    return await service.briefly(write, request)


def _written(content: bytes, problem: bytes, plan_format: str) -> Response:
    plan = Plan.model_validate(from_json(content))
    return plan_answer(plan, Problem.model_validate(from_json(problem)), plan_format)


async def _old_plan(service: Service, request: Request, plan_hash: str | None) -> bytes:
    assert plan_hash is not None
    caller = Caller.of(request)
    find = partial(service.store.jobs.plan_of_hash, plan_hash, caller.key_id, "admin" in caller.scopes)
    packed = await service.store.briefly(find)
    if packed is None:
        raise OptionError(f"keep.plan_hash: must be that of a plan of a job that is kept, got {shown(plan_hash)}")
    return await service.briefly(partial(plan_json, packed), request)
