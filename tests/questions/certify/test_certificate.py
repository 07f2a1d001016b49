"""`certify`: certificates of given plans or of problems to solve, and the reason if there is none."""

import pytest

from memplan.planner.errors import PlanError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions.certify.certify import QUESTION, certificate_lines, certify

BUFFERS = [{"id": "a", "size": 64, "start": 0, "end": 3}, {"id": "b", "size": 48, "start": 2, "end": 5}]
PROBLEM = Problem.model_validate({"buffers": BUFFERS})


def test_certify_accepts_a_plan_or_solves_the_problem() -> None:
    found = certify(PROBLEM)
    assert (found.kind, found.plan.peak, QUESTION.exit_status(found)) == ("live-set", 112, 0)
    assert certify(PROBLEM, found.plan).sha256 == found.sha256
    assert next(iter(certificate_lines(found))).startswith("a peak of 112 bytes is the least: by live-set")
    assert QUESTION.refutes({"problem": PROBLEM}, found) is None


def test_certify_reports_why_no_certificate_is_available() -> None:
    rows = [{"id": "a", "pool": "default", "offset": 0}, {"id": "b", "pool": "default", "offset": 64}]
    found = certify(PROBLEM, Plan.model_validate({"status": "feasible", "placements": rows}))
    assert list(certificate_lines(found)) == ["no certificate: the plan is feasible, which claims no proof"]
    assert QUESTION.exit_status(found) == 1


def test_certify_refuses_an_invalid_plan() -> None:
    wrong = Plan.model_validate({"placements": [{"id": name, "pool": "default", "offset": 0} for name in ("a", "b")]})
    with pytest.raises(PlanError, match="plan: "):
        certify(PROBLEM, wrong)
    answer = certify(PROBLEM).model_copy(update={"plan": wrong})
    assert (QUESTION.refutes({"problem": PROBLEM}, answer) or "").startswith("plan: is not valid for this problem")
