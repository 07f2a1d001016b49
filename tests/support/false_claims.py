"""Solvers that make false claims, fail or never end; tests put them into the registry of their process."""

import time

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.solvers.exact import few_buffers
from memplan.solvers.portfolio.registry import SolverRow
from memplan.solvers.search.incumbent import Search


def overlaps(instance: Instance, search: Search) -> None:
    """Offer all buffers at offset 0 of the last pool, an overlapping assignment with a low peak."""
    search.offer(np.full(len(instance), len(instance.pools) - 1), np.zeros(len(instance), dtype=np.int64), "overlaps")


def denies(instance: Instance, search: Search) -> None:
    """Claim that nothing fits, as HiGHS did for large offsets."""
    search.claim_infeasible("denies")


def exaggerates(instance: Instance, search: Search) -> None:
    search.offer_bound(tuple(10**6 for _ in search.bound), "exaggerates")


def fails(instance: Instance, search: Search) -> None:
    raise ZeroDivisionError("the solver fell over")


def offers_first(instance: Instance, search: Search) -> None:
    """Offer the best plan of a small problem, then fail."""
    own = Search(instance, deadline=search.deadline)
    few_buffers.solve(instance, own)
    assert own.best is not None
    search.offer(own.best.pool, own.best.offset, "offers-first")
    raise ZeroDivisionError("the solver fell over")


def waits(instance: Instance, search: Search) -> None:
    """Return only when the search is over."""
    while not search.is_over:
        time.sleep(0.005)


def ends(instance: Instance, search: Search) -> None:
    """Cancel the search from inside, which is possible only in the same process."""
    assert isinstance(search, Search)
    search.stop("cancelled")


def row(function: str) -> SolverRow:
    return SolverRow(function.replace("_", "-"), "a solver for tests", f"tests.support.false_claims:{function}")
