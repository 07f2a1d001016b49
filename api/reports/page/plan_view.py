"""The view of one plan: its problem, the plan, what `verify` finds of it, and the names of times and buffers."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from memplan.capabilities.verify.verify import verdict_on
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.places import MOST_PAIRS
from memplan.systems.program_names import NO_NAMES, ProgramNames

_LISTED = 200
"""The violations that a page lists."""
_NOT_SHOWN = {"proof", "shared", "bank_clashes", "findings", "options", "others"}
"""The claims of a plan that a page does not show."""


def plan_view(
    problem: Problem,
    plan: Plan,
    *,
    title: str = "plan",
    names: ProgramNames = NO_NAMES,
    most_pairs: int = MOST_PAIRS,
) -> dict[str, Any]:
    """Return the view of a plan: problem and plan in the wire format, and what `verify` finds of them.

    Where buffers could lie is found unless more than `most_pairs` pairs of them would be compared. What is drawn
    follows from the rows (`static/plan_model.js`), as for problems and plans that are dropped on a page.
    """
    verdict = verdict_on(problem, plan, most_pairs=most_pairs)
    inspection = verdict.model_dump(mode="json", include={"valid", "violations", "claims", "pools", "places"})
    inspection |= {"count": len(verdict.violations), "violations": inspection["violations"][:_LISTED]}
    return {
        "kind": "plan",
        "title": title,
        "problem": problem.model_dump(mode="json", exclude_defaults=True),
        "plan": plan.model_dump(mode="json", exclude_none=True, exclude=_NOT_SHOWN),
        "names": None if names == NO_NAMES else asdict(names),
        "inspection": inspection,
    }
