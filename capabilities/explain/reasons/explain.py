"""The explanation of why nothing fits: the solve, and then the search for the reason."""

from __future__ import annotations

from memplan.capabilities.explain.reasons.options import ExplainOptions
from memplan.capabilities.explain.reasons.reasoning import Reasoning
from memplan.planner.model.plan import Explanation, Plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S


def explain(problem: Problem, *, plan: Plan | None = None, options: ExplainOptions | None = None) -> Explanation | None:
    """Explain why a problem does not fit its pools; None where it does fit.

    `plan` is the answer of a solve, where there is one already. Where it is not known that nothing fits, the
    explanation has no `kind`, and says where it is tightest.
    """
    chosen = options or ExplainOptions()
    if plan is None:
        plan = chosen.solved(problem, DEFAULT_TIME_LIMIT_S, accept="fit")
    if plan.status in ("optimal", "feasible"):
        return None
    if plan.status == "unknown" or plan.explanation is None:
        return plan.explanation
    return Reasoning(problem, plan.explanation, chosen).explanation()


def with_reason(problem: Problem, plan: Plan, options: ExplainOptions | None = None) -> Plan:
    """Return the plan with its reason looked into, where it says that nothing fits; else the plan itself."""
    if plan.status != "infeasible":
        return plan
    return plan.model_copy(update={"explanation": explain(problem, plan=plan, options=options)})
