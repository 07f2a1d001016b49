"""Answers with a plan, in the format that its options or the caller's Accept ask for."""

from __future__ import annotations

from fastapi import Request, Response

from memplan.api.http.request_body import preferred_type
from memplan.api.options import Options
from memplan.api.reports.plan_formats import PLAN_FORMATS
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

_FORMATS = {known.media_type: name for name, known in PLAN_FORMATS.items() if known.is_default}
"""The plan format for each media type that a caller may accept."""


def format_of_answer(request: Request, options: Options) -> str:
    """Return the plan format for a caller, `json` where it names none."""
    if options.format is None and "accept" in request.headers:
        return _FORMATS[preferred_type(request, *_FORMATS)]
    return options.format or "json"


def plan_answer(plan: Plan, problem: Problem, plan_format: str) -> Response:
    """Write a plan; one without placements is JSON in any case."""
    if plan.status not in ("optimal", "feasible"):
        plan_format = "json"
    known = PLAN_FORMATS[plan_format]
    return Response(known.write(plan, problem), media_type=known.media_type)
