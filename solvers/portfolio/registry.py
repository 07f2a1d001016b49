"""The table of solvers: name, location, features, requirements. Nothing registers itself."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import cast

from memplan.planner.errors import OptionError
from memplan.planner.errors.did_you_mean import did_you_mean
from memplan.planner.errors.extras import is_installed, require
from memplan.planner.extensions import extensions, imported
from memplan.planner.fixed import fixed
from memplan.planner.instance.instance import FEW, PLAIN, Instance
from memplan.planner.systems import reference_planners
from memplan.solvers.search.incumbent import Search

Solver = Callable[[Instance, Search], None]


EVERYTHING = frozenset(PLAIN)
"""The default features of a solver."""
SEARCHED = frozenset({"clearances", "intervals"})
"""The constraint kinds that the exact search supports."""
PACKED = SEARCHED | {"relative", "sharing", "pages", "banks", "bank-weights", "reuse", "together"}
"""The constraint kinds that packers support; engines' answers go through packers, so these support them, too."""


@fixed
class SolverRow:
    """A solver; `where` is `module:function`, a callable `(instance, search) -> None`.

    `can` names the features of instances that it honours; `needs` the packages it imports. An `is_isolated` solver runs
    in a process of its own. What an `is_trusted` one says of bounds and infeasibility is believed without a second
    opinion; `proves` says whether it ever says anything of them. `at_least` and `at_most` are the numbers of buffers
    it is tried on, and `memories_at_least` that of the memories, where it is not requested by name; one that
    `needs_mixed_alignments` is then tried only where buffers differ in these, others only on instances that have all
    features that they `must_have`.
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

    @cached_property
    def is_installed(self) -> bool:
        """True if all its packages can be imported."""
        return all(map(is_installed, self.needs))

    @cached_property
    def function(self) -> Solver:
        """The solver's function, imported on first use."""
        return cast(Solver, imported(self.where))


def _engine(name: str, summary: str, module: str, package: str, at_most: int) -> SolverRow:
    """Return the row of an external engine, which is given a model in a separate process, and proves."""
    where, can = f"memplan.solvers.{module}:solve", EVERYTHING | PACKED
    return SolverRow(name, summary, where, can, (package,), is_isolated=True, proves=True, at_most=at_most)


_OWN = (
    SolverRow(
        "greedy",
        "orders x first and best fit, until one meets the bound",
        "memplan.solvers.heuristics.greedy:solve",
        can=EVERYTHING | PACKED,
        is_trusted=True,
    ),
    SolverRow(
        "local-search",
        "packs again in orders learnt from plans",
        "memplan.solvers.heuristics.local_search:solve",
        can=EVERYTHING | PACKED,
        is_trusted=True,
    ),
    SolverRow(
        "few",
        "tries which of two buffers lies below the other; at most seven",
        "memplan.solvers.exact.few_buffers:solve",
        can=(EVERYTHING | PACKED) - {"relative", "sharing"},
        is_trusted=True,
        proves=True,
        at_most=FEW,
    ),
    SolverRow(
        "parts",
        "parts that conflict wholly or not at all, each planned alone; one memory, conflicts by name",
        "memplan.solvers.portfolio.parts:solve",
        can=frozenset({"holes", "conflicts", "capacity", "alignment"}),
        is_trusted=True,
        at_most=4_000,
        must_have=frozenset({"conflicts"}),
    ),
    SolverRow(
        "lemmas",
        "learns lemmas about few buffers, which certificates are made of; one memory, mixed alignments",
        "memplan.solvers.certificates.lemma_search:solve",
        can=EVERYTHING - {"pools", "cost", "pins", "ranges"},
        is_trusted=True,
        proves=True,
        at_most=60,
        needs_mixed_alignments=True,
    ),
    SolverRow(
        "exact",
        "branches on sections, learns from failures; one memory",
        "memplan.solvers.exact.branch_and_bound:solve",
        can=(EVERYTHING | SEARCHED) - {"pools", "cost"},
        is_trusted=True,
        proves=True,
        at_most=4_000,
    ),
    SolverRow(
        "core",
        "the exact search on what is hard, the rest packed around it; one memory",
        "memplan.solvers.exact.peak_cores:solve",
        can=(EVERYTHING | SEARCHED) - {"pools", "cost"},
        is_trusted=True,
        proves=True,
        at_least=500,
    ),
    SolverRow(
        "memory-choice",
        "chooses memories by dynamic programming, packs each by the exact search",
        "memplan.solvers.memory_choice.decomposition:solve",
        can=EVERYTHING | {"together"},
        is_trusted=True,
        proves=True,
        memories_at_least=2,
    ),
    SolverRow(
        "prices",
        "pairs with a price: few places exactly, annealed ejection, cuts from cliques; a pool for each buffer",
        "memplan.extensions.prices.search:solve",
        can=EVERYTHING | {"banks", "bank-weights", "reuse", "clearances"},
        needs=("memplan.extensions.prices",),
        is_trusted=True,
        at_most=4_000,
        must_have=frozenset({"cost"}),
    ),
    SolverRow(
        "price-bounds",
        "cuts from cliques for very many pairs with a price, by HiGHS",
        "memplan.extensions.prices.bounds:solve",
        can=EVERYTHING | {"banks", "bank-weights", "reuse", "clearances"},
        needs=("highspy", "memplan.extensions.prices"),
        is_isolated=True,
        is_trusted=True,
        at_most=4_000,
        must_have=frozenset({"cost"}),
    ),
    _engine(
        "cp-sat", "constraint programming: one NoOverlap per live set (OR-Tools)", "cp_sat.goals", "ortools", 5_000
    ),
    _engine("highs", "the integer program, solved by HiGHS", "mip.highs", "highspy", 400),
    _engine("cbc", "the integer program, solved by CBC through PuLP", "mip.cbc", "pulp", 400),
)

SOLVERS: tuple[SolverRow, ...] = (*_OWN, *(replace(row, is_trusted=False) for row in extensions("solvers").values()))
"""All solvers; those from extensions are never trusted, and run only by name."""
BY_NAME: dict[str, SolverRow] = {row.name: row for row in SOLVERS}
_OTHER_WORDS = {
    "cbc": "milp mip ilp pulp coin-or cbc",
    "highs": "highspy cplex gurobi scip glpk",
    "cp-sat": "cpsat ortools or-tools constraint-programming sat",
    "greedy": "first-fit best-fit",
    "local-search": "simulated-annealing genetic tabu",
    "exact": "branch-and-bound minimalloc telamalloc optimal",
    "auto": "default best portfolio",
}


def find(name: str) -> SolverRow:
    """Return the row of an installed solver; raises OptionError."""
    if name not in BY_NAME:
        names = ", ".join(BY_NAME)
        planners = reference_planners()
        words = _OTHER_WORDS | {planner.name: planner.other_names for planner in planners.values()}
        hint = did_you_mean(name.replace("_", "-"), (*BY_NAME, *planners), words)
        rule = f"must be one of auto, {names}, or reference:NAME"
        raise OptionError(f"solver: {rule}, got {name!r}{hint}")
    row = BY_NAME[name]
    require(f"solver: {name}", row.needs)
    return row
