"""The view of two plans: both of them, what moved, and what the growth of each pool's peak is made of."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from memplan.api.reports.differences import facts as difference_facts
from memplan.api.reports.page.document import PageDocument
from memplan.api.reports.page.file_page import file_page
from memplan.api.reports.page.plan_view import plan_view
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.peak_growth import growths, occupancies
from memplan.solvers.studies.replanning.diff import diff

_LISTED = 1000


@dataclass(frozen=True)
class PlanOf:
    """A plan, valid for its problem, and how it is called."""

    problem: Problem
    plan: Plan
    name: str = "plan"


def comparison_facts(before: PlanOf, after: PlanOf) -> dict[str, Any]:
    """Return the difference of two plans as `memplan diff` has it, and for each pool the causes of its growth.

    At most a thousand causes of a pool are told; `rest` has the bytes of the others.
    """
    found = diff(before.plan, after.plan, old_problem=before.problem, new_problem=after.problem)
    now, then = occupancies(after.problem, after.plan), occupancies(before.problem, before.plan)
    growth = {}
    for name, grown in growths(now, then).items():
        growth[name] = {
            "used_before": then[name].used if name in then else None,
            "used": now[name].used,
            "live_before": grown.bytes_before,
            "live": grown.now.bytes,
            "time_before": grown.time_before,
            "time": grown.now.time,
            "causes": [asdict(cause) for cause in grown.causes[:_LISTED]],
            "rest": sum(cause.bytes for cause in grown.causes[_LISTED:]),
        }
    return {**difference_facts(found)["diff"], "growth": growth}


def add_comparison(document: PageDocument, before: PlanOf, after: PlanOf) -> None:
    """Add the view of two plans to a page document."""
    document.add(
        {
            "kind": "comparison",
            "title": f"{before.name} and {after.name}",
            "before": plan_view(document, before.problem, before.plan, title=before.name),
            "after": plan_view(document, after.problem, after.plan, title=after.name),
            "facts": comparison_facts(before, after),
        }
    )


def comparison_page(before: PlanOf, after: PlanOf) -> bytes:
    """Return the file page of two plans."""
    document = PageDocument(f"{before.name} and {after.name}")
    add_comparison(document, before, after)
    return file_page(document)
