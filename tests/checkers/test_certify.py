import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lab.support.certified import problem_of_buffers
from memplan import Plan, Problem, infeasible_core, solve
from memplan.checkers import check as untyped
from memplan.planner.errors import OptionError
from memplan.planner.formats import FORMATS
from memplan.planner.model.problem import Profile
from memplan.solvers.certificates import least_cost
from memplan.solvers.certificates.certify import certify
from tests.checkers.best_claims import best_goals, false_claims, is_claim_of, set_capacities
from tests.checkers.certificate_mutants import mutant
from tests.support import public_problems
from tests.support.depth import seeds
from tests.support.oracle import best_score
from tests.support.random_problems import random_problem
from tests.support.tied_problems import tied_problem
from tests.support.tight_problems import FEATURES, full_load, mixed_alignments, tight_problem

ROOT = Path(__file__).parents[2]
CHECKER: Any = untyped
PROFILES: tuple[Profile | None, ...] = (None, "balanced", "speed", "size")
WRONG_INPUT = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)


def text_of(problem: Problem) -> str:
    return FORMATS["json"].write_problem(problem).decode()


def is_accepted(text: str, lines: list[str]) -> bool:
    try:
        CHECKER.check(text, lines)
    except (CHECKER.Refused, *WRONG_INPUT):
        return False
    return True


@pytest.mark.drawn
@pytest.mark.parametrize("feature", FEATURES)
def test_checker_accepts_certificates_of_optimal_peaks_and_refuses_higher_claims(feature: str) -> None:
    rng = random.Random(feature)
    for seed in seeds(6):
        problem = tight_problem(seed, feature)
        best = best_score(problem)
        certificate = certify(problem, solve(problem))
        assert certificate.kind != "none", (seed, certificate.reason)
        lines, text = certificate.text.splitlines(), text_of(problem)
        if best is None:
            assert lines[2] == "infeasible"
            continue
        assert lines[2:4] == [f"used {best[0]}", f"claim {best[0] - 1}"]
        assert is_accepted(text, lines)
        feasible = [*lines[:2], f"used {best[0] + 1}", f"claim {best[0]}", *lines[4:]]
        assert not is_accepted(text, feasible)
        assert not any(is_accepted(text, mutant(feasible, rng)) for _ in range(20))


@pytest.mark.drawn
@pytest.mark.parametrize("feature", ["", "reserved", "alignment", "conflicts", "holes", "cost"])
def test_certificates_of_profiles_claim_exactly_the_least_cost_and_pool_use(feature: str) -> None:
    rng = random.Random(feature)
    for seed in seeds(1):
        problem = random_problem(seed, 5, frozenset({"pools", feature} - {""}))
        for profile in PROFILES:
            plan = solve(problem, profile=profile)
            certificate = certify(problem, plan)
            assert (plan.status, certificate.reason, certificate.left_open) == ("optimal", None, None)
            lines, text = certificate.text.splitlines(), text_of(problem)
            assert is_claim_of(lines[2], best_goals(problem, profile or plan.profile)), lines[2]
            assert is_accepted(text, lines)
            for false in false_claims(lines):
                right = set_capacities(false, [pool.size for pool in problem.pools])
                assert not is_accepted(text, false)
                assert not is_accepted(text, right)
                assert not any(is_accepted(text, mutant(right, rng)) for _ in range(5))


def test_certify_proves_a_cost_with_decimal_prices_by_lemmas() -> None:
    tight = full_load(3001, 12, 24, 4)
    rows = [row.model_dump(exclude_defaults=True) | {"pools": ("fast", "slow")} for row in tight.buffers]
    peak = solve(tight).peak or 0
    pools = [{"name": "fast", "size": peak - 1, "cost": 0.1}, {"name": "slow", "cost": 0.75}]
    problem = Problem(buffers=rows, objective="cost", pools=pools)
    certificate = certify(problem, solve(problem))
    assert (certificate.kind, certificate.reason) == ("lemmas", None)
    assert certificate.text.splitlines()[2].split()[2] == "20"


@pytest.mark.drawn
def test_certificates_of_problems_with_all_constraint_kinds_claim_true_optima() -> None:
    certified = 0
    for seed in seeds(20):
        problem = tied_problem(seed, 5).model_copy(update={"objective": "peak"})
        plan = solve(problem, time_limit_s=1)
        certificate = certify(problem, plan, time_limit_s=1)
        if certificate.kind == "none":
            assert certificate.reason
            continue
        certified += 1
        assert is_claim_of(certificate.text.splitlines()[2], best_goals(problem, plan.profile))
        assert is_accepted(text_of(problem), certificate.text.splitlines())
    assert certified > 7


@pytest.mark.parametrize(
    "problem", [full_load(3001, 30, 1000, 5), mixed_alignments(16003, 16)], ids=["full", "aligned"]
)
def test_certify_proves_a_peak_above_the_live_peak_by_lemmas_about_an_unfitting_core(problem: Problem) -> None:
    plan = solve(problem, time_limit_s=20)
    certificate = certify(problem, plan)
    assert (certificate.kind, certificate.lemmas > 10) == ("lemmas", True)
    rows = [row for row in problem.buffers if row.id in certificate.buffers]
    core = problem.model_copy(update={"buffers": type(problem.buffers).from_rows(rows)})
    assert solve(core, time_limit_s=20).lower_bound == plan.peak


