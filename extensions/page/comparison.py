"""The page that compares two plans: it shows both plans, the moved buffers, and why each pool's peak grew."""

from pydantic_core import to_jsonable_python

from memplan.api.reports.views import PlanOf
from memplan.extensions.page.file_page import file_page, plan_view
from memplan.questions.check.difference import Difference


def comparison_page(before: PlanOf, after: PlanOf, found: Difference) -> bytes:
    """Return an HTML file that shows the plans `before` and `after`, and the differences that `found` lists."""
    title = f"{before.name} and {after.name}"
    each = {"before": before, "after": after}
    views = {key: plan_view(one.problem, one.plan, title=one.name) for key, one in each.items()}
    return file_page(title, {"kind": "comparison", "title": title, **views, "facts": to_jsonable_python(found)})
