"""The registry of solvers, with their locations, supported features and required packages."""

from dataclasses import replace

from memplan.planner.errors import OptionError
from memplan.planner.errors.did_you_mean import did_you_mean
from memplan.planner.errors.extras import require_packages
from memplan.planner.extensions import extensions
from memplan.planner.instance.instance import FEW
from memplan.planner.systems import reference_planners
from memplan.solvers import exact
from memplan.solvers.portfolio.rows import EVERYTHING as EVERYTHING
from memplan.solvers.portfolio.rows import PACKED
from memplan.solvers.portfolio.rows import Solver as Solver
from memplan.solvers.portfolio.rows import SolverRow as SolverRow


def _engine_row(name: str, summary: str, module: str, package: str, at_most: int) -> SolverRow:
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
        can=exact.FEATURES,
        is_trusted=True,
        proves=True,
        at_most=4_000,
    ),
    SolverRow(
        "core",
        "the exact search on what is hard, the rest packed around it; one memory",
        "memplan.solvers.exact.peak_cores:solve",
        can=exact.FEATURES,
        is_trusted=True,
        proves=True,
        at_least=500,
    ),
    SolverRow(
        "memory-choice",
        "chooses memories without offsets, packs each at once or window by window",
        "memplan.solvers.memory_choice.decomposition:solve",
        can=EVERYTHING | PACKED,
        is_trusted=True,
        proves=True,
        memories_at_least=2,
    ),
    *extensions("own-solvers").values(),
    _engine_row(
        "cp-sat", "constraint programming: one NoOverlap per live set (OR-Tools)", "cp_sat.goals", "ortools", 5_000
    ),
    _engine_row("highs", "the integer program, solved by HiGHS", "mip.highs", "highspy", 400),
    _engine_row("cbc", "the integer program, solved by CBC through PuLP", "mip.cbc", "pulp", 400),
)

SOLVERS: tuple[SolverRow, ...] = (*_OWN, *(replace(row, is_trusted=False) for row in extensions("solvers").values()))
"""All solvers. Solvers from other distributions are never trusted, and `auto` does not use them."""
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
    """Return the row of the solver with this name; raises OptionError if it is unknown or lacks a package."""
    if name not in BY_NAME:
        names = ", ".join(BY_NAME)
        planners = reference_planners()
        words = _OTHER_WORDS | {planner.name: planner.other_names for planner in planners.values()}
        hint = did_you_mean(name.replace("_", "-"), (*BY_NAME, *planners), words)
        rule = f"must be one of auto, {names}, or reference:NAME"
        raise OptionError(f"solver: {rule}, got {name!r}{hint}")
    row = BY_NAME[name]
    require_packages(f"solver: {name}", row.needs)
    return row
