"""The options that the problem of a plan was read with: the plan remembers them, and questions about it take them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from memplan.capabilities.reading import ReadOptions
from memplan.planner.errors import InputError
from memplan.planner.formats import memplan_json
from memplan.planner.model.plan import Plan

A = TypeVar("A")
OF_PLANS = ("plan", "keep")
"""The inputs that are plans of the problem of a question."""


def with_reading(answer: A, options: ReadOptions) -> A:
    """Return an answer that, if it is a plan, remembers the options that its problem was read with."""
    if not isinstance(answer, Plan):
        return answer
    said = options.model_dump(mode="json", exclude_defaults=True)
    return answer.model_copy(update={"read_with": said}) if said else answer


def reading_of_plan(value: object) -> dict[str, Any]:
    """Return the options that a plan remembers, of its JSON, with the hash of the problem as `problem_hash`.

    Nothing for what is no such plan: what is wrong with it, its reader says.
    """
    if isinstance(value, bytes):
        if b'"read_with"' not in value:
            return {}
        try:
            value = memplan_json.parse(value)
        except InputError:
            return {}
    plan = value.get("plan", value) if isinstance(value, Mapping) else {}
    said = plan.get("read_with") if isinstance(plan, Mapping) else None
    return {**said, "problem_hash": plan.get("problem_hash")} if isinstance(said, dict) else {}
