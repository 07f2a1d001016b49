"""Agreement of the plan checkers in Python and C with the verifier, on plans with one moved buffer."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from memplan.extensions.checkers import plan as untyped

from memplan import solve
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from tests.support.constrained_problems import CONSTRAINTS, OTHERS, constrained_problem
from tests.support.random_problems import random_problem
from tests.support.tied_problems import tied_problem

CHECKER: Any = untyped
FOLDER = Path(__file__).parents[1] / "memplan.extensions.checkers"
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
