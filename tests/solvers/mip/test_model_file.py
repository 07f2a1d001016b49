"""Model files for MIP solvers, and solution files that are read back into plans."""

import json
import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.planner.errors import FormatError, OptionError, TimeOverError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.solvers.mip.model_file import write_model
from memplan.solvers.mip.model_solution import plan_of_solution
from memplan.solvers.portfolio.solve import solve
from tests.support.depth import seeds
from tests.support.oracle import best_score
from tests.support.program_files import READ_BY_CBC, READ_BY_HIGHS, read_back
from tests.support.random_problems import random_problem
from tests.support.small_problems import small_problems
from tests.support.tied_problems import tied_problem


def names() -> Problem:
    rows = [("conv/1", 8, 0, 3), ("conv 1", 16, 2, 5), (7, 24, 2, 4)]
    return Problem(buffers=[{"id": name, "size": size, "start": start, "end": end} for name, size, start, end in rows])


def test_lp_files_have_comments_and_column_names_of_their_buffers() -> None:
    text = write_model(names(), ".lp").decode()
    lines = [line.strip() for line in text.splitlines()]
    assert "\\ (1) minimise the largest end offset: the peak" in lines
    assert "in units of 8 bytes." in text
    assert "total: peak" in lines
    assert "peak_7: + peak - e_7 >= 0" in lines
    assert "end_7: + e_7 - o_7 = 3" in lines
    assert "0 <= o_7 <= 3" in lines
    assert "below_conv_1_7: + o_7 - e_conv_1 - 6 below_conv_1_7 >= -6" in lines


def test_model_files_give_similar_ids_distinct_names() -> None:
    assert {"o_conv_1", "o_conv_1_2", "o_7"} <= set(write_model(names(), ".mps").decode().split())


def test_model_files_number_names_that_would_coincide() -> None:
    rows = [{"id": name, "size": 1, "start": 0, "end": 1} for name in ("a", "b_c", "a_b", "c")]
    lines = write_model(Problem(buffers=rows), ".mps").decode().split("ROWS")[1].splitlines()
    defined = [line.split()[1] for line in lines[: lines.index("COLUMNS")] if line]
    assert len(defined) == len(set(defined))
    assert {"below_a_b_c", "below_a_b_c_2"} <= set(defined)


@pytest.mark.drawn
@pytest.mark.parametrize("reader", [READ_BY_HIGHS, READ_BY_CBC], ids=["highs", "cbc"])
def test_engines_read_model_files_and_find_the_optimum(reader: str, tmp_path: Path) -> None:
    problems = [*small_problems(seed=17, count=40), *(tied_problem(seed) for seed in seeds(25))]
    files, wanted = [], []
    for k, problem in enumerate(problems):
        best = best_score(problem)
        if problem.objective == "cost" or best is None:
            continue
        for suffix in (".lp", ".mps"):
            files.append(tmp_path / f"{k}{suffix}")
            files[-1].write_bytes(write_model(problem, suffix))
            wanted.append(best[0])
    assert len(files) > 40
    units = [_unit_of_file(file) for file in files]
    found = read_back(reader, files)
    assert [None if value is None else value * unit for value, unit in zip(found, units, strict=True)] == wanted


def _unit_of_file(file: Path) -> int:
    return int(" ".join(line[2:] for line in file.read_text().splitlines()[:4]).split("in units of ")[1].split()[0])


def test_a_model_file_minimises_the_cost_as_a_multiple_of_a_common_step() -> None:
    rows = [{"id": k, "size": 4, "start": 0, "end": 2, "traffic": traffic} for k, traffic in enumerate((2, 6))]
    pools = [{"name": "fast", "size": 4, "cost": 1}, {"name": "slow", "cost": 3}]
    text = write_model(Problem(buffers=rows, pools=pools, objective="cost"), ".lp").decode()
    assert "in steps of 4." in text
    assert " total: cost" in text.splitlines()


def test_model_files_write_large_integers_exactly() -> None:
    rows = [{"id": k, "size": 2**60 + k, "start": 0, "end": 1} for k in range(2)]
    assert f"= {2**60 + 1}" in write_model(Problem(buffers=rows), ".lp").decode()


