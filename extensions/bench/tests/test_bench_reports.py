"""Tests of benchmark reports and of comparisons of two result files."""

import re
from typing import Any

import pytest

from memplan.extensions.bench.comparison import compare
from memplan.extensions.bench.results import Result
from memplan.extensions.bench.summary import Summary, geometric_mean, text_report
from memplan.planner.errors import OptionError


def row(solver: str, instance: str, seed: int = 1, **facts: object) -> Result:
    given = {"outcome": "plan", "status": "feasible", "lower_bound": 100, "buffers": 5, "cpu_time_s": 0.5, **facts}
    return Result.model_validate({"instance": instance, "solver": solver, "seed": seed, "time_limit_s": 10.0, **given})


PROVED: dict[str, Any] = {"status": "optimal", "found_by": "greedy:size", "proved_by": "exact"}
ROWS = [
    row("ours", "a", peak=100, wall_time_s=1.0, peak_rss_bytes=50_000_000, **PROVED),
    row("ours", "a", 2, peak=100, wall_time_s=3.0, peak_rss_bytes=70_000_000, **PROVED),
    row("ours", "b", peak=150, lower_bound=120, wall_time_s=10.0),
    row("theirs", "a", peak=110, wall_time_s=0.5),
    row("theirs", "a", 2, peak=110, wall_time_s=0.5),
    row("theirs", "b", peak=120, wall_time_s=4.0),
    row("theirs", "c", outcome="late", status=None, lower_bound=None, message="stopped", wall_time_s=15.0),
]


def test_a_run_is_solved_at_the_best_bound_that_any_solver_proved() -> None:
    solved = {key: cell.n_solved for key, cell in Summary(ROWS).cells.items()}
    assert solved == {("a", "ours"): 2, ("b", "ours"): 0, ("a", "theirs"): 0, ("b", "theirs"): 1, ("c", "theirs"): 0}


def test_a_run_without_a_solution_counts_as_twice_its_time_limit() -> None:
    ours, theirs = sorted(Summary(ROWS).lines(), key=lambda line: line.solver)
    assert ours.par2_s == pytest.approx((1 + 3 + 20) / 3)
    assert theirs.par2_s == pytest.approx((20 + 20 + 4 + 20) / 4)
    assert (theirs.runs, theirs.plans, theirs.solved) == (4, 3, 1)


def test_a_greedy_plan_returned_by_an_engine_does_not_count_as_its_own() -> None:
    runs = [
        row("cp-sat", "a", k, peak=100, wall_time_s=1.0, found_by=by) for k, by in enumerate(("greedy:end", "cp-sat"))
    ]
    (line,) = Summary(runs).lines()
    assert (line.plans, line.own) == (2, 1)


def test_means_of_solvers_only_use_instances_that_every_solver_planned() -> None:
    summary = Summary(ROWS)
    assert summary.shared_instances() == ["a", "b"]
    ours = next(line for line in summary.lines() if line.solver == "ours")
    assert (ours.mean_ratio, ours.wall_s) == (pytest.approx((1.0 * 1.25) ** 0.5), pytest.approx((2.0 * 10.0) ** 0.5))


def test_a_report_lists_skipped_runs_without_counting_them() -> None:
    skipped = row("theirs", "d", outcome="skipped", message="not installed")
    assert Summary([*ROWS, skipped]).lines() == Summary(ROWS).lines()
    assert "skipped: theirs on d, seed 1: not installed" in text_report(Summary([*ROWS, skipped]))


def test_a_bound_above_a_valid_plan_is_a_false_claim_and_is_ignored_as_bound() -> None:
    liar = row("liar", "a", peak=115, lower_bound=115, status="optimal", wall_time_s=0.1)
    summary = Summary([*ROWS, liar])
    assert (summary.false_claims(), summary.bound("a")) == ([liar], 100)
    assert summary.cells["a", "liar"].n_solved == 0
    assert "FALSE CLAIM: liar on a, seed 1: bound 115, optimal" in text_report(summary)


def test_an_optimal_plan_for_several_pools_may_exceed_the_bound_on_their_sum() -> None:
    rows = [row("ours", "pools", peak=130, status="optimal", wall_time_s=1.0), row("theirs", "pools", peak=120)]
    summary = Summary(rows)
    assert (summary.cells["pools", "ours"].n_solved, summary.cells["pools", "theirs"].n_solved) == (1, 0)
    assert summary.false_claims() == []


def test_the_status_infeasible_is_a_false_claim_if_another_run_has_a_plan() -> None:
    liar = row("liar", "a", outcome="none", status="infeasible", wall_time_s=0.1)
    assert Summary([*ROWS, liar]).false_claims() == [liar]


