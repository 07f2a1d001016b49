"""`POST /v1/verify`: is this plan right for this problem, and if not, what is wrong with it."""

from __future__ import annotations

from dataclasses import asdict

from fastapi import APIRouter, Request, Response
from pydantic_core import to_json

from memplan.api.http.app_state import Service
from memplan.api.http.auth.gate import may
from memplan.api.http.openapi.schemas import VERDICT_ANSWER, VERIFY_REQUEST
from memplan.api.http.problem_details import error_answers
from memplan.api.http.requests.bodies import JSON, media_type, read_body
from memplan.api.http.requests.submissions import check_size, read_verification
from memplan.api.settings import Settings
from memplan.planner.audit import verify as violations_of

router = APIRouter()


@router.post(
    "/v1/verify",
    summary="Verify a plan",
    response_class=Response,
    responses={200: VERDICT_ANSWER, **error_answers(400, 413, 415, 422)},
    openapi_extra=VERIFY_REQUEST,
    dependencies=[may("plan")],
)
async def verify(request: Request) -> Response:
    """Answer whether the plan is right for the problem, with every violation: both buffers, the bytes and the time."""
    service = Service.of(request)
    media_type(request, JSON)
    body = await read_body(request, service.settings.max_body_bytes)
    return await service.briefly(lambda: _answer(body, service.settings), request)


def _answer(body: bytes, settings: Settings) -> Response:
    problem, plan = read_verification(body)
    check_size(problem, settings)
    found = violations_of(problem, plan)
    return Response(to_json({"valid": not found, "violations": [asdict(one) for one in found]}), media_type=JSON)
