"""Views, which are HTML pages of answers written by extensions, and the values that they display."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from memplan.planner.extensions import extensions, import_object
from memplan.planner.foreign.program_names import NO_NAMES, ProgramNames
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem


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


def view(name: str) -> Callable[..., bytes]:
    """Return the function that writes the HTML page of this name; it takes the values to display."""
    found: Callable[..., bytes] = import_object(extensions("views")[name])
    return found
