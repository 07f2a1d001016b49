"""The checkers of plans and of the price of shared bytes, in Python and in C, beside the verifier."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memplan import solve
from memplan.checkers import plan as untyped
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Pool, Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.certificates.certify import certify
from tests.support.checkers import both
from tests.support.constrained_problems import CONSTRAINTS, OTHERS, constrained_problem
from tests.support.random_problems import random_problem
from tests.support.tied_problems import tied_problem

CHECKER: Any = untyped
FOLDER = Path(__file__).parents[3] / "checkers"
Rows = list[tuple[int | str, str, int]]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    path = tmp_path_factory.mktemp("plan") / "plan"
    subprocess.run(["cc", "-O1", "-std=c99", "-o", path, FOLDER / "plan.c"], check=True)
    return str(path)


def problems() -> list[Problem]:
    draw = random.Random(3)
    return [
        *(constrained_problem(seed, 6, frozenset(draw.sample((*CONSTRAINTS, *OTHERS), 4))) for seed in range(7)),
        *(
            random_problem(seed, 6, frozenset(draw.sample(("alignment", "reserved", "pins", "pools"), 2)))
            for seed in range(7)
        ),
        *(tied_problem(seed, 6) for seed in range(7)),
    ]


def moved(rows: Rows, draw: random.Random) -> Rows:
    i = draw.randrange(len(rows))
    name, pool, offset = rows[i]
    return [*rows[:i], (name, pool, max(0, offset + draw.choice((-8, -4, -1, 1, 2, 8)))), *rows[i + 1 :]]


def in_python(text: str, rows: Rows) -> list[int] | None:
    try:
        used, _, alive = CHECKER.check(text, json.dumps(rows))
    except CHECKER.Refused:
        return None
    assert sum(used) >= alive
    return list(used)


def test_plans_are_valid_where_the_verifier_says_so(program: str, tmp_path: Path) -> None:
    draw, answers = random.Random(1), []
    for problem in problems():
        plan = solve(problem, time_limit_s=0.3)
        text = write_problem(problem).decode()
        rows: Rows = [(row.id, row.pool, row.offset) for row in plan.placements]
        for tried in [rows, *(moved(rows, draw) for _ in range(4))] if rows else []:
            placements = [{"id": name, "pool": pool, "offset": offset} for name, pool, offset in tried]
            found = in_python(text, tried)
            assert (found is not None) == (not verify(problem, Plan.model_validate({"placements": placements})))
            if tried is rows:
                assert found is not None
                assert sum(found) == plan.peak
            (tmp_path / "problem").write_text(text)
            (tmp_path / "plan").write_text(json.dumps(tried))
            files = [str(tmp_path / "problem"), str(tmp_path / "plan")]
            status = subprocess.run([program, *files], capture_output=True, check=False).returncode
            assert status in (2, 3 if found is None else 0)
            (tmp_path / "plan").write_text(json.dumps({"status": "optimal", "placements": placements}))
            assert subprocess.run([program, *files], capture_output=True, check=False).returncode == status
            answers.append(status)
    assert min(map(answers.count, (0, 2, 3))) >= 6


@pytest.mark.parametrize(
    ("plan", "fault"),
    [
        ('{"status":"optimal"}', "placements were expected"),
        ('{"placements":[],"placements":[{"id":0,"offset":0}]}', "placements twice"),
        ('{"placements":[["id"]]}', "an object was expected"),
        ('{"placements":[{"id":0,"offset":0,"offset":8}]}', "a field that is not known, or is there twice"),
        ('{"placements":[{"id":0,"offset":-1}]}', "a wrong value"),
        ('{"placements":[{"id":0}]}', "a field is missing"),
    ],
)
def test_a_plan_of_another_form_is_wrong_input(program: str, tmp_path: Path, plan: str, fault: str) -> None:
    files = tmp_path / "problem.csv", tmp_path / "plan.json"
    files[0].write_text("id,lower,upper,size\n0,0,1,8\n")
    files[1].write_text(plan)
    done = subprocess.run([program, *files], capture_output=True, check=False, text=True)
    assert (done.returncode, (done.stdout + done.stderr).strip()) == (2, f"wrong input: {fault}")


ROWS = [{"id": k, "size": 8 + 8 * (k % 2), "start": k, "end": k + 1} for k in range(6)]
PROBLEM = Problem.model_validate(
    {
        "buffers": ROWS,
        "reuse": [{"pairs": [[i, j] for j in range(6) for i in range(j)], "cost": 2}],
        "pools": [{"name": "ub", "size": 40, "reserved": [[0, 8]]}],
        "objective": "cost",
    }
)


@pytest.fixture(scope="module")
def text() -> str:
    plan = solve(PROBLEM, time_limit_s=20)
    assert (plan.status, plan.cost) == ("optimal", 8)
    found = certify(PROBLEM, plan)
    assert found.kind == "multipliers", found.reason
    return found.text


def dearer(text: str) -> str:
    return text.replace("price 8", "price 9")


def of_one_part_twice(text: str) -> str:
    return text + text[text.index("part") :]


def with_a_buffer_less(text: str) -> str:
    return "\n".join(line.rsplit(" ", 1)[0] if line.startswith("clique") else line for line in text.split("\n"))


def unscaled(text: str) -> str:
    return text.replace("scale 1048576", "scale 0")


@pytest.mark.parametrize(
    ("change", "status"),
    [(str, 0), (dearer, 3), (of_one_part_twice, 2), (with_a_buffer_less, 2), (unscaled, 2)],
)
def test_both_checkers_say_the_same(
    change: Callable[[str], str], status: int, text: str, program: str, tmp_path: Path
) -> None:
    problem, proof = tmp_path / "problem.json", tmp_path / "plan.proof"
    problem.write_bytes(write_problem(PROBLEM))
    proof.write_text(change(text))
    said = both(program, [problem, proof])
    assert [each for each, _ in said] == [status, status], said
    if status == 0:
        assert said[0] == said[1]
        assert "no plan pays less than 8" in said[0][1]


def test_what_costs_nothing_is_certified_by_no_clique(program: str, tmp_path: Path) -> None:
    cheap = PROBLEM.model_copy(update={"pools": (Pool(name="ub"),)})
    plan = solve(cheap)
    found = certify(cheap, plan)
    assert (plan.status, plan.cost, found.kind, found.reason) == ("optimal", 0, "multipliers", None)
    problem, proof = tmp_path / "problem.json", tmp_path / "plan.proof"
    problem.write_bytes(write_problem(cheap))
    proof.write_text(found.text)
    said = both(program, [problem, proof])
    assert [status for status, _ in said] == [0, 0], said


def test_costs_of_pools_are_certified_beside_prices_that_no_plan_need_pay() -> None:
    rows = [{"id": k, "size": 8, "start": k, "end": k + 1, "traffic": 10} for k in range(3)]
    pools = [{"name": "fast", "size": 16, "cost": 1}, {"name": "slow", "cost": 2}]
    reuse = [{"pairs": [[0, 2]], "cost": 1}]
    problem = Problem.model_validate({"buffers": rows, "pools": pools, "reuse": reuse, "objective": "cost"})
    found = certify(problem, solve(problem))
    assert found.reason is None
    assert "cost 30 1" in found.text
