"""The options of an explanation, and the stages that it reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from memplan.capabilities.plan.planning import REASON_S
from memplan.planner.model.plan import Explanation
from memplan.solvers.portfolio.limits import Limits

Stage = Literal["witness", "stretch", "core", "irreducible", "enough"]
OnStage = Callable[[Stage, Explanation], None]


@dataclass(frozen=True)
class ExplainOptions(Limits):
    """The options of an explanation: its seconds beyond the solve, and the callback of stages.

    In a `deterministic` one, questions are counted instead of seconds. Without `with_enough`, no size that would do is
    looked for.
    """

    time_limit_s: float = REASON_S
    on_stage: OnStage | None = None
    with_enough: bool = True
