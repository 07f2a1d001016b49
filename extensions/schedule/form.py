"""Problems of `schedule` in other forms, with searches of their own, and the interface for them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from memplan.extensions.cascade.core.kernels import FOUND_RUNS, FOUND_TO, N_FOUND
from memplan.extensions.cascade.search.front import front
from memplan.extensions.cascade.timing.figures import Run, Slot, StepFigures
from memplan.extensions.cascade.timing.target import Engine, Link, Memory, Rate, Side, Target
from memplan.extensions.schedule.answer import EPSILON, Objective, Proof, ScheduleAnswer, ScheduleSlot, point_of
from memplan.extensions.schedule.search.placement import misplaced, placed, slots_of
from memplan.planner.model.rows import Value
from memplan.questions.capability import Control

__all__ = [
    "EPSILON",
    "FOUND_RUNS",
    "FOUND_TO",
    "N_FOUND",
    "Control",
    "Engine",
    "Link",
    "Memory",
    "Objective",
    "ScheduleForm",
    "Proof",
    "Rate",
    "Run",
    "ScheduleAnswer",
    "ScheduleSlot",
    "Side",
    "Slot",
    "StepFigures",
    "Target",
    "front",
    "misplaced",
    "placed",
    "point_of",
    "slots_of",
]


class ScheduleForm(Value):
    """A problem of `schedule` with its own search; it also simulates its answers again."""

    @property
    @abstractmethod
    def target(self) -> Target:
        """The default machine."""

    @property
    @abstractmethod
    def n_tensors(self) -> int:
        """The number of tensors."""

    @abstractmethod
    def scheduled(
        self, machine: Target, objective: Objective, running: Control, *, wants_front: bool
    ) -> ScheduleAnswer:
        """Return the best schedule found in time, verified; raises ProblemError if there is none."""

    @abstractmethod
    def refuted(self, machine: Target, found: ScheduleAnswer) -> str | None:
        """Return what is wrong with a schedule that another program made; None if it is valid."""

    @abstractmethod
    def latency_of(self, rows: Mapping[str, Any]) -> tuple[float, str | None]:
        """Return the latency of steps in an answer's JSON rows, and the first rule that they break."""
