"""The common tables of a search for schedules: costs and relations of a graph, values of steps, and windows."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from memplan.capabilities.schedule.form import EPSILON, Objective, Target
from memplan_tile.graph import TileGraph
from memplan_tile.search.bounds import LowerBounds
from memplan_tile.search.costs import StepCosts
from memplan_tile.search.downsets import Bounds, DownsetSearch, Found, PlannedStep, ScheduleEffort, StepWindow
from memplan_tile.search.groups import Relations
from memplan_tile.search.nests import bits


class Ground:
    """The tables that all searches of one graph share; its operations are in topological order."""

    def __init__(
        self,
        graph: TileGraph,
        target: Target,
        objective: Objective,
        effort: ScheduleEffort,
        report: Callable[[float], object] = lambda _: None,
    ) -> None:
        self.graph, self.target, self.effort, self.report = graph, target, effort, report
        self.costs, self.relations = StepCosts(graph, target, objective), Relations(graph)
        self.bounds = LowerBounds(graph, target)
        self.lower_bound = float(self.bounds.traffic if objective == "traffic" else self.bounds.latency)
        self.least = {} if objective == "traffic" else dict(enumerate(self.bounds.arithmetic))
        self.rng = random.Random(0)
        self.all = (1 << len(graph.operations)) - 1

    def wants_more(self, found: Found) -> bool:
        """Return True unless nothing better can be found."""
        return not found.is_complete and found.value > self.lower_bound + EPSILON

    def alone(self, operations: int) -> list[PlannedStep] | None:
        """Return single-operation steps without residents; None if one of them fits with no tiling."""
        masks = [(1 << o, 0, 1 << self.graph.operations[o].output, 0) for o in bits(operations)]
        steps = [PlannedStep(*step, cost) for step in masks if (cost := self.costs.of(step)) is not None]
        return steps if len(steps) == len(masks) else None

    def window(self, window: StepWindow, bounds: Bounds, below: float, share: float, extra: set[int]) -> Found | None:
        """Return the best steps of a window below a value; the result is no proof."""
        limits = {"below": below, "least": self.least, "share": share, "is_cut": True}
        return self.search(window, bounds, **limits).found(extra)

    def search(self, window: StepWindow, bounds: Bounds, **limits: Any) -> DownsetSearch:
        """Return a search of a window with its own limits."""
        return DownsetSearch(self.relations, self.costs, self.effort, window, bounds, **limits)

    def value(self, steps: Sequence[PlannedStep]) -> float:
        """Return the value of steps."""
        return sum(step.cost.value for step in steps)
