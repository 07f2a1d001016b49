from __future__ import annotations

import pytest

from memplan.api.bench.comparison import compare
from memplan.api.bench.results import Result
from memplan.planner.errors import OptionError


def row(solver: str = "auto", instance: str = "a", seed: int = 1, **facts: object) -> Result:
    given = {"outcome": "plan", "status": "optimal", "peak": 10_000, "cpu_time_s": 1.0, **facts}
    return Result.model_validate({"instance": instance, "solver": solver, "seed": seed, "time_limit_s": 10.0, **given})


OLD = [row(instance=name, seed=seed) for name in "abc" for seed in (1, 2, 3)]


def changed(**facts: object) -> list[Result]:
    """Return the old rows with the facts of instance b changed."""
    return [result.model_copy(update=facts) if result.instance == "b" else result for result in OLD]


def test_the_same_results_are_compared_in_silence() -> None:
    comparison = compare(OLD, OLD)
    assert (comparison.compared, comparison.regressions, comparison.improvements, comparison.notes) == (3, (), (), ())


def test_noise_is_no_regression() -> None:
    noisy = [result.model_copy(update={"peak": 10_005, "cpu_time_s": 1.1}) for result in OLD]
    assert compare(OLD, noisy).regressions == ()


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
def test_what_became_worse_is_a_regression_and_the_other_way_round_an_improvement(
    facts: dict[str, object], sentence: str
) -> None:
    assert compare(OLD, changed(**facts)).regressions == (sentence,)
    backwards = compare(changed(**facts), OLD)
    assert backwards.regressions == ()
    assert len(backwards.improvements) == 1


def test_one_bad_seed_of_three_does_not_move_the_median() -> None:
    unlucky = [result.model_copy(update={"peak": 12_000}) if result.seed == 2 else result for result in OLD]
    assert compare(OLD, unlucky).regressions == ()


def test_a_slower_machine_is_not_blamed_on_the_solver() -> None:
    slower = [result.model_copy(update={"cpu_time_s": 2.0}) for result in OLD]
    peer = row("supermalloc", cpu_time_s=1.0)
    assert compare(OLD, slower).regressions != ()
    comparison = compare([*OLD, peer], [*slower, row("supermalloc", cpu_time_s=2.0)])
    assert comparison.regressions == ()
    assert "the peers take 2.00 times the CPU time" in comparison.notes[0]


def test_short_times_are_not_compared() -> None:
    short = [result.model_copy(update={"cpu_time_s": 0.0001}) for result in OLD]
    assert compare(short, [result.model_copy(update={"cpu_time_s": 0.0009}) for result in OLD]).regressions == ()


def test_what_only_one_file_holds_is_noted() -> None:
    comparison = compare(OLD, [*OLD[3:], row(instance="d")])
    assert comparison.notes == ("only in the old file: auto on a (10 s)", "only in the new file: auto on d (10 s)")


def test_files_with_nothing_in_common_are_refused() -> None:
    with pytest.raises(OptionError, match="compare: the two files must have"):
        compare(OLD, [row("cbc")])