def test_a_problem_without_buffers_can_be_written_as_a_model_file() -> None:
    assert write_model(Problem(buffers=[]), ".mps").decode().endswith("ENDATA\n")


def test_too_large_a_model_is_refused_with_its_number_of_rows() -> None:
    rows = [{"id": k, "size": 1, "start": 0, "end": 1} for k in range(500)]
    with pytest.raises(OptionError, match="at most 200000 rows, got up to 252001"):
        write_model(Problem.model_validate({"buffers": rows}), ".lp")


def test_write_model_refuses_other_suffixes() -> None:
    with pytest.raises(OptionError, match=r'suffix: must be .lp or .mps, got ".txt"'):
        write_model(names(), ".txt")


@pytest.mark.parametrize("suffix", [".lp", ".mps"])
def test_write_model_reports_its_progress_if_time_runs_out(suffix: str) -> None:
    asks, many = list[None](), [{"id": k, "size": 1 + k % 7, "start": 0, "end": 9} for k in range(60)]
    problem = Problem(buffers=many)

    def is_over_behind(last: int) -> bool:
        asks.append(None)
        return len(asks) > last

    whole = write_model(problem, suffix, lambda: is_over_behind(10**9))
    count = len(asks)
    assert count > 5
    for last in range(count):
        asks.clear()
        rule = (
            "must suffice to write the whole program: [0-9]+ rows and [0-9]+ columns of up to [0-9]+ rows were written"
        )
        with pytest.raises(TimeOverError, match=f"^time_limit_s: {rule}$"):
            write_model(problem, suffix, partial(is_over_behind, last))
    asks.clear()
    assert write_model(problem, suffix, lambda: is_over_behind(count)) == whole


ROWS: list[dict[str, Any]] = [
    {"id": "a", "size": 16, "start": 0, "end": 3},
    {"id": "b 1", "size": 32, "start": 2, "end": 5},
    {"id": "c", "size": 16, "start": 4, "end": 7},
    {"id": "view", "size": 16, "start": 2, "end": 4, "alias_of": "b 1", "alias_offset": 16},
]
ONE = Problem(buffers=ROWS)
TWO = Problem(buffers=ROWS, pools=[{"name": "s", "size": 16}, {"name": "d", "size": 64, "cost": 2}], objective="cost")
HIGHS = (
    "Model status\nOptimal\n\n# Primal solution values\nFeasible\nObjective 3\n# Columns 3\n{rows}\n# Rows 1\no_a 9\n"
)
CBC = "Optimal - objective value 3.00000000\n{numbered}\n"
SCIP = "solution status: optimal solution found\nobjective value:   3\n{rows}\n"


def solution_bytes(form: str, values: dict[str, str]) -> bytes:
    end = " \t(obj:0)" if form is SCIP else ""
    rows = "\n".join(f"{name} {value}{end}" for name, value in values.items())
    numbered = "\n".join(f"   {k:>4} {name}   {value}    0" for k, (name, value) in enumerate(values.items()))
    return form.format(rows=rows, numbered=numbered).encode()


def places(plan: Plan) -> dict[str, tuple[str, int]]:
    return {str(row.id): (row.pool, row.offset) for row in plan.placements}


@pytest.mark.parametrize("form", [HIGHS, CBC, SCIP], ids=["HiGHS", "CBC", "SCIP"])
def test_solution_files_of_solvers_are_read_as_plans_and_may_omit_zeros(form: str) -> None:
    found = plan_of_solution(ONE, solution_bytes(form, {"peak": "3", "o_b_1": "0.99999999"}))
    assert places(found) == {"a": ("default", 0), "b 1": ("default", 16), "c": ("default", 0), "view": ("default", 32)}
    assert verify(ONE, found) == ()
    found = plan_of_solution(TWO, solution_bytes(form, {"in_s_a": "1", "in_d_b_1": "1", "in_d_c": "1", "o_c": "2"}))
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
