"""The page that compares two plans: both plans, the moved buffers, and the causes of each pool's growth."""

from __future__ import annotations

from pydantic_core import to_jsonable_python

from memplan.api.reports.views import PlanOf
from memplan.extensions.page.file_page import file_page, plan_view
from memplan.questions.check.difference import Difference


def comparison_page(before: PlanOf, after: PlanOf, found: Difference) -> bytes:
    """Return the HTML file that shows two plans and their difference."""
    title = f"{before.name} and {after.name}"
    each = {"before": before, "after": after}
    views = {key: plan_view(one.problem, one.plan, title=one.name) for key, one in each.items()}
    return file_page(title, {"kind": "comparison", "title": title, **views, "facts": to_jsonable_python(found)})
