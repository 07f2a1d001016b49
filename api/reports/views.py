"""Views, which are HTML pages of answers written by extensions, and the values that they display."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from memplan.planner.extensions import Hook
from memplan.planner.foreign.program_names import NO_NAMES, ProgramNames
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

if TYPE_CHECKING:
    from fastapi import FastAPI


@dataclass(frozen=True)
class PlanOf:
    """A plan that is valid for its problem, and the title that a page gives the plan."""

    problem: Problem
    plan: Plan
    name: str = "plan"


@dataclass(frozen=True)
class ChartPoint:
    """A point of a chart: its coordinates, label, lower bound if known, and plan."""

    x: float
    y: float | None
    label: str
    status: str
    bound: float | None = None
    problem: Problem | None = None
    plan: Plan | None = None
    names: ProgramNames = NO_NAMES
    stripes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ChartAxis:
    """An axis of a chart: its name, and its unit (`bytes`, `number` or `ratio`)."""

    name: str
    unit: str = "bytes"


plan_page: Hook[..., bytes] = Hook("plan-page")
"""Returns the page of a problem and its plan, by optional `title` and `names`."""
plan_cell: Hook[[Problem, Plan], bytes] = Hook("plan-cell")
"""Returns a plan's page as an element that a notebook shows."""
comparison_page: Hook[[PlanOf, PlanOf, Any], bytes] = Hook("comparison-page")
"""Returns the page that compares a plan before and after, with their difference."""
chart_page: Hook[[str, ChartAxis, ChartAxis, list[ChartPoint]], bytes] = Hook("chart-page")
"""Returns the page of a chart with a title, two axes and its points."""
explain_page: Hook[[str, Problem, Any], bytes] = Hook("explain-page")
"""Returns the page of an explanation, by a title, the problem and the answer."""
answer_pages: Mapping[str, Hook[[str, Any], bytes]] = {
    "cascade": Hook("cascade-page"),
    "order": Hook("order-page"),
    "recompute": Hook("recompute-page"),
    "schedule": Hook("schedule-page"),
    "shapes": Hook("shapes-page"),
}
"""Maps the name of an answer of a network to the function that returns its page, by a title and the answer."""
add_pages: "Hook[[FastAPI], None]" = Hook("service-pages")
"""Adds the routes of the pages to the service."""
