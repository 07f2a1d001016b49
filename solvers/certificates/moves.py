"""Certificates of the cost of plans of buffers that move: prices, whose bound the independent checker computes."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.moves.bounds import proved_bound
from memplan.solvers.search.control import Control


def proof_of_moves(problem: Problem, plan: Plan, control: Control) -> tuple[Sequence[str], str | None] | str:
    """Return the lines of a proof and what it leaves open, or a sentence on why there is none.

    The proof may be of a bound below the plan's cost.
    """
    if plan.cost is None:
        return "the plan has no cost, and certificates cannot state that nothing fits if buffers move"
    proved = proved_bound(problem, plan.cost, control)
    if proved.bound <= 0:
        return "no prices were found in time that prove a bound, or the problem has rules that the checker refuses"
    if proved.cost >= plan.cost:
        return proved.lines(), None
    gap = plan.cost / proved.cost - 1
    return (
        proved.lines(),
        f"a cost from {proved.cost:,.15g} up to that of the plan, {plan.cost:,.15g} ({gap:.2g} above)",
    )
