"""Solvers that lie, fail or never end; run in the test's own process, under rows put into the registry by the test."""

from __future__ import annotations

import time

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.solvers.exact import few_buffers
from memplan.solvers.portfolio.registry import SolverRow
from memplan.solvers.search.incumbent import Search


def overlaps(instance: Instance, search: Search) -> None:
    """Offer all buffers at the bottom of the last memory: a wonderful peak, and no plan."""
    last = np.full(len(instance), len(instance.pools) - 1)
    search.offer(last, np.zeros(len(instance), dtype=np.int64), "overlaps")


def denies(instance: Instance, search: Search) -> None:
    """Say that nothing fits, as HiGHS did on large offsets."""
    search.claim_infeasible("denies")


def exaggerates(instance: Instance, search: Search) -> None:
    """Claim a bound that no plan can meet."""
    search.offer_bound(tuple(10**6 for _ in search.bound), "exaggerates")


def fails(instance: Instance, search: Search) -> None:
    """Fail before there is anything to offer."""
    raise ZeroDivisionError("the solver fell over")


def offers_first(instance: Instance, search: Search) -> None:
    """Offer the best plan of a few buffers, then fail."""
    own = Search(instance, deadline=search.deadline)
    few_buffers.solve(instance, own)
    assert own.best is not None
    search.offer(own.best.pool, own.best.offset, "offers-first")
    raise ZeroDivisionError("the solver fell over")


def waits(instance: Instance, search: Search) -> None:
    """Return when the search is over and not before."""
    while not search.is_over:
        time.sleep(0.005)


def ends(instance: Instance, search: Search) -> None:
    """Cancel the search from inside, which only a search that is shared in this process can do."""
    assert isinstance(search, Search)
    search.stop("cancelled")


def row(function: str) -> SolverRow:
    """Return the row of one of these solvers."""
    return SolverRow(function.replace("_", "-"), "a solver for tests", f"tests.support.false_claims:{function}")
