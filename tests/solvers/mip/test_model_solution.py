"""Solution files of MIP solvers for exported model files are read back into plans."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.planner.errors import FormatError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.mip.model_file import write_model
from memplan.solvers.mip.model_solution import plan_of_solution
from memplan.solvers.portfolio.solve import solve
from tests.support.depth import seeds
from tests.support.random_problems import random_problem

ROWS: list[dict[str, Any]] = [
    {"id": "a", "size": 16, "start": 0, "end": 3},
    {"id": "b 1", "size": 32, "start": 2, "end": 5},
    {"id": "c", "size": 16, "start": 4, "end": 7},
    {"id": "view", "size": 16, "start": 2, "end": 4, "alias_of": "b 1", "alias_offset": 16},
]
ONE = Problem.model_validate({"buffers": ROWS})
TWO = Problem.model_validate(
    {"buffers": ROWS, "pools": [{"name": "s", "size": 16}, {"name": "d", "size": 64, "cost": 2}], "objective": "cost"}
)
HIGHS = (
    "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 3\n# Columns 3\n{rows}\n# Rows 1\no_a 9\n"
)
CBC = "Optimal - objective value 3.00000000\n{numbered}\n"
SCIP = "solution status: optimal solution found\nobjective value:   3\n{rows}\n"


def solution_bytes(form: str, values: dict[str, str]) -> bytes:
    rows = "\n".join(
        f"{name} {value} \t(obj:0)" if form is SCIP else f"{name} {value}" for name, value in values.items()
    )
    numbered = "\n".join(f"   {k:>4} {name}   {value}    0" for k, (name, value) in enumerate(values.items()))
    return form.format(rows=rows, numbered=numbered).encode()


def places(plan: Plan) -> dict[str, tuple[str, int]]:
    return {str(row.id): (row.pool, row.offset) for row in plan.placements}


@pytest.mark.parametrize("form", [HIGHS, CBC, SCIP], ids=["HiGHS", "CBC", "SCIP"])
def test_solution_files_of_solvers_are_read_as_plans_and_may_omit_zeros(form: str) -> None:
    found = plan_of_solution(ONE, solution_bytes(form, {"peak": "3", "o_b_1": "0.99999999"}))
    assert places(found) == {"a": ("default", 0), "b 1": ("default", 16), "c": ("default", 0), "view": ("default", 32)}
    assert verify(ONE, found) == ()
    chosen = {"in_s_a": "1", "in_d_b_1": "1", "in_d_c": "1", "o_c": "2"}
    found = plan_of_solution(TWO, solution_bytes(form, chosen))
    assert places(found) == {"a": ("s", 0), "b 1": ("d", 0), "c": ("d", 32), "view": ("d", 16)}
    assert verify(TWO, found) == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            b"Infeasible - objective value 0.0\n",
            "^must have the values of columns such as o_a, .* got none; give a solution",
        ),
        (solution_bytes(HIGHS, {"o_a": "0.5"}), "^o_a: must be an integer of at least 0, got 0.5$"),
        (solution_bytes(HIGHS, {"o_a": "-1"}), "^o_a: must be an integer of at least 0, got -1"),
        (solution_bytes(HIGHS, {"o_a": "nan"}), "^o_a: must be an integer of at least 0, got NaN"),
        (solution_bytes(HIGHS, {"o_a": "inf"}), "^o_a: must be an integer of at least 0, got Infinity"),
        (solution_bytes(HIGHS, {"o_a": "one"}), '^o_a: must be followed by a number, got "one"$'),
    ],
)
def test_files_without_a_valid_solution_are_refused(text: bytes, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        plan_of_solution(ONE, text)


def test_verify_accepts_solution_files_of_any_name(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (problem := tmp_path / "p.json").write_text(ONE.model_dump_json(exclude_defaults=True))
    (right := tmp_path / "out.txt").write_bytes(solution_bytes(CBC, {"o_b_1": "1"}))
    (wrong := tmp_path / "x.sol").write_text("o_b_1 0\n")
    assert main(["verify", str(problem), "--solution", str(right)]) == 0
    assert json.loads(capfd.readouterr().out)["valid"] is True
    assert main(["verify", str(problem), "--solution", str(wrong)]) == 3
    assert "share bytes" in capfd.readouterr().out
    assert main(["verify", str(problem), str(right), "--solution", str(wrong)]) == 2
    assert "solution: must not be given with a plan" in capfd.readouterr().err


SOLVED = """
import sys, highspy
for path in sys.argv[1:]:
    engine = highspy.Highs()
    engine.setOptionValue("output_flag", False)
    engine.readModel(path)
    engine.run()
    engine.writeSolution(path + ".sol", 0)
"""


@pytest.mark.drawn
@pytest.mark.slow
def test_solutions_of_highs_for_model_files_are_optimal_plans(tmp_path: Path) -> None:
    if find_spec("highspy") is None:
        pytest.skip("needs HiGHS")
    drawn = {tmp_path / f"{seed}.lp": random_problem(seed, 6) for seed in seeds(8)}
    best = {path: solve(problem, time_limit_s=5) for path, problem in drawn.items()}
    solved = [path for path, plan in best.items() if plan.status == "optimal"]
    solved = [path for path in solved if drawn[path].objective == "peak" and len(drawn[path].pools) == 1]
    assert solved
    for path in solved:
        path.write_bytes(write_model(drawn[path], ".lp"))
    subprocess.run([sys.executable, "-c", SOLVED, *map(str, solved)], check=True)
    for path in solved:
        found = plan_of_solution(drawn[path], path.with_suffix(".lp.sol").read_bytes())
        assert verify(drawn[path], found) == ()
        assert verify(drawn[path], found.model_copy(update={"peak": best[path].peak})) == (), path
