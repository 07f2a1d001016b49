"""`verify --again`: the repeated search gives equal bytes, another plan, or another peak; wrong options are refused."""

import threading
from typing import Any

import pytest

from memplan.planner.errors import OptionError, PlanError
from memplan.planner.formats import read_problem
from memplan.planner.model.plan import KeptPlaces, Plan
from memplan.planner.verify import verifier
from memplan.questions.question import Control
from memplan.questions.verify.verify import Verdict, VerifyOptions, verify
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Deadline
from tests.support.public_problems import FOLDER
from tests.support.values import require_value

TABLE = b"id,lower,upper,size\na,0,2,4\nb,1,3,4\nc,2,4,6\n"
PROBLEM = read_problem(TABLE, "p.csv")


def make_plan(data: bytes = TABLE, **options: Any) -> Plan:
    return solve(read_problem(data, "p.csv"), **{"time_limit_s": 1.0, "deterministic": True} | options)


def verify_again(plan: Plan, data: bytes = TABLE) -> Verdict:
    return verify(read_problem(data, "p.csv"), plan, options=VerifyOptions(again=True, with_plans=True))


def test_verify_again_repeats_deterministic_plans_byte_for_byte() -> None:
    files = ("minimalloc/C.1048576.csv", "executorch/squeezenet1_1.csv", "minimalloc_small/e.12.csv")
    for data in (TABLE, *((FOLDER / name).read_bytes() for name in files)):
        plan = make_plan(data, seed=3)
        assert plan.options == {"time_limit_s": 1.0, "deterministic": True, "seed": 3}
        found = require_value(verify_again(plan, data).again)
        assert (found.same, found.reproducible, found.version_before, found.plan) == ("bytes", True, None, plan)


def test_verify_again_solves_a_plan_without_recorded_options_with_the_defaults() -> None:
    plan = solve(PROBLEM)
    assert plan.options is None
    found = require_value(verify_again(plan).again)
    assert (found.same, found.reproducible) == ("bytes", False)


def test_verify_again_distinguishes_another_plan_from_another_peak() -> None:
    plan = make_plan()
    other = require_value(verify_again(plan.model_copy(update={"solver": "somebody", "version": "0.0.1"})).again)
    assert (other.same, other.version_before) == ("peak", "0.0.1")
    places = [{"id": row.id, "pool": row.pool, "offset": row.offset + 8} for row in plan.placements]
    higher = verify_again(
        Plan.model_validate({"placements": places, "peak": (plan.peak or 0) + 8, "status": "feasible"})
    ).again
    assert higher is not None
    assert (higher.same, higher.peak_before, higher.peak) == ("nothing", (plan.peak or 0) + 8, plan.peak)
    assert not higher.reproducible


def test_verify_again_refuses_re_plans_and_invalid_recorded_options() -> None:
    with pytest.raises(PlanError, match=r"^plan.options.time_limit_s: must be "):
        verify_again(make_plan().model_copy(update={"options": {"time_limit_s": 0}}))
    kept = KeptPlaces(eps=0, least="buffers", stayed=3, moved=0, moved_bytes=0, least_moves=0, proved=True)
    with pytest.raises(OptionError, match=r"^again: must not be given for a plan that kept places of another plan"):
        verify_again(make_plan().model_copy(update={"kept": kept}))


def test_verify_again_reproduces_infeasibility_with_its_explanation() -> None:
    small = PROBLEM.with_capacity(8)
    from memplan.questions.plan.plan import PlanOptions, plan

    first = plan(small, options=PlanOptions(deterministic=True, time_limit_s=1.0))
    assert first.explanation is not None
    found = require_value(verify(small, first, options=VerifyOptions(again=True), control=Control()).again)
    assert (found.same, found.status) == ("bytes", "infeasible")


def test_verify_again_reports_a_search_that_a_clock_or_caller_ended() -> None:
    problem = read_problem((FOLDER / "minimalloc" / "J.1048576.csv").read_bytes(), "J.csv")
    late = solve(problem, deterministic=True, control=Control(deadline=Deadline.from_limit(0.05)))
    assert (late.reproducible, late.disturbed_by) == (False, "time_limit")
    cancelled = threading.Event()
    cancelled.set()
    stopped = solve(problem, deterministic=True, control=Control(cancelled=cancelled))
    assert (stopped.reproducible, stopped.disturbed_by) == (False, "cancelled")
    assert (solve(problem, accept="fit").reproducible, verifier.verify(problem, late)) == (None, ())


def test_verify_again_has_no_comparison_after_a_cancelled_search() -> None:
    cancelled = threading.Event()
    cancelled.set()
    options = VerifyOptions(again=True)
    for made_so in (make_plan(), solve(PROBLEM)):
        found = verify(PROBLEM, made_so, options=options, control=Control(cancelled=cancelled))
        assert (found.valid, found.again, found.not_done) == (True, None, ("again",))
    hard = read_problem((FOLDER / "minimalloc" / "J.1048576.csv").read_bytes(), "J.csv")
    plan = solve(hard, time_limit_s=0.05).model_copy(update={"options": {"deterministic": True}})
    late = verify(hard, plan, options=options, control=Control(Deadline.from_limit(0.05)))
    assert (late.valid, late.again, late.not_done) == (True, None, ("again",))
