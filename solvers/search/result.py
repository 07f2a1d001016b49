"""The results of a search: the best assignment, its progress, and the result of a whole solve."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from memplan.planner.bounds.lower_bound import Bound
from memplan.planner.instance.objective import Score
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.plan import Disturbance, Plan, StopReason


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """The pool and the offset, in units, of each buffer of an instance; `by` names the solver that found them."""

    pool: I64
    offset: I64
    score: Score
    by: str


@dataclass(frozen=True, slots=True, eq=False)
class SolveResult:
    """The result of a solve: a plan or an explanation, with the assignment and the bound from which it was made.

    `assignment` is None without placements, or if offsets in the units of the instance are unknown. `bound` is None if
    only the plan states it. `has_failures` is True if an engine failed. The plan lacks its stop reason and time, which
    `answer` adds.
    """

    plan: Plan
    assignment: Assignment | None = None
    bound: Bound | None = None
    stop_reason: StopReason | None = None
    elapsed_s: float = 0.0
    has_failures: bool = False

    def answer(
        self, deterministic: bool, elapsed_s: float | None = None, more: Mapping[str, object] = MappingProxyType({})
    ) -> Plan:
        """Return the plan with its stop reason and, unless the search is deterministic, its time.

        The time is that of the solve, or `elapsed_s`. A deterministic plan also states whether it is reproducible; any
        other plan states whether an engine failed. `more` has further fields to set.
        """
        update: dict[str, object] = {"stop_reason": self.stop_reason, "wall_time_s": None, **more}
        if deterministic:
            update |= {"reproducible": self._disturbed_by is None, "disturbed_by": self._disturbed_by}
        else:
            update["disturbed_by"] = "engine-failure" if self.has_failures else None
            update["wall_time_s"] = round(self.elapsed_s if elapsed_s is None else elapsed_s, 6)
        return self.plan.model_copy(update=update)

    @property
    def _disturbed_by(self) -> Disturbance | None:
        """The event (time limit, cancellation, failed engine) that may change a repeated solve's result, or None."""
        if self.stop_reason == "time_limit" or self.stop_reason == "cancelled":
            return self.stop_reason
        return "engine-failure" if self.has_failures else None


class Progress(NamedTuple):
    """The progress of a search: the best peak and the lower bound in bytes, both summed over the pools.

    `by` names the solver of the latest change. `found` is the best result so far, if the report includes it.
    """

    elapsed_s: float
    peak: int | None
    lower_bound: int
    by: str
    found: SolveResult | None = None

    @property
    def gap(self) -> float | None:
        """How far the peak is above the lower bound, as a fraction of the bound; None if unknown or infinite."""
        if self.peak is None or (self.lower_bound == 0 and self.peak > 0):
            return None
        return self.peak / self.lower_bound - 1 if self.lower_bound else 0.0

    def facts(self) -> dict[str, Any]:
        """Return the progress as a JSON object for jobs and events."""
        return {"peak": self.peak, "lower_bound": self.lower_bound, "gap": self.gap, "solver": self.by}