def test_certify_names_a_buffer_whose_alias_is_pinned_to_another_offset() -> None:
    alias = {"id": "b", "size": 0, "start": 2, "end": 3, "alias_of": "a", "alias_offset": 2, "offset": 8}
    problem = Problem(buffers=[{"id": "a", "size": 2, "start": 0, "end": 1, "offset": 4}, alias])
    certificate = certify(problem, solve(problem))
    assert (certificate.kind, certificate.buffers) == ("live-set", ("a",))


@pytest.mark.parametrize("feature", ["pins", "everything", "alignment"])
def test_buffers_of_an_infeasible_core_do_not_fit_even_alone(feature: str) -> None:
    for seed in range(12):
        best = best_score(tight_problem(seed, feature))
        problem = tight_problem(seed, feature, max(0, int(best[0]) - 1) if best else 20)
        core = infeasible_core(problem)
        assert core is not None
        assert best_score(problem_of_buffers(problem, core)) is None


def test_certify_proves_a_plan_with_two_pools_by_three_claims() -> None:
    buffers = [{"id": k, "start": k, "end": k + 2, "size": 10 + k} for k in range(6)]
    problem = Problem(buffers=buffers, pools=[{"name": "fast", "size": 16}, {"name": "slow"}])
    certificate = certify(problem, solve(problem))
    assert certificate.kind != "none"
    assert len([line for line in certificate.text.splitlines() if line.startswith("claim")]) == 3


def test_certify_gives_a_reason_for_a_plan_that_claims_no_proof() -> None:
    problem = full_load(1, 12)
    certificate = certify(problem, solve(problem).model_copy(update={"status": "feasible"}))
    assert certificate.facts().reason == "the plan is feasible, which claims no proof"
    with pytest.raises(OptionError, match="time_limit_s: must be above 0 and finite, got 0"):
        certify(problem, Plan(status="infeasible"), time_limit_s=0)


def test_checker_exits_with_0_if_proved_with_3_if_refused_and_with_2_if_a_file_is_missing(tmp_path: Path) -> None:
    problem = public_problems.problem("tflite/kws_dscnn_int8.csv")
    certificate = certify(problem, plan := solve(problem))
    assert plan.peak is not None
    table, proof, false = tmp_path / "problem.csv", tmp_path / "plan.proof", tmp_path / "false.lemmas"
    table.write_bytes(FORMATS["csv"].write_problem(problem))
    proof.write_text(certificate.text)
    false.write_text(certificate.text.replace(f"used {plan.peak}", f"used {plan.peak + 1}"))
    for name, status in ((proof, 0), (false, 3), (tmp_path / "none", 2)):
        command = [sys.executable, str(ROOT / "checkers" / "check.py"), str(table), str(name)]
        assert subprocess.run(command, capture_output=True, check=False).returncode == status


def test_certify_names_a_buffer_without_legal_offset_together_with_the_pins_that_block_it() -> None:
    problem = tied_problem(46699, 5)
    certificate = certify(problem, solve(problem))
    assert certificate.kind == "live-set"
    assert best_score(problem_of_buffers(problem, certificate.buffers)) is None


def test_certify_calls_no_plan_wrong_if_its_search_of_pools_ends_unproved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(least_cost, "_DEEPEST", -1)
    problem = random_problem(2, 5, frozenset({"pools", "cost"}))
    found = certify(problem, solve(problem))
    assert (found.kind, found.reason) == ("none", "no multipliers were found that bring the bound up to the cost")


def test_certify_proves_the_peaks_of_pools_by_lemmas_if_all_plans_cost_the_same() -> None:
    rows = [
        {"id": 0, "size": 4, "start": 2, "end": 3, "pools": ["slow"]},
        {"id": 1, "size": 11, "start": 2, "end": 3, "pools": ["slow", "fast"]},
        {"id": 2, "size": 10, "start": 0, "end": 1},
        {"id": 3, "size": 10, "start": 2, "end": 3},
    ]
    fast, middle = ({"name": "fast", "size": 20}, {"name": "middle", "size": 40})
    pools = [fast | {"reserved": [[1, 1], [8, 1]]}, middle | {"reserved": [[1, 3], [8, 1]]}, {"name": "slow"}]
    problem = Problem(buffers=rows, pools=pools)
    found = certify(problem, solve(problem, profile="speed"))
    assert (found.reason, found.left_open, found.text.splitlines()[2]) == (None, None, "speed 18 1 20 19 4")


def test_certify_gives_a_reason_for_a_price_that_follows_from_pins_instead_of_cliques() -> None:
    rows = [
        {"id": "a", "size": 5, "start": 0, "end": 2, "offset": 7},
        {"id": "b", "size": 4, "start": 2, "end": 4, "offset": 6},
        {"id": "c", "size": 4, "start": 4, "end": 6},
    ]
    reuse = [{"pairs": [["a", "b"], ["b", "c"], ["a", "b"]], "cost": 1}]
    problem = Problem(buffers=rows, reuse=reuse, objective="cost")
    plan = solve(problem, time_limit_s=5)
    assert (plan.status, plan.cost) == ("optimal", 2.0)
    found = certify(problem, plan, time_limit_s=5)
    reason = "the price follows from pins or limits of offsets, not from cliques alone"
    assert (found.kind, found.reason) == ("none", reason)
