"""A plan in a cell of a notebook: the file page in a frame that is kept apart from the notebook."""

from __future__ import annotations

import html

from memplan.api.reports.page.file_page import plan_page
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

_HEIGHT = 560


def cell(problem: Problem, plan: Plan) -> str:
    """Return HTML that shows a plan: a frame whose page may run its own script, and reach nothing of the notebook."""
    page = html.escape(plan_page(problem, plan).decode())
    size = f'width="100%" height="{_HEIGHT}" style="border: 1px solid #8888; border-radius: 6px"'
    return f'<iframe title="memplan plan" sandbox="allow-scripts allow-downloads" {size} srcdoc="{page}"></iframe>'
