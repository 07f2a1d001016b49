"""`GET /v1/plans/{problem_hash}`: the best plan known of a problem, whoever asked for it first."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from memplan.api.http.app_state import Service
from memplan.api.http.auth.gate import may
from memplan.api.http.openapi.schemas import KNOWN_PLAN_ANSWER, selectable
from memplan.api.http.problem_details import error_answers, problem_details
from memplan.api.http.requests.bodies import JSON
from memplan.api.http.selected import selected
from memplan.api.service.cache.cached_plan import CachedPlan
from memplan.api.service.cache.canonical_plan import canonical_plan
from memplan.planner.model.plan import Plan

router = APIRouter()

_FOR_EVER_S = 365 * 86400
_HASH = re.compile(r"sha256:[0-9a-f]{64}")
ProblemHash = Annotated[str, Path(json_schema_extra={"pattern": f"^{_HASH.pattern}$"}, examples=["sha256:" + 64 * "0"])]


@router.get(
    "/v1/plans/{problem_hash}",
    summary="Fetch a known plan",
    response_class=Response,
    responses={
        200: KNOWN_PLAN_ANSWER,
        304: {"description": "It is still the plan of this ETag."},
        **error_answers(404),
    },
    openapi_extra=selectable({}),
    dependencies=[may("read")],
)
async def known_plan(request: Request, problem_hash: ProblemHash) -> Response:
    """Answer with the best plan known of the problem with this hash, in canonical form.

    Buffer k is the k-th in the problem's canonical order, pool "0" the first, and bytes are counted in the largest unit
    that divides all that matters: whoever has the problem can tell which of its buffers that are. Once it is proved, it
    never changes.
    """
    return await selected(request, Plan, partial(_known, problem_hash=problem_hash))


async def _known(request: Request, problem_hash: str) -> Response:
    service = Service.of(request)
    known = await service.cache.by_hash(problem_hash) if _HASH.fullmatch(problem_hash) else None
    if known is None or known.pool is None:
        return problem_details(404, ("problem_hash: no plan is known of such a problem",))
    write = partial(_answer, request, problem_hash, known, service.gate.requires_keys)
    return await service.soon(write, request, known.is_small)


def _answer(request: Request, problem_hash: str, known: CachedPlan, is_private: bool) -> Response:
    body = canonical_plan(problem_hash, known).model_dump_json().encode()
    alone = canonical_plan(problem_hash, replace(known, solver=None, searched_s=0.0))
    tag = f'W/"{sha256(alone.model_dump_json().encode()).hexdigest()[:32]}"'
    scope = "private" if is_private else "public"
    headers = {
        "ETag": tag,
        "Cache-Control": f"{scope}, max-age={_FOR_EVER_S}, immutable" if known.is_final else f"{scope}, no-cache",
    }
    asked = [part.strip().removeprefix("W/") for part in request.headers.get("if-none-match", "").split(",")]
    if tag.removeprefix("W/") in asked or asked == ["*"]:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type=JSON)
