"""A client's checks of a service's answers: terminal control characters are escaped, and false claims refuted."""

import re
from typing import Any

from pydantic_core import from_json, to_json

from memplan.api.client.values import WrongAnswerError
from memplan.planner.errors import escape_controls
from memplan.planner.instance.audit import verify
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions.verify.verify import verdict_on
from memplan.solvers.certificates import verdicts

_OWN_S = 0.2
"""Seconds for a short search by the client that may refute a claim without a matching lower bound."""
_OBEYED = re.compile(rb"\\u|\xc2[\x80-\x9f]|\xe2\x80[\xa8-\xae]|\xe2\x81[\xa6-\xa9]")
"""The pattern of bytes in a JSON text that may control a terminal: escape sequences and a few characters."""


def escape_answer(data: bytes, asked: bytes) -> bytes:
    """Return a JSON answer with terminal control characters escaped, except in strings of the request `asked`."""
    return data if _OBEYED.search(data) is None else to_json(_escape_strings(from_json(data), asked))


def _escape_strings(value: Any, asked: bytes) -> Any:
    if isinstance(value, str):
        return value if value.isprintable() or to_json(value) in asked else escape_controls(value)
    if isinstance(value, dict):
        return {_escape_strings(name, asked): _escape_strings(each, asked) for name, each in value.items()}
    return [_escape_strings(each, asked) for each in value] if isinstance(value, list) else value


def check_plan(problem: Problem, plan: Plan | None) -> Plan:
    """Return a plan that is valid and whose claims no bound or short search refutes; raises WrongAnswerError."""
    violations = () if plan is None else verify(problem, plan)
    if plan is None or violations:
        rule = f": {violations[0].message}" if violations else ""
        raise WrongAnswerError(f"plan: is not valid for this problem{rule}")
    if plan.status not in ("optimal", "infeasible"):
        return plan
    if verdicts.claim_checks(problem, plan, None, None).get("status") is None:
        from memplan.solvers.portfolio.solve import solve

        own = solve(problem, time_limit_s=_OWN_S, is_quick=True)
        if plan.status == "infeasible" and own.placements:
            raise WrongAnswerError(f"plan: the service claims that nothing fits, but a plan of {own.peak} bytes does")
        is_of_peak = len(problem.pools) == 1 and problem.objective == "peak" and bool(own.placements)
        if is_of_peak and plan.peak is not None and own.peak is not None and own.peak < plan.peak:
            raise WrongAnswerError(
                f"plan: the service claims that {plan.peak} bytes are minimal, but {own.peak} suffice"
            )
    return plan


def check_certificate(problem: Problem, plan: Plan, certificate: str) -> Plan:
    """Return the plan if the certificate proves its claim; raises WrongAnswerError otherwise."""
    found = verdict_on(problem, plan, certificate)
    if not found.valid or any(each.claim == "status" and each.by is None for each in found.claims):
        why = found.violations[0].message if found.violations else "its certificate proves another claim"
        raise WrongAnswerError(f"plan: is not proved to be {plan.status}: {escape_controls(why)}")
    return plan
