"""Tests of certificates of the price of shared bytes: the checker accepts them and refuses changed ones."""

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from memplan import solve
from memplan.checkers import plan as untyped
from memplan.planner.formats.memplan_json import write_plan, write_problem
from memplan.planner.model.problem import Pool, Problem
from memplan.questions.verify.verify import verdict_on
from memplan.solvers.certificates.certify import certify
from memplan.solvers.certificates.verdicts import CheckerVerdict, verdict_beside_plan
from tests.checkers.checkers import CHECKER

PLAN_CHECKER: Any = untyped
ROWS = [{"id": k, "size": 8 + 8 * (k % 2), "start": k, "end": k + 1} for k in range(6)]
PROBLEM = Problem(
    buffers=ROWS,
    reuse=[{"pairs": [[i, j] for j in range(6) for i in range(j)], "cost": 2}],
    pools=[{"name": "ub", "size": 40, "reserved": [[0, 8]]}],
    objective="cost",
)


@pytest.fixture(scope="module")
def text() -> str:
    plan = solve(PROBLEM, time_limit_s=20)
    assert (plan.status, plan.cost) == ("optimal", 8)
    found = certify(PROBLEM, plan)
    assert found.kind == "multipliers", found.reason
    return found.text


def raise_price(text: str) -> str:
    return text.replace("price 8", "price 9")


def repeat_part(text: str) -> str:
    return text + text[text.index("part") :]


def drop_buffer(text: str) -> str:
    return "\n".join(line.rsplit(" ", 1)[0] if line.startswith("clique") else line for line in text.split("\n"))


def remove_scale(text: str) -> str:
    return text.replace("scale 1048576", "scale 0")


def verdict(folder: Path, problem: Problem, certificate: str) -> tuple[int, str]:
    files = folder / "problem.json", folder / "plan.proof"
    files[0].write_bytes(write_problem(problem))
    files[1].write_text(certificate)
    status, said = CHECKER.main([*map(str, files)])
    return status, said


@pytest.mark.parametrize(
    ("change", "status"), [(str, 0), (raise_price, 3), (repeat_part, 2), (drop_buffer, 2), (remove_scale, 2)]
)
def test_changed_certificates_are_refused(change: Callable[[str], str], status: int, text: str, tmp_path: Path) -> None:
    found, said = verdict(tmp_path, PROBLEM, change(text))
    assert found == status, said
    assert ("no plan pays less than 8" in said) == (status == 0)


@pytest.mark.parametrize(
    "tie",
    [{"may_share": [["a", "b"]]}, {"buffers": [{"id": "b", "relative": {"to": "a", "offset": 0}}]}],
    ids=["may_share", "relative"],
)
def test_pairs_that_share_although_they_are_alive_pay_nothing(tie: dict[str, Any], tmp_path: Path) -> None:
    rows = [{"id": name, "size": 4, "start": 2 * (name == "c"), "end": 2 + (name == "c")} for name in "abc"]
    rows[1] |= tie.get("buffers", [{}])[0]
    fields = {"pools": [{"name": "only", "size": 8}], "objective": "cost", **tie, "buffers": rows}
    problem = Problem.model_validate(fields | {"reuse": [{"pairs": [["a", "b"], ["a", "c"], ["b", "c"]], "cost": 7}]})
    proof = "memplan-lemmas/1\nsizes 8\nprice 7\nscale 1\npart\nclique 7 4 0 1 2\n"
    status, said = verdict(tmp_path, problem, proof)
    assert (status, "a price or conflict for each pair" in said) == (2, True), said
    plan = solve(problem, time_limit_s=20)
    assert plan.cost == 0
    assert not verdict_on(problem, plan, proof).valid
    believed = CheckerVerdict("proved: no plan pays less than 7", "price", Fraction(7))
    assert "(cost), and this one has 0; as the plan is valid" in verdict_beside_plan(problem, plan, believed).sentence


def test_a_tied_pair_that_is_never_alive_together_pays_its_price() -> None:
    rows: list[dict[str, Any]] = [{"id": k, "size": 4, "start": k, "end": k + 1} for k in range(2)]
    rows[1]["relative"] = {"to": 0, "offset": 0}
    problem = Problem(buffers=rows, reuse=[{"pairs": [[0, 1]], "cost": 7}], pools=[{"name": "ub"}], objective="cost")
    plan = solve(problem)
    texts = write_problem(problem).decode(), write_plan(plan, problem).decode()
    assert (plan.cost, PLAN_CHECKER.check(*texts)[1]) == (7, 7)


def test_checker_accepts_a_certificate_of_price_zero_without_cliques(tmp_path: Path) -> None:
    cheap = PROBLEM.model_copy(update={"pools": (Pool(name="ub"),)})
    plan = solve(cheap)
    found = certify(cheap, plan)
    assert (plan.status, plan.cost, found.kind, found.reason) == ("optimal", 0, "multipliers", None)
    status, said = verdict(tmp_path, cheap, found.text)
    assert status == 0, said


def test_certify_proves_the_cost_of_pools_in_a_problem_with_avoidable_prices() -> None:
    rows = [{"id": k, "size": 8, "start": k, "end": k + 1, "traffic": 10} for k in range(3)]
    pools = [{"name": "fast", "size": 16, "cost": 1}, {"name": "slow", "cost": 2}]
    problem = Problem(buffers=rows, pools=pools, reuse=[{"pairs": [[0, 2]], "cost": 1}], objective="cost")
    found = certify(problem, solve(problem))
    assert found.reason is None
    assert "cost 30 1" in found.text
