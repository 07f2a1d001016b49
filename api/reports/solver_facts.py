"""The facts about each solver, on the command line and over HTTP."""

from __future__ import annotations

from pydantic import ConfigDict

from memplan.capabilities.capability import Answer
from memplan.planner.systems import reference_planners
from memplan.solvers.portfolio.registry import EVERYTHING, SOLVERS
from memplan.solvers.reference.table import PREFIX

OF_OTHERS = PREFIX
"""The prefix of the names of other systems' planners."""


class SolverFacts(Answer):
    """A solver: the features of problems that it honours, and whether it ever proves that a plan is the best.

    `at_most` is the number of buffers that `auto` tries it on; `source` names where a reference planner comes from.
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
        """The features that it does not honour."""
        return sorted(EVERYTHING.difference(self.can))


def solver_facts() -> list[SolverFacts]:
    """Return what is known of all solvers, those of other systems last."""
    own = [
        SolverFacts.of(row, installed=row.is_installed, can=sorted(row.can), needs=list(row.needs), source=None)
        for row in SOLVERS
    ]
    others = [
        SolverFacts.of(planner, installed=True, can=sorted(planner.can), needs=[], proves=False, at_most=None)
        for planner in reference_planners().values()
    ]
    return own + others
