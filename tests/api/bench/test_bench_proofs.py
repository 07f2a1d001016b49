from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lab.bench_proofs import cell, members, table
from memplan.api.bench.results import Result, read_results

ROOT = Path(__file__).resolve().parents[3]


def row(instance: str, solver: str, cpu_time_s: float, *, is_proved: bool = True) -> Result:
    status = "optimal" if is_proved else "feasible"
    rest = {"outcome": "plan", "status": status, "cpu_time_s": cpu_time_s}
    return Result.model_validate({"instance": instance, "solver": solver, "seed": 1, "time_limit_s": 60.0, **rest})


def test_each_size_takes_its_place_in_the_suites() -> None:
    assert members(["tight:n={n},seeds=2"], 15) == ["tight:n=15,seed=1", "tight:n=15,seed=2"]


def test_a_cell_tells_how_many_were_proved_and_the_median_time() -> None:
    assert cell([row("a", "cbc", 1.0), row("b", "cbc", 3.0), row("c", "cbc", 2.0)]) == "3/3, 2.00"


def test_where_less_than_half_is_proved_there_is_no_median() -> None:
    assert cell([row("a", "cbc", 1.0), *(row(name, "cbc", 60.0, is_proved=False) for name in "bc")]) == "1/3"
    assert cell([]) == "0/0"


def test_the_table_has_a_row_for_each_solver_and_a_column_for_each_size() -> None:
    results = [row("tight:n=9,seed=1", "cbc", 0.5), row("tight:n=8,seed=1", "highs", 0.25)]
    lines = table(results, ["tight:n={n},seed=1"], ["cbc", "highs"], [8, 9], 60.0).splitlines()
    assert [line.split() for line in lines] == [
        ["n", "=", "8", "n", "=", "9"],
        ["cbc", "0/0", "1/1,", "0.50"],
        ["highs", "1/1,", "0.25", "0/0"],
    ]


def test_it_runs_what_has_no_row_and_prints_the_table(tmp_path: Path) -> None:
    results = tmp_path / "rows.jsonl"
    command = [sys.executable, "-m", "lab.bench_proofs", str(results), "tight:n={n},height=99,live=3"]
    options = ["--sizes", "4", "--solvers", "greedy", "--limit", "5"]
    told = [subprocess.run([*command, *options], cwd=ROOT, check=True, capture_output=True, text=True) for _ in "ab"]
    assert [len(read_results(results)), told[0].stdout] == [1, told[1].stdout]
    assert told[0].stdout.splitlines()[1].split()[0] == "greedy"
