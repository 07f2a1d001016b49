"""Facts about each solver, for the command line and for HTTP."""

from pydantic import ConfigDict

from memplan.planner.systems import reference_planners
from memplan.questions.question import Answer
from memplan.solvers.portfolio.registry import EVERYTHING, SOLVERS
from memplan.solvers.reference.table import PREFIX

OF_OTHERS = PREFIX
"""The prefix of the names of reference planners."""


class SolverFacts(Answer):
    """A solver: the features that it supports, and whether it can prove a plan optimal."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    """The name, which the option `solver` accepts; those of reference planners begin with `reference:`."""
    summary: str
    """How it works, in a few words."""
    installed: bool
    """True if all packages in `needs` are installed."""
    can: list[str]
    """The features of problems, beyond sizes and lifetimes, that it supports, such as `alignment`; sorted."""
    needs: list[str]
    """The Python packages that it imports, such as `ortools`."""
    proves: bool
    """True if it can prove a plan optimal, or that nothing fits."""
    at_most: int | None
    """The largest number of buffers for which `auto` tries it; null if `auto` has no such limit, or never tries it."""
    source: str | None
    """The repository, version, file and function that a reference planner reproduces; null for other solvers."""

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
