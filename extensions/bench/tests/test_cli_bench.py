"""Tests of the command `memplan bench`, and of charts and headlines in reports."""

import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memplan.api.cli.main import main
from memplan.api.cli.report import live_bytes_chart
from memplan.extensions.bench.results import Result, read_results
from memplan.planner.model.plan import Plan
from memplan.questions.plan.answers import headline
from memplan.questions.plan.plan import progress_line

Captured = pytest.CaptureFixture[str]
ROOT = Path(__file__).resolve().parents[3]
SUITE = str(ROOT / "examples" / "problems" / "minimalloc_small" / "g.7.csv")
AB = (("a", 40, 1), ("b", 24, 0))
QUICK = ["--time-limit", "1", "--solvers", "greedy", "--cold"]


def row(**facts: object) -> str:
    given = {"instance": SUITE, "solver": "auto", "seed": 1, "time_limit_s": 1.0, "outcome": "plan", "peak": 100}
    return Result.model_validate({**given, "status": "feasible", "lower_bound": 90, **facts}).model_dump_json() + "\n"


def test_memplan_bench_prints_rows_to_stdout_and_the_report_to_stderr(capfd: Captured) -> None:
    assert main(["bench", SUITE, *QUICK]) == 0
    out, err = capfd.readouterr()
    assert [json.loads(line)["instance"] for line in out.splitlines()] == [SUITE]
    assert "peak/bound" in err


def test_bench_compares_the_costs_of_problems_that_minimize_the_cost(tmp_path: Path, capfd: Captured) -> None:
    rows = [{"id": k, "size": 8, "start": 0, "end": 1, "traffic": 3 + k} for k in range(3)]
    pools = [{"name": "fast", "size": 16}, {"name": "slow", "cost": 2}]
    suite = tmp_path / "two_memories.json"
    suite.write_text(json.dumps({"objective": "cost", "pools": pools, "buffers": rows}))
    assert main(["bench", str(suite), "--time-limit", "5", "--solvers", "auto,greedy", "--cold"]) == 0
    out, err = capfd.readouterr()
    for found in map(json.loads, out.splitlines()):
        assert (found["counts"], found["peak"], found["curve"]) == ("cost", 6.0, [])
    assert "3 buffers, cost, bound 6" in err
    assert ": optimal, cost 6.0, " in err
    assert "Cost: the peak and its bound are those of the cost." in err


def test_bench_shows_the_baseline_of_moves_beside_the_best_plan(tmp_path: Path, capfd: Captured) -> None:
    """Keeping `b`, whose accesses are closer, costs two copies of `a`; sending `b` away costs two smaller ones."""
    rows = [{"id": name, "size": size, "start": 0, "end": 4 + end, "accesses": [0, 3 + end]} for name, size, end in AB]
    rows.append({"id": "c", "size": 40, "start": 1, "end": 3, "accesses": [1, 2]})
    suite = tmp_path / "moving.json"
    pools = [{"name": "fast", "size": 80}, {"name": "slow", "cost": 1}]
    suite.write_text(json.dumps({"moves": True, "pools": pools, "buffers": rows}))
    assert main(["bench", str(suite), "--time-limit", "5", "--solvers", "auto,greedy,few", "--cold"]) == 4
    best, baseline, other = map(json.loads, capfd.readouterr().out.splitlines())
    assert [(row["counts"], row["peak"]) for row in (best, baseline)] == [("cost", 48), ("cost", 80)]
    assert other["message"].startswith("solver: must be auto or greedy, the baseline, for a problem with moves")


def test_bench_skips_runs_that_its_output_file_contains(tmp_path: Path, capfd: Captured) -> None:
    results = tmp_path / "results.jsonl"
    assert main(["bench", SUITE, *QUICK, "-o", str(results)]) == 0
    first = read_results(results)
    assert main(["bench", SUITE, *QUICK, "--seeds", "1,2", "-o", str(results)]) == 0
    assert read_results(results)[:1] == first
    assert [result.seed for result in read_results(results)] == [1, 2]
    out, err = capfd.readouterr()
    assert out == ""
    assert f"1 of 2 runs are in {results}" in err
    assert re.search(r"greedy +2 +2 ", err)


