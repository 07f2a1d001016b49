"""The view of two plans: both of them, what moved, and what the growth of each pool's peak is made of."""

from __future__ import annotations

from dataclasses import dataclass

from pydantic_core import to_jsonable_python

from memplan.api.reports.page.document import PageDocument
from memplan.api.reports.page.file_page import file_page
from memplan.api.reports.page.plan_view import plan_view
from memplan.capabilities.check.difference import Difference
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem


@dataclass(frozen=True)
class PlanOf:
    """A plan, valid for its problem, and how it is called."""

    problem: Problem
    plan: Plan
    name: str = "plan"


def add_comparison(document: PageDocument, before: PlanOf, after: PlanOf, found: Difference) -> None:
    """Add the view of two plans, and their difference, to a page document."""
    document.add(
        {
            "kind": "comparison",
            "title": f"{before.name} and {after.name}",
            "before": plan_view(document, before.problem, before.plan, title=before.name),
            "after": plan_view(document, after.problem, after.plan, title=after.name),
            "facts": to_jsonable_python(found),
        }
    )


def comparison_page(before: PlanOf, after: PlanOf, found: Difference) -> bytes:
    """Return the file page of two plans with their difference."""
    document = PageDocument(f"{before.name} and {after.name}")
    add_comparison(document, before, after, found)
    return file_page(document)
