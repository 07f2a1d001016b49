"""How a plan is answered: spelled as its options say, or as the caller accepts it."""

from __future__ import annotations

from fastapi import Request, Response

from memplan.api.http.request_body import CSV, JSON, TEXT, preferred_type
from memplan.api.options import Options
from memplan.api.reports.plan_formats import spell
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

_SPELLINGS = {JSON: "json", CSV: "csv", TEXT: "tables"}
"""What a plan is written as for who accepts a media type."""
_MEDIA_TYPES = {spelling: kind for kind, spelling in _SPELLINGS.items()}


def spelling_for(request: Request, options: Options) -> str:
    """Return how a plan is to be written for a caller."""
    return options.format or _SPELLINGS[preferred_type(request, *_SPELLINGS)]


def plan_answer(plan: Plan, problem: Problem, spelling: str) -> Response:
    """Write a plan; what places nothing is JSON, whatever was asked for."""
    if plan.status not in ("optimal", "feasible"):
        spelling = "json"
    return Response(spell(plan, problem, spelling), media_type=_MEDIA_TYPES.get(spelling, JSON))
