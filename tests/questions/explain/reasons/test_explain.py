"""Reasons for infeasibility are infeasible themselves and irreducible, as judged by brute force."""

import threading
from typing import Any

import pytest

from lab.families import draw_tight_problem
from memplan.planner.model.plan import Enough, Explanation
from memplan.planner.model.problem import Problem
from memplan.questions.explain.explain import QUESTION, explain, explanation_lines
from memplan.questions.explain.reasons.live_sets import sufficient_size
from memplan.questions.explain.reasons.reasoning import reason_of
from memplan.questions.explain.values import ExplainOptions
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.control import Control
from tests.support import public_problems
from tests.support.depth import seeds
from tests.support.oracle import best_score
from tests.support.reasons import cut_down
from tests.support.tight_problems import FEATURES, full_load, tight_problem
from tests.support.tiny import CONSTRAINED, random_tiny
from tests.support.values import require_value

GENEROUS = ExplainOptions(time_limit_s=60, explain_s=20)


def reason(problem: Problem, options: ExplainOptions = GENEROUS, control: Control = Control()) -> Explanation:
    return require_value(explain(problem, options=options, control=control).explanation)


def resize_pool(problem: Problem, size: int) -> Problem:
    fields = {name: getattr(problem, name) for name in Problem.model_fields}
    return Problem.model_validate(fields | {"pools": [dict(problem.pools[0]) | {"size": size}]})


def is_a_reason(problem: Problem, found: Explanation) -> bool:
    return best_score(cut_down(problem, found.buffers, found.rules)) is None


@pytest.mark.drawn
@pytest.mark.slow
def test_a_reason_is_infeasible_and_becomes_feasible_without_any_one_member() -> None:
    explained = 0
    for feature in FEATURES:
        for seed in seeds(2):
            free = tight_problem(seed, feature)
            least = best_score(free)
            problem = resize_pool(free, int(least[-1]) - 1) if least and least[-1] > 0 else free
            if best_score(problem) is not None:
                continue
            found = reason(problem)
            assert found.irreducible
            assert is_a_reason(problem, found)
            for name in found.buffers:
                rest = [other for other in found.buffers if other != name]
                assert not is_a_reason(problem, found.model_copy(update={"buffers": rest}))
            for rule in found.rules:
                rules = tuple(other for other in found.rules if other != rule)
                assert not is_a_reason(problem, found.model_copy(update={"rules": rules}))
            explained += 1
    assert explained > 10


@pytest.mark.drawn
def test_the_reason_for_a_random_infeasible_problem_is_itself_infeasible() -> None:
    explained = 0
    for seed in seeds(30):
        problem = random_tiny(seed)
        found = explain(problem, options=GENEROUS).explanation
        assert (found is None) == (best_score(problem) is not None)
        if found is not None:
            assert is_a_reason(problem, found)
            explained += 1
    assert explained > 0


@pytest.mark.slow
def test_a_reason_for_infeasibility_can_include_rules_of_single_buffers() -> None:
    assert [rule.rule for rule in reason(CONSTRAINED["infeasible for a page"]).rules] == ["no_cross", "no_cross"]


def test_explain_names_colliding_pins_as_the_reason_for_infeasibility() -> None:
    rows: list[dict[str, Any]] = [{"id": k, "size": 10, "start": k, "end": k + 2} for k in range(20)]
    rows[7]["offset"], rows[8]["offset"] = 0, 5
    found = reason(Problem.model_validate({"buffers": rows, "pools": [{"size": 100}]}))
    assert sorted(map(int, found.buffers)) == [7, 8]
    assert {(rule.rule, rule.buffer, rule.value) for rule in found.rules} == {("offset", 7, 0), ("offset", 8, 5)}
    assert found.irreducible
    assert "7 pinned at 0" in found.message


def test_a_reason_for_infeasibility_can_include_the_allowed_pools_of_a_pinned_buffer() -> None:
    rows = [{"id": "a", "size": 7, "start": 0, "end": 2, "offset": 7, "pools": ["slow"]}]
    pools = [{"name": "fast", "size": 8}, {"name": "slow", "size": 4}]
    found = reason(Problem.model_validate({"buffers": rows, "pools": pools}))
    assert [(rule.rule, rule.value) for rule in found.rules] == [("pools", ("slow",))]


def test_a_reason_for_infeasibility_can_include_a_reserved_range() -> None:
    rows = [{"id": "a", "size": 60, "start": 0, "end": 2}, {"id": "b", "size": 9, "start": 4, "end": 5}]
    found = reason(Problem.model_validate({"buffers": rows, "pools": [{"size": 100, "reserved": [[50, 1]]}]}))
    assert (found.buffers, [(rule.rule, rule.value) for rule in found.rules]) == (("a",), [("reserved", (50, 1))])


def test_explain_names_a_live_set_above_the_capacity_without_any_search() -> None:
    problem = public_problems.problem("tflite/kws_dscnn_int8.csv")
    peak = require_value(solve(problem).peak)
    found = reason(resize_pool(problem, peak - 1))
    assert (found.kind, found.calls, found.irreducible, found.missing_bytes) == ("live-set", 0, True, 1)
    assert found.needed == peak


