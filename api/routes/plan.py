"""`POST /v1/plan`: a problem in, a verified plan out, within its time limit."""

from __future__ import annotations

import threading
import time
from functools import partial

from fastapi import APIRouter, Request, Response

from api.bodies import CSV, JSON, TEXT, media_type, preferred_type, read_body
from api.openapi import PLAN_ANSWER, PLAN_REQUEST
from api.options import Options
from api.problem_details import error_answers
from api.service import Service
from api.spellings import spell
from api.submissions import check_cells, check_time_limit, read_submission
from planner.problem import Problem
from solvers.solve import solve

router = APIRouter()

_SPELLINGS = {JSON: "json", CSV: "csv", TEXT: "tables"}
"""What a plan is written as for who accepts a media type."""
_MEDIA_TYPES = {spelling: kind for kind, spelling in _SPELLINGS.items()}


@router.post(
    "/v1/plan",
    summary="Plan a problem",
    response_class=Response,
    responses={200: PLAN_ANSWER, **error_answers(400, 413, 415, 422, 429)},
    openapi_extra=PLAN_REQUEST,
)
async def plan(request: Request) -> Response:
    """Answer with the best plan found within the time limit, verified, with a proof or an honest gap.

    That nothing fits is an answer too: its status is `infeasible` or `unknown`, and it is JSON whatever was asked for.
    """
    started = time.monotonic()
    service = Service.of(request)
    kind = media_type(request, JSON, CSV)
    service.line.check()
    body = await read_body(request, service.settings.max_body_bytes)
    problem, options = await service.briefly(partial(read_submission, kind, body, request.query_params))
    check_time_limit("time_limit_s", options.time_limit_s, service.settings.max_time_limit_s)
    check_cells(problem, service.settings.max_cells)
    spelling = options.format or _SPELLINGS[preferred_type(request, *_SPELLINGS)]

    def answer(cancelled: threading.Event) -> Response:
        return _answer(problem, options, started, cancelled, spelling)

    answered = await service.solving(request, answer, started + options.time_limit_s)
    return Response() if answered is None else answered


def _answer(problem: Problem, options: Options, started: float, cancelled: threading.Event, spelling: str) -> Response:
    found = solve(
        problem,
        time_limit_s=options.time_limit_s,
        solver=options.solver,
        accept=options.accept,
        deterministic=options.deterministic,
        seed=options.seed,
        cancelled=cancelled,
        started=started,
    )
    if found.status not in ("optimal", "feasible"):
        spelling = "json"
    return Response(spell(found, problem, spelling), media_type=_MEDIA_TYPES.get(spelling, JSON))
