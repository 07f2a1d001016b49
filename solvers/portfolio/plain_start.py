"""What a solve begins with where its problem is small and plain: one call of the core."""

from __future__ import annotations

import time

from memplan.planner.instance.instance import Instance
from memplan.planner.model.problem import Problem
from memplan.solvers.core import plain
from memplan.solvers.core.exact import ALONE_NODES, seed_of
from memplan.solvers.heuristics.greedy import FIRST, NEAR, offer_order
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.search.incumbent import Search


def plain_start(
    problem: Problem, options: SolveOptions, instance: Instance | None, ends: float, is_short: bool
) -> plain.PlainStart | None:
    """Return what one call makes of a problem that suits, without an exact search where it is to be short."""
    if options.solver not in ("auto", "greedy") or not plain.suits(problem):
        return None
    alignment, is_all = problem.buffers.alignment, options.solver == "greedy"
    # Work that is counted is for the stages, as are mixed alignments, where lemmas are the first to search.
    is_short = is_short or is_all or options.deterministic or problem.objective == "fit"
    limits = plain.Limits(
        first=plain.Limits().first if is_all else FIRST,
        near=1 + NEAR,
        nodes=0 if is_short or alignment.min() < alignment.max() else ALONE_NODES,
        seed=seed_of(options.seed, 0),
        seconds=max(1e-9, ends - time.monotonic()),
    )
    return plain.start_of(problem, limits, instance)


def offer_start(search: Search, start: plain.PlainStart) -> None:
    """Offer what a call has found and proved."""
    offer_order(search, start)
    if start.exact is not None and not search.is_over:
        # Imported here: most problems need no search.
        from memplan.solvers.exact.branch_and_bound import offer_begun

        offer_begun(search, start.exact)