def test_an_interrupt_ends_running_jobs_and_keeps_finished_rows(tmp_path: Path) -> None:
    results = tmp_path / "results.jsonl"
    endless = "memplan.extensions.bench.tests.planners_to_measure:run_forever"
    command = [sys.executable, "-m", "memplan.api.cli.main", "bench", SUITE, "--solvers", f"greedy,{endless}", "--cold"]
    with subprocess.Popen([*command, "-o", str(results)], cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline().startswith("[1/2] greedy")
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 130
    assert [result.solver for result in read_results(results)] == ["greedy"]


def test_memplan_bench_exits_with_status_4_for_a_failed_run_and_with_3_for_an_invalid_plan(tmp_path: Path) -> None:
    raising = "memplan.extensions.bench.tests.planners_to_measure:fail"
    results = tmp_path / "results.jsonl"
    assert main(["bench", SUITE, *QUICK[:3], f"greedy,{raising}", "-o", str(results)]) == 4
    assert [each.outcome for each in read_results(results)] == ["plan", "failed"]
    for outcome, status in {"late": 0, "memory": 0, "skipped": 0, "failed": 4, "invalid": 3}.items():
        results.write_text(row() + row(seed=2, outcome=outcome, peak=None, message="said"))
        assert main(["bench", "-o", str(results)]) == status
    results.write_text(row() + row(solver="absent", outcome="skipped", peak=None, message="not installed"))
    assert main(["bench", "-o", str(results)]) == 4, "a solver that never ran has no result"
    results.write_text(row(outcome="failed", peak=None) + row(seed=2, outcome="invalid", peak=None))
    assert main(["bench", "-o", str(results)]) == 3, "a wrong plan is worse than none"


def test_bench_compare_prints_only_changes_and_exits_with_1_for_a_regression(tmp_path: Path, capfd: Captured) -> None:
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text(row())
    new.write_text(row(peak=120))
    assert main(["bench", "--compare", str(old), str(old)]) == 0
    assert capfd.readouterr() == ("", "no change: 1 runs of both files agree, within the tolerances\n")
    assert main(["bench", "--compare", str(old), str(new)]) == 1
    assert capfd.readouterr().out == f"WORSE: auto on {SUITE} (1 s): peak 100 -> 120 (+20.00%)\n"
    assert main(["bench", "--compare", str(new), str(old)]) == 0
    assert capfd.readouterr().out.startswith("better: ")


def test_live_bytes_chart_shows_each_live_set_as_a_bar() -> None:
    title, *bars = live_bytes_chart([(0, 24), (5, 48), (9, 2)])
    assert title == "live bytes from time 0 to 9: at most 48 (48 B), at time 5"
    assert bars == [" █", " █", " █", "██", "██", "██▂"]


@given(loads=st.lists(st.integers(0, 2**62), min_size=1, max_size=300))
def test_live_bytes_chart_has_its_highest_bar_at_the_live_peak(loads: list[int]) -> None:
    title, *bars = live_bytes_chart(list(enumerate(loads))) or ("", "")
    assert (title == "") == (max(loads) == 0)
    assert all(len(bar) <= min(64, len(loads)) for bar in bars)
    if title:
        column = loads.index(max(loads)) * min(64, len(loads)) // len(loads)
        assert bars[0][column] == "█"
        assert title.endswith(f"at time {loads.index(max(loads))}")


def test_a_headline_states_the_cost_with_its_bound_before_the_peak() -> None:
    plan = Plan(peak=96, lower_bound=64, cost=17, cost_lower_bound=16, gap=0.0625, solver="prices")
    asked = "feasible: cost 17, lower bound 16; peak 96 bytes, lower bound 64; gap 6.25%, found by prices"
    assert headline(plan) == asked


def test_headline_without_a_plan_states_the_stop_reason() -> None:
    assert headline(Plan(status="unknown", stop_reason="time_limit")) == "unknown: time_limit"


def test_progress_is_reported_with_peak_bound_and_gap() -> None:
    event = {"peak": 1500, "lower_bound": 1000, "gap": 0.5, "solver": "greedy"}
    assert progress_line(event) == "best peak 1,500  bound 1,000  gap 50.00%  greedy"
    assert progress_line(event | {"peak": None, "gap": None, "solver": ""}).strip() == "best peak none yet  bound 1,000"
