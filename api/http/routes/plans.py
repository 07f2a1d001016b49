"""`GET /v1/plans/{problem_hash}`: the best known plan for a problem, whichever caller requested it."""

from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from memplan.api.http.answers import AnswerWishes
from memplan.api.http.app_state import Service
from memplan.api.http.auth import caller_of, may
from memplan.api.http.problem_details import error_answers, problem_details
from memplan.api.request_bodies import JSON, PLAN
from memplan.api.service.cache.cached_plan import CachedPlan
from memplan.api.service.cache.canonical_plan import canonical_plan
from memplan.api.store.stored_plan import cache_name
from memplan.api.store.tables.jobs import HASH
from memplan.planner.errors import excerpt
from memplan.questions import QUESTIONS

router = APIRouter()

_FOR_EVER_S = 365 * 86400
ProblemHash = Annotated[str, Path(json_schema_extra={"pattern": f"^{HASH.pattern}$"}, examples=["sha256:" + 64 * "0"])]


@router.get(
    "/v1/plans/{problem_hash}",
    operation_id="get_plan",
    summary="Fetch a known plan",
    response_class=Response,
    responses=error_answers(404, 422),
    dependencies=[may("read")],
)
async def answer_best_plan(request: Request, problem_hash: ProblemHash) -> Response:
    """Return the best known plan for the problem with this hash, in canonical form.

    Buffer k is the k-th in the problem's canonical order, pool "0" is the first pool, and bytes are counted in the
    problem's unit, so only callers that have the problem can match the buffers. A proved plan never changes.
    """
    service, question = Service.find_service(request), QUESTIONS[PLAN]
    wanted = AnswerWishes.from_request(request, question.answer)
    if not HASH.fullmatch(problem_hash):
        rule = "must be sha256: and 64 hexadecimal digits"
        return problem_details(404, (f"problem_hash: {rule}, got {excerpt(problem_hash)}",))
    plan = await service.cache.find_by_hash(cache_name(problem_hash, service.plan_key(caller_of(request).key_id)))
    if plan is None:
        known = f"no plan is known for a problem with hash {problem_hash}"
        return problem_details(404, (f"problem_hash: {known} (POST /v1/plan with the problem makes one)",))
    write = partial(_plan_response, request, problem_hash, plan, service.gate.requires_keys)
    response = await service.run_work(write, 0, is_short=plan.is_small)
    return await wanted.shape(request, question, response)


def _plan_response(request: Request, problem_hash: str, known: CachedPlan, is_private: bool) -> Response:
    """Return the response with the canonical plan `known`, or status 304 if the caller already has this plan."""
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
