"""`verify` either checks each claim of a plan or lists it as not checked."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from memplan import solve
from memplan.api.cli.main import main
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions.verify.verify import QUESTION, Verdict, verdict_lines, verify
from memplan.solvers.certificates import verdicts
from memplan.solvers.certificates.certify import add_certificate, certify
from tests.support.random_problems import random_problem
from tests.support.tight_problems import mixed_alignments

PAIR = [{"id": "a", "size": 4, "start": 0, "end": 2, "alignment": 8}, {"id": "b", "size": 5, "start": 1, "end": 3}]
ONE = Problem.model_validate({"buffers": PAIR, "pools": [{"name": "p", "size": 64}]})
TWO = random_problem(3, 5, frozenset({"pools"}))


def makers_by_claim(found: Verdict) -> dict[str, str | None]:
    return {each.claim: each.by for each in found.claims}


def certified_plan(problem: Problem, **options: Any) -> tuple[Plan, str]:
    plan = solve(problem, **options)
    found = certify(problem, plan)
    return add_certificate(plan, found), found.text


def test_a_certificate_confirms_claims_that_no_other_check_confirms() -> None:
    for profile in ("balanced", "speed", "size"):
        plan, text = certified_plan(TWO, profile=profile)
        alone, proved = makers_by_claim(verify(TWO, plan)), makers_by_claim(verify(TWO, plan, text))
        # Live bytes bound no costs, so only the profile `size` has a witness.
        assert (alone["status"], alone["profile"]) == ("witness" if profile == "size" else None, None)
        assert {proved[name] for name in ("status", "profile", "certificate")} == {"certificate"}
        # The bound on the sum of both pools follows neither from one pool's end nor from the cost.
        unchecked = {name for name, checker in proved.items() if checker is None}
        of_run = {"solver", "stop_reason", "version", "wall_time_s"}
        assert unchecked <= of_run | {"lower_bound", "proof", "proof.by", "findings"}


def test_verify_lists_claims_of_a_valid_plan_that_it_cannot_check() -> None:
    plan = solve(ONE)
    said = list(verdict_lines(verify(ONE, plan)))
    assert said[0] == "valid, 2 placements"
    assert said[-1].startswith("not checked: ")
    bare = Plan.model_validate({"placements": [row.model_dump() for row in plan.placements]})
    (first, peak) = verdict_lines(verify(ONE, bare))
    assert (first, peak.partition(":")[0]) == ("valid, 2 placements", ONE.pools[0].name)


def test_verify_proves_the_peak_of_single_buffer_pools_minimal_by_live_bytes() -> None:
    rows = [{"id": name, "size": 8, "start": k, "end": k + 2, "pools": [name]} for k, name in enumerate("xy")]
    storages = Problem.model_validate({"buffers": rows, "pools": [{"name": "x"}, {"name": "y"}]})
    places = [{"id": name, "pool": name, "offset": 0} for name in "xy"]
    assert list(verdict_lines(verify(storages, Plan.model_validate({"placements": places}))))[1:] == [
        'x: 8 B, proved to be the least: "x" is alive at time 0',
        'y: 8 B, proved to be the least: "y" is alive at time 1',
    ]


NO_MOVES = {"moved": 0, "moved_bytes": 0, "least_moves": 0}


@pytest.mark.parametrize(
    ("changed", "claim"),
    [
        ({"lower_bound": 13, "proof": None, "peak": 13}, "status"),
        ({"proof": {"kind": "search"}}, "status"),
        ({"proof": {"kind": "engines"}}, "lower_bound"),
        ({"profile": "speed"}, "profile"),
        ({"version": "9"}, "version"),
        ({"solver": "magic"}, "solver"),
        ({"reproducible": True, "disturbed_by": "cancelled"}, "reproducible"),
        ({"kept": {"eps": 0, "least": "buffers", "stayed": 2, "proved": True} | NO_MOVES}, "kept"),
        ({"proof": {"kind": "search", "certificate": {"sha256": "0" * 64}}}, "certificate"),
        ({"pools": [{"name": "p", "used": 13, "lower_bound": 13}], "proof": None}, "pools[0].lower_bound"),
    ],
)
def test_verify_lists_claims_without_evidence_as_not_checked(changed: dict[str, Any], claim: str) -> None:
    rows = [{"id": "b", "pool": "p", "offset": 0}, {"id": "a", "pool": "p", "offset": 8}]
    rows[0]["offset"], rows[1]["offset"] = 8, 0
    fields = {"status": "optimal", "lower_bound": 13, "peak": 13, "gap": 0.0, "placements": rows}
    found = verify(ONE, Plan.model_validate(fields | changed))
    assert found.valid, found.violations
    assert makers_by_claim(found)[claim] is None
    assert any(line.startswith("not checked: ") and claim in line for line in verdict_lines(found))


def test_verify_checks_claims_of_infeasibility_or_lists_them_as_not_checked() -> None:
    problem = mixed_alignments(16003, 16)
    best = solve(problem, time_limit_s=20).peak
    assert best is not None
    tight = problem.with_capacity(best - 1)
    plan, text = certified_plan(tight)
    assert plan.status == "infeasible"
    alone, proved = makers_by_claim(verify(tight, plan)), makers_by_claim(verify(tight, plan, text))
    assert (alone["status"], proved["status"]) == (None, "certificate")
    false = Plan.model_validate({"status": "infeasible", "explanation": {"message": "no", "needed": 1}})
    named = makers_by_claim(verify(problem.with_capacity(best), false))
    assert {named["status"], named["explanation.needed"], named["explanation.message"]} == {None}


@pytest.mark.parametrize(
    "wanted", [{"weighted": {"weights": {"fast": 1000, "slow": 1}, "sum": 0.0}}, {"cost_limit": 1e9}]
)
def test_a_certificate_does_not_confirm_claims_of_a_plan_with_other_objectives(wanted: dict[str, Any]) -> None:
    plan, text = certified_plan(TWO, profile="size")
    if "weighted" in wanted:
        used = {pool.name: pool.used or 0 for pool in plan.pools}
        total = sum(weight * used[name] for name, weight in wanted["weighted"]["weights"].items())
        wanted = {"weighted": wanted["weighted"] | {"sum": total, "lower_bound": total}}
    found = verify(TWO, Plan.model_validate(json.loads(plan.model_dump_json()) | wanted), text)
    assert found.valid, found.violations
    assert {makers_by_claim(found)[name] for name in ("status", "profile", "lower_bound", *wanted)} == {None}


def test_verify_reports_an_optimal_plan_whose_cost_exceeds_its_bound() -> None:
    plan = solve(TWO, profile="speed")
    assert plan.cost is not None
    low = plan.model_copy(update={"cost_lower_bound": plan.cost - 1})
    assert "if the status is optimal" in verify(TWO, low).violations[0].message


def test_a_claim_above_the_value_of_a_valid_plan_is_a_fault_of_the_proof() -> None:
    rows = [{"id": k, "size": 4, "start": 0, "end": 2} for k in range(2)]
    fields = {"buffers": rows, "pools": [{"name": "a", "size": 8, "cost": 1}, {"name": "b", "cost": 3}]}
    problem = Problem.model_validate(fields | {"objective": "cost"})
    plan = solve(problem)
    for kind, cost, used, said in (
        ("infeasible", None, (), "that no plan exists"),
        ("used", None, (None, 1), '1 (bytes of "b"), and this one has 0'),
        ("used", None, (9, 0), '9 (bytes of "a"), and this one has 8'),
        ("cost", Fraction(9), (), "9 (cost), and this one has 8"),
        ("cost", Fraction(8), (None, 0), ""),
        ("speed", Fraction(9), (9, 0), ""),
        ("balanced", Fraction(9), (None, 1), '1 (bytes of "b")'),
    ):
        found = verdicts.verdict_beside_plan(problem, plan, verdicts.CheckerVerdict("proved", kind, cost, used))
        assert (found.kind is None, said in found.sentence) == (bool(said), True), (kind, found)


def test_a_certificate_of_another_problem_or_without_a_proof_is_reported() -> None:
    plan, text = certified_plan(ONE)
    said = verify(ONE, plan, text.replace("used 9", "used 10").replace("claim 8", "claim 9"))
    assert not said.valid
    assert any("certificate: refused" in each.message for each in said.violations)
    alone = verify(ONE, Plan(placements=plan.placements), text.replace("claim 8", "claim 9"))
    assert "`memplan certify` writes a certificate of this problem" in [*verdict_lines(alone)][-1]
    other, _ = certified_plan(ONE)
    assert other.proof is not None
    wrong = other.model_copy(
        update={"proof": other.proof.model_copy(update={"certificate": certify(TWO, solve(TWO)).facts()})}
    )
    assert any("certificate.sha256" in each.message for each in verify(ONE, wrong, text).violations)
    assert QUESTION.exit_status(said) == 3


def test_verify_accepts_plan_and_proof_of_the_same_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    table, plan, proof = (str(tmp_path / name) for name in ("e.csv", "plan.json", "plan.proof"))
    Path(table).write_text("id,start,end,size\na,0,1,9\nb,1,2,9\n")
    for more in ([], ["--capacity", "fast=10", "--capacity", "slow=20"], ["--half-open"]):
        assert main(["plan", table, "-q", "-o", plan, "-o", proof, *more]) == 0
        capfd.readouterr()
        assert main(["verify", table, plan, "--certificate", proof, "--format", "json", *more]) == 0
        found = json.loads(capfd.readouterr().out)
        checked = {each["claim"]: each["by"] for each in found["claims"]}
        assert (checked["status"], checked["certificate"]) == ("certificate", "certificate")
        lifetimes = "half-open" if more == ["--half-open"] else "closed"
        assert found["proved"].endswith(f"with {lifetimes} lifetimes")
    assert main(["verify", table, plan, "--certificate", proof, "--capacity", "30"]) == 3


def test_a_plan_of_another_problem_is_reported_before_its_violations() -> None:
    many = Problem.model_validate({"buffers": [{"id": k, "size": 4, "start": 0, "end": 2} for k in range(40)]})
    first, *others, last, _way = verdict_lines(verify(many, solve(ONE.model_copy(update={"pools": many.pools}))))
    assert (
        first == "the plan is of another problem: its problem_hash is not that of this one; "
        "give the problem for which the plan was made"
    )
    assert (len(others), last.startswith("and "), last.endswith(" other violations")) == (5, True, True)
