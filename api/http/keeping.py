"""`keep` beside a problem: a plan that keeps the places of an old one, which the caller sends or a job of his made."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import Request, Response
from pydantic import ValidationError, WithJsonSchema
from pydantic_core import from_json
from starlette.datastructures import QueryParams

from memplan.api.http.app_state import Service
from memplan.api.http.requests.bodies import JSON, format_of_answer, plan_answer
from memplan.api.http.requests.job_requests import ContentHash
from memplan.api.http.requests.submissions import check_size, check_time_limit
from memplan.api.jobs.serialization import plan_json
from memplan.api.options import Options, read_options
from memplan.api.service.work_service import WorkRequest
from memplan.api.settings import Settings
from memplan.api.store.caller import Caller
from memplan.capabilities.bodies import read_object
from memplan.capabilities.capability import due
from memplan.capabilities.inputs import read_plan_field, read_problem_field
from memplan.capabilities.plans.replan import ReplanOptions
from memplan.planner.errors import InputError, OptionError, sentences, shown
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.model.rows import WireValue

WORD = b'"keep"'
"""What the body of such a request has in it."""


class Keep(WireValue):
    """The plan to keep: that of a job by its `plan_hash`, or a `plan` that comes along; and how, as for `replan`."""

    eps: float | str = ReplanOptions().eps
    least: Literal["buffers", "bytes"] = "buffers"
    plan_hash: ContentHash | None = None
    plan: Annotated[dict[str, Any], WithJsonSchema({"$ref": "#/components/schemas/Plan"})] | None = None


@dataclass(frozen=True)
class Keeping:
    """A request that keeps places, as it was read; `old` is the plan that came along."""

    problem: Problem
    options: Options
    keep: Keep
    old: Plan | None


def read_keeping(body: bytes, query: QueryParams, settings: Settings) -> Keeping | None:
    """Read a body with `keep`; None where it has none. Raises InputError."""
    content = read_object(body)
    if "keep" not in content or "problem" not in content:
        return None
    if query:
        raise OptionError("options: must come in the body beside keep, got a query")
    if unknown := sorted(content.keys() - {"problem", "options", "keep"}):
        raise InputError(*(f"{shown(name)}: is not a known field" for name in unknown[:10]))
    options = read_options(content.get("options", {}))
    if options.solver != "auto" or options.deterministic or options.accept is not None:
        raise OptionError("options: must not name a solver, deterministic or accept beside keep")
    check_time_limit("time_limit_s", options.time_limit_s, settings.max_time_limit_s)
    keep = _keep(content["keep"])
    problem = read_problem_field(content["problem"])
    check_size(problem, settings)
    return Keeping(problem, options, keep, None if keep.plan is None else read_plan_field(keep.plan, "keep.plan"))


def _keep(value: object) -> Keep:
    if not isinstance(value, dict):
        raise OptionError(f"keep: must be an object, got {shown(value)}")
    if "time_limit_s" in value or "seed" in value:
        raise OptionError("keep: must not have time_limit_s or seed, which are options")
    try:
        keep = Keep.model_validate(value)
    except ValidationError as error:
        raise OptionError(*sentences(error, ("keep",))) from error
    if (keep.plan is None) == (keep.plan_hash is None):
        raise OptionError("keep: must have one of plan_hash and plan")
    return keep


async def kept_plan(
    service: Service, request: Request, asked: Keeping, arrived: float, cancelled: asyncio.Event
) -> Response:
    """Answer with a plan of few moves; raises OptionError where there is no such old plan."""
    if asked.old is None:
        old = await _old_plan(service, request, asked.keep)
    else:
        old = (await service.briefly(asked.old.model_dump_json, request)).encode()
    options = asked.options.model_dump(include={"time_limit_s", "seed", "profile"})
    options |= asked.keep.model_dump(include={"eps", "least"})
    problem = await service.briefly(partial(write_problem, asked.problem), request)
    body = b'{"problem":' + problem.strip() + b',"plan":' + old.strip() + b"}"
    limit_s, key_id = asked.options.time_limit_s, Caller.of(request).key_id
    deadline, plan_format = due(limit_s, arrived), format_of_answer(request, asked.options)
    asking = WorkRequest("replan", JSON, body, options, limit_s, deadline, may_be_refused=True, key_id=key_id)
    answer = await service.working.work(asking, cancelled)
    if plan_format == "json":
        return Response(answer.content, media_type=JSON)
    write = partial(_written, answer.content, asked.problem, plan_format)
    return await service.briefly(write, request)


def _written(content: bytes, problem: Problem, plan_format: str) -> Response:
    return plan_answer(Plan.model_validate(from_json(content)), problem, plan_format)


async def _old_plan(service: Service, request: Request, keep: Keep) -> bytes:
    assert keep.plan_hash is not None
    caller = Caller.of(request)
    find = partial(service.store.jobs.plan_of_hash, keep.plan_hash, caller.key_id, "admin" in caller.scopes)
    packed = await service.store.briefly(find)
    if packed is None:
        raise OptionError(f"keep.plan_hash: must be that of a plan of a job that is kept, got {shown(keep.plan_hash)}")
    return await service.briefly(partial(plan_json, packed), request)
