"""Tests that the checker plan.py agrees with memplan's verifier on valid plans and on plans with one moved buffer."""

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memplan import solve
from memplan.checkers import plan as untyped
from memplan.planner.formats.memplan_json import write_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from tests.support.constrained_problems import CONSTRAINTS, OTHERS, constrained_problem
from tests.support.random_problems import random_problem
from tests.support.tied_problems import tied_problem

CHECKER: Any = untyped
SCRIPT = Path(__file__).parents[2] / "checkers" / "plan.py"
Rows = list[tuple[int | str, str, int]]


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


def move_row(rows: Rows, draw: random.Random) -> Rows:
    i = draw.randrange(len(rows))
    name, pool, offset = rows[i]
    return [*rows[:i], (name, pool, max(0, offset + draw.choice((-8, -4, -1, 1, 2, 8)))), *rows[i + 1 :]]


def python_uses(text: str, rows: Rows) -> list[int] | None:
    try:
        used, _, alive = CHECKER.check(text, json.dumps(rows))
    except CHECKER.Refused:
        return None
    assert sum(used) >= alive
    return list(used)


def is_accepted(files: list[str]) -> bool:
    try:
        return bool(CHECKER.check_command(files).startswith("valid: "))
    except CHECKER.Refused:
        return False


def test_plan_checker_accepts_exactly_the_plans_that_the_verifier_accepts(tmp_path: Path) -> None:
    draw, answers = random.Random(1), []
    for problem in problems():
        plan = solve(problem, time_limit_s=0.3)
        text = write_problem(problem).decode()
        rows: Rows = [(row.id, row.pool, row.offset) for row in plan.placements]
        for tried in [rows, *(move_row(rows, draw) for _ in range(4))] if rows else []:
            placements = [{"id": name, "pool": pool, "offset": offset} for name, pool, offset in tried]
            found = python_uses(text, tried)
            assert (found is not None) == (not verify(problem, Plan(placements=placements)))
            if tried is rows:
                assert found is not None
                assert sum(found) == plan.peak
            (tmp_path / "problem").write_text(text)
            (tmp_path / "plan").write_text(json.dumps(tried))
            files = [str(tmp_path / "problem"), str(tmp_path / "plan")]
            assert is_accepted(files) == (found is not None)
            (tmp_path / "plan").write_text(json.dumps({"status": "optimal", "placements": placements}))
            assert is_accepted(files) == (found is not None)
            answers.append(found is not None)
    assert min(map(answers.count, (True, False))) >= 6


@pytest.mark.parametrize(
    "plan",
    [
        '{"status":"optimal"}',
        '{"placements":[],"placements":[{"id":0,"offset":0}]}',
        '{"placements":[["id"]]}',
        '{"placements":[{"id":0,"offset":0,"offset":8}]}',
        '{"placements":[{"id":0}]}',
    ],
)
def test_plan_checker_exits_with_status_2_for_a_malformed_plan(tmp_path: Path, plan: str) -> None:
    files = tmp_path / "problem.csv", tmp_path / "plan.json"
    files[0].write_text("id,lower,upper,size\n0,0,1,8\n")
    files[1].write_text(plan)
    done = subprocess.run([sys.executable, SCRIPT, *files], capture_output=True, check=False, text=True)
    assert (done.returncode, done.stdout[:13]) == (2, "wrong input: "), done