def test_the_geometric_mean_of_no_values_is_none() -> None:
    assert geometric_mean([None]) is None
    assert geometric_mean([2.0, None, 8.0]) == pytest.approx(4.0)


def test_the_text_of_a_report_agrees_with_its_rows() -> None:
    lines = text_report(Summary(ROWS)).splitlines()
    under_a = lines[lines.index("a: 5 buffers, bound 100") :]
    cells = next(re.split(r"\s{2,}", line.strip()) for line in under_a if line.startswith("  ours"))
    assert cells == ["ours", "optimal", "greedy, exact", "2/2", "100", "1.00000", "2.0000", "0.5000", "60"]
    assert "late: theirs on c, seed 1: stopped" in lines


def test_a_report_fits_into_120_columns_even_with_long_file_names() -> None:
    name = "suites/" + "a_long_folder/" * 12 + "model.csv"
    rows = [line.model_copy(update={"instance": name, "peak": 2**40}) for line in ROWS]
    assert max(len(line) for line in text_report(Summary(rows)).splitlines() if name not in line) <= 120


def test_results_with_different_time_limits_are_reported_separately() -> None:
    longer = ROWS[0].model_copy(update={"time_limit_s": 60.0})
    assert Summary([ROWS[0], longer]).solvers == ["ours (10 s)", "ours (60 s)"]


def result_row(solver: str = "auto", instance: str = "a", seed: int = 1, **facts: object) -> Result:
    given = {"outcome": "plan", "status": "optimal", "peak": 10_000, "cpu_time_s": 1.0, **facts}
    return Result.model_validate({"instance": instance, "solver": solver, "seed": seed, "time_limit_s": 10.0, **given})


OLD = [result_row(instance=name, seed=seed) for name in "abc" for seed in (1, 2, 3)]


def changed_rows(**facts: object) -> list[Result]:
    """Return the result rows of the old file, with the given fields changed in the rows of instance b."""
    return [result.model_copy(update=facts) if result.instance == "b" else result for result in OLD]


def test_comparing_equal_results_reports_no_change() -> None:
    comparison = compare(OLD, OLD)
    assert (comparison.compared, comparison.regressions, comparison.improvements, comparison.notes) == (3, (), (), ())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (OLD, [row.model_copy(update={"peak": 10_005, "cpu_time_s": 1.1}) for row in OLD]),
        (OLD, [row.model_copy(update={"peak": 12_000 if row.seed == 2 else 10_000}) for row in OLD]),
        *[[[row.model_copy(update={"cpu_time_s": time}) for row in OLD] for time in (0.0001, 0.0009)]],
    ],
    ids=["small differences", "one bad seed of three", "very short times"],
)
def test_a_change_within_the_noise_is_not_reported_as_a_regression(old: list[Result], new: list[Result]) -> None:
    assert compare(old, new).regressions == ()


@pytest.mark.parametrize(
    ("facts", "sentence"),
    [
        ({"peak": 10_200, "status": "feasible"}, "auto on b (10 s): proofs 100% -> 0%"),
        ({"outcome": "late", "peak": None, "status": None}, "auto on b (10 s): plans 100% -> 0%"),
        ({"outcome": "invalid"}, "auto on b (10 s): plans 100% -> 0%"),
        ({"peak": 10_200}, "auto on b (10 s): peak 10000 -> 10200 (+2.00%)"),
        ({"cpu_time_s": 8.0}, "auto: 2.00 times the CPU time, geometric mean of 3 instances"),
    ],
)
def test_a_worse_result_is_a_regression_and_a_better_an_improvement(facts: dict[str, object], sentence: str) -> None:
    assert compare(OLD, changed_rows(**facts)).regressions == (sentence,)
    backwards = compare(changed_rows(**facts), OLD)
    assert (backwards.regressions, len(backwards.improvements)) == ((), 1)


def test_a_slowdown_shared_by_peers_is_not_a_regression() -> None:
    slower = [result.model_copy(update={"cpu_time_s": 2.0}) for result in OLD]
    peer = result_row("supermalloc", cpu_time_s=1.0)
    assert compare(OLD, slower).regressions != ()
    comparison = compare([*OLD, peer], [*slower, result_row("supermalloc", cpu_time_s=2.0)])
    assert comparison.regressions == ()
    assert "the peers take 2.00 times the CPU time" in comparison.notes[0]


def test_comparing_results_notes_runs_that_only_one_file_contains() -> None:
    comparison = compare(OLD, [*OLD[3:], result_row(instance="d")])
    assert comparison.notes == ("only in the old file: auto on a (10 s)", "only in the new file: auto on d (10 s)")


def test_comparing_files_without_common_runs_is_refused() -> None:
    with pytest.raises(OptionError, match="compare: the two files must have"):
        compare(OLD, [result_row("cbc")])
