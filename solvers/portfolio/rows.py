"""The rows of the registry of solvers: name, location, supported features and required packages."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

from memplan.planner.errors.extras import is_installed
from memplan.planner.extensions import import_object
from memplan.planner.instance.instance import PLAIN, Instance
from memplan.solvers.search.incumbent import Search

Solver = Callable[[Instance, Search], None]


EVERYTHING = frozenset(PLAIN)
"""The instance features that a solver supports by default."""
PACKED = frozenset(
    {"relative", "sharing", "pages", "intervals", "banks", "bank-weights", "reuse", "clearances", "together"}
)
"""The features of constraint kinds that packers support, and engines too, as packers place their solutions."""


@dataclass(frozen=True, eq=False)
class SolverRow:
    """A registered solver. `where` is the location `module:function` of a callable `(instance, search) -> None`.

    - `can`, `needs`: the instance features that it supports, and the packages that it imports.
    - `is_isolated`: True if it runs in a child process.
    - `is_trusted`: True if its bounds and claims of infeasibility need no confirmation by another solver.
    - `proves`: True if it makes such claims.
    - `quick`: the location of a function that finds first plans quickly; usually empty.
    - `suits`: the location of a further condition, `(instance) -> bool`; usually empty.

    Unless it is chosen by name, it runs only on instances with `at_least` to `at_most` buffers, at least
    `memories_at_least` memories, all features in `must_have` and, if it `needs_mixed_alignments`, buffers of different
    alignments.
    """

    name: str
    summary: str
    where: str
    can: frozenset[str] = EVERYTHING
    needs: tuple[str, ...] = ()
    is_isolated: bool = False
    is_trusted: bool = False
    proves: bool = False
    at_least: int = 0
    at_most: int | None = None
    memories_at_least: int = 1
    needs_mixed_alignments: bool = False
    must_have: frozenset[str] = frozenset()
    quick: str = ""
    suits: str = ""

    @cached_property
    def is_installed(self) -> bool:
        """True if all packages that the solver needs can be imported."""
        return all(map(is_installed, self.needs))

    def can_solve(self, instance: Instance) -> bool:
        """Return True if an instance meets the solver's further condition `suits`; True without this condition."""
        return not self.suits or bool(import_object(self.suits)(instance))

    @cached_property
    def function(self) -> Solver:
        """The solver's callable `(instance, search) -> None`, imported at its first use."""
        return cast(Solver, import_object(self.where))
