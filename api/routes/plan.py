"""`POST /v1/plan`: a problem in, a verified plan out, within its time limit."""

from __future__ import annotations

import threading
import time
from functools import partial

from fastapi import APIRouter, Request, Response

from api.bodies import CSV, JSON, media_type, prefers_csv, read_body
from api.openapi import PLAN_ANSWER, PLAN_REQUEST
from api.options import Options
from api.problem_details import error_answers
from api.service import Service
from api.settings import Settings
from api.submissions import check_cells, read_submission
from planner.errors import OptionError, shown
from planner.formats import FORMATS
from planner.problem import Problem
from solvers.solve import solve

router = APIRouter()


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
    _check_limits(problem, options, service.settings)
    wants_csv = prefers_csv(request)

    def answer(cancelled: threading.Event) -> Response:
        return _answer(problem, options, started, cancelled, wants_csv=wants_csv)

    answered = await service.solving(request, answer, started + options.time_limit_s)
    return Response() if answered is None else answered


def _check_limits(problem: Problem, options: Options, settings: Settings) -> None:
    if options.time_limit_s > settings.max_time_limit_s:
        most = f"{settings.max_time_limit_s:g}"
        raise OptionError(f"time_limit_s: must be at most {most} on this server, got {shown(options.time_limit_s)}")
    check_cells(problem, settings.max_cells)


def _answer(
    problem: Problem, options: Options, started: float, cancelled: threading.Event, *, wants_csv: bool
) -> Response:
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
    is_csv = wants_csv and found.status in ("optimal", "feasible")
    content = FORMATS["csv" if is_csv else "json"].write_plan(found, problem)
    return Response(content, media_type=CSV if is_csv else JSON)