def test_infeasibility_beyond_live_sets_is_explained_by_an_infeasible_core() -> None:
    problem = full_load(0, 14)
    peak = require_value(solve(problem, time_limit_s=20).peak)
    assert peak > 1000
    stages: list[str] = []
    found = reason(resize_pool(problem, peak - 1), control=Control(report=lambda event: stages.append(event["stage"])))
    assert found.kind == "core"
    assert found.irreducible
    assert found.would_do is not None
    assert (found.would_do.size, found.would_do.proved, found.needed) == (peak, True, peak)
    assert (stages[:2], stages[-2:]) == (["infeasible", "witness"], ["irreducible", "enough"])
    assert solve(cut_down(resize_pool(problem, peak - 1), found.buffers, ())).status == "infeasible"
    for name in found.buffers:
        rest = [other for other in found.buffers if other != name]
        assert solve(cut_down(resize_pool(problem, peak - 1), rest, ())).status == "optimal"


def test_explain_names_buffers_confined_to_one_of_two_pools() -> None:
    rows = [{"id": k, "size": 6, "start": 0, "end": 3, "pools": ["fast"]} for k in range(3)]
    rows += [{"id": 9, "size": 50, "start": 0, "end": 3}]
    pools = [{"name": "fast", "size": 10}, {"name": "slow", "size": 100}]
    found = reason(Problem.model_validate({"buffers": rows, "pools": pools}))
    assert len(found.buffers) == 2
    assert ([rule.rule for rule in found.rules], found.pool) == (["pools", "pools"], "fast")


def test_a_cancelled_explanation_returns_its_partial_reason() -> None:
    cancelled = threading.Event()
    problem = full_load(0, 14)
    small = resize_pool(problem, (solve(problem, time_limit_s=20).peak or 0) - 1)
    plan = solve(small, time_limit_s=20)
    cancelled.set()
    found = require_value(reason_of(small, plan, Control.from_limit(2, cancelled=cancelled)))
    assert not found.irreducible
    assert found.calls == 0


def test_a_deterministic_explanation_omits_its_wall_time() -> None:
    problem = resize_pool(full_load(0, 14), 1003)
    options = ExplainOptions(deterministic=True)
    assert reason(problem, options) == reason(problem, options)
    assert reason(problem, options).wall_time_s is None


@pytest.mark.parametrize(("size", "end"), [(2**61, 1), (2**62, 1), (2**62, 2**62)])
def test_explain_handles_sizes_and_times_near_2_to_62_without_warnings(size: int, end: int) -> None:
    rows: list[dict[str, Any]] = [{"id": k, "size": size, "start": 1 - end, "end": end} for k in range(5)]
    rows += [{"id": "empty", "size": 0, "start": 0, "end": end}, {"id": "timeless", "size": 0}]
    found = reason(Problem.model_validate({"buffers": rows, "pools": [{"size": 2**62}]}))
    assert (len(found.buffers), found.missing_bytes) == (2 if size == 2**62 else 3, 5 * size - 2**62)


def test_the_sufficient_pool_size_is_proved_minimal_if_all_smaller_sizes_are_ruled_out() -> None:
    # The time is too short to prove the peak, so only the known refutation of smaller sizes decides.
    problem = public_problems.problem("minimalloc/J.1048576.csv")
    for least, is_proved in ((0, False), (2**40, True)):  # problem J is not proved in so little time
        assert require_value(sufficient_size(problem, "default", least, Control.from_limit(0.05))).proved is is_proved


def test_the_sufficient_pool_size_includes_pinned_zero_size_buffers() -> None:
    rows = [{"id": "a", "size": 3, "start": 0, "end": 2}, {"id": "mark", "size": 0, "start": 0, "end": 1, "offset": 9}]
    found = reason(Problem.model_validate({"buffers": rows, "pools": [{"name": "s", "size": 4}]}))
    assert require_value(found.would_do).size == 9


def test_the_sufficient_pool_size_exceeds_a_size_that_a_search_ruled_out() -> None:
    # A ring of five conflicts needs 61 bytes; only a search, not a live set, proves that 60 are too few.
    rows = [{"id": k, "size": size} for k, size in enumerate((20, 21, 20, 21, 20))]
    ring = {"buffers": rows, "conflicts": [(k, (k + 1) % 5) for k in range(5)], "pools": [{"name": "s", "size": 60}]}
    found = reason(Problem.model_validate(ring))
    assert (found.needed, found.would_do) == (61, Enough(pool="s", size=61, proved=True))


@pytest.mark.parametrize(("capacity", "status"), [(100_000, "unknown"), (200_000, "fits")])
def test_an_explanation_ended_by_its_time_limit_reports_it(capacity: int, status: str) -> None:
    problem = draw_tight_problem(seed=1, n=300, live=20, turnover=3.0).with_capacity(capacity)
    found = explain(problem, options=ExplainOptions(time_limit_s=0.3))
    assert (found.status, found.stop_reason) == (status, "time_limit")
    assert QUESTION.exit_status(found) == (status == "unknown")
    assert "time_limit" in list(explanation_lines(found))[1]


def test_a_proved_explanation_has_the_stop_reason_proved() -> None:
    proved = explain(full_load(1, 30).with_capacity(999))
    assert (proved.status, proved.stop_reason) == ("infeasible", "proved")
    assert not any("stopped" in line for line in explanation_lines(proved))


def test_explain_reports_that_a_problem_with_unlimited_pools_fits() -> None:
    problem = Problem.model_validate({"buffers": [{"id": "a", "size": 4, "start": 0, "end": 1}]})
    assert next(iter(explanation_lines(explain(problem)))) == "fits: no pool has a size, so all fits: --capacity SIZE"
    assert next(iter(explanation_lines(explain(resize_pool(problem, 4))))) == "fits: all buffers have a place"
