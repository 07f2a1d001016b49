"""Facts about each solver, for the command line and for HTTP."""

from __future__ import annotations

from pydantic import ConfigDict

from memplan.planner.systems import reference_planners
from memplan.questions.question import Answer
from memplan.solvers.portfolio.registry import EVERYTHING, SOLVERS
from memplan.solvers.reference.table import PREFIX

OF_OTHERS = PREFIX
"""The prefix of the names of reference planners."""


class SolverFacts(Answer):
    """A solver: the features that it supports, and whether it can prove a plan optimal.

    `at_most` is the largest number of buffers for which `auto` tries it; `source` names the origin of a reference
    planner.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    summary: str
    installed: bool
    can: list[str]
    needs: list[str]
    proves: bool
    at_most: int | None
    source: str | None

    @property
    def lacks(self) -> list[str]:
        """The constraint kinds and features that the solver does not support, in sorted order."""
        return sorted(EVERYTHING.difference(self.can))


def solver_facts() -> list[SolverFacts]:
    """Return the facts about all solvers, with reference planners last."""
    own = [
        SolverFacts.from_fields(
            row, installed=row.is_installed, can=sorted(row.can), needs=list(row.needs), source=None
        )
        for row in SOLVERS
    ]
    others = [
        SolverFacts.from_fields(planner, installed=True, can=sorted(planner.can), needs=[], proves=False, at_most=None)
        for planner in reference_planners().values()
    ]
    return own + others
