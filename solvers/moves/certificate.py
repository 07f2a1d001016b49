"""Certificates of the cost of plans of buffers that move: prices, whose bound the independent checker computes."""

import threading

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.certificates.certify import TIME_LIMIT_S, Certificate, header_lines
from memplan.solvers.moves.bounds import proved_bound
from memplan.solvers.search.control import Control


def certify_moves(
    problem: Problem, plan: Plan, *, time_limit_s: float = TIME_LIMIT_S, cancelled: threading.Event | None = None
) -> Certificate:
    """Return a certificate of a lower bound on the cost if buffers move.

    The bound may be below the cost of the plan; then `left_open` says the gap. Without a bound, `reason` says why.
    """
    if plan.cost is None:
        reason = "the plan has no cost, and certificates cannot state that nothing fits if buffers move"
        return Certificate("none", reason=reason)
    proved = proved_bound(problem, plan.cost, Control.from_limit(time_limit_s, cancelled=cancelled))
    if proved.bound <= 0:
        reason = "no prices were found in time that prove a bound, or the problem has rules that the checker refuses"
        return Certificate("none", reason=reason)
    text, left_open = "\n".join([*header_lines(problem), *proved.lines()]) + "\n", None
    if proved.cost < plan.cost:
        gap = f"{plan.cost / proved.cost - 1:.2g} above"
        left_open = f"a cost from {proved.cost:,.15g} up to that of the plan, {plan.cost:,.15g} ({gap})"
    return Certificate("multipliers", text, buffers=tuple(problem.buffers.ids), left_open=left_open)
