"""What-if savings of buffers, pools and rules match brute force over changed problems."""

import threading
from typing import Any

import pytest

from memplan.planner.model.problem import Problem
from memplan.questions.explain import what_if as studying
from memplan.questions.explain.explain import explain, explanation_lines
from memplan.questions.explain.values import ExplainOptions, WhatIf
from memplan.questions.question import Control
from memplan.solvers.portfolio.solve import solve
from tests.support.oracle import best_score
from tests.support.tight_problems import tight_problem
from tests.support.values import require_value

WHAT_IF = ExplainOptions(what_if=True)


def ask_what_if(problem: Problem, **options: Any) -> WhatIf:
    found = explain(problem, options=ExplainOptions(**{"what_if": True, "time_limit_s": 150, "study_s": 60} | options))
    return require_value(found.what_if)


def apply_change(problem: Problem, name: int | str, **fields: Any) -> Problem:
    rows = [row.model_dump(exclude_defaults=True) for row in problem.buffers]
    rows = [row | fields if row["id"] == name else row for row in rows if fields or row["id"] != name]
    names = {row["id"] for row in rows}
    pairs = [pair for pair in problem.conflicts if names.issuperset(pair)]
    return Problem.model_validate({"buffers": rows, "pools": [dict(problem.pools[0])], "conflicts": pairs})


def best_peak(problem: Problem) -> int:
    return int(require_value(best_score(problem))[-1])


@pytest.mark.slow
@pytest.mark.parametrize("feature", ["plain", "holes", "conflicts", "alignment", "reserved", "pins"])
def test_what_if_savings_match_brute_force(feature: str) -> None:
    for seed in range(2):
        problem = tight_problem(seed, feature)
        if best_score(problem) is None:
            continue
        peak = best_peak(problem)
        found = ask_what_if(problem, shrunk_to=0.5)
        assert (found.peak, found.status) == (peak, "optimal")
        for row in found.buffers:
            assert row.exact
            assert row.gain_if_dropped == (peak - best_peak(apply_change(problem, row.id)),) * 2
            gain = peak - best_peak(apply_change(problem, row.id, size=require_value(row.shrunk_to)))
            assert row.gain_if_shrunk == (gain, gain)
            assert row.may_grow is not None
            assert best_peak(apply_change(problem, row.id, size=row.size + row.may_grow)) <= peak
            larger = best_score(apply_change(problem, row.id, size=row.size + row.may_grow + 1))
            assert larger is None or larger[-1] > peak


def test_what_if_reports_possible_growth_in_bytes_for_sizes_with_a_common_unit() -> None:
    rows = [{"id": "a", "size": 64, "start": 0, "end": 2}, {"id": "b", "size": 128, "start": 2, "end": 3}]
    found = ask_what_if(Problem.model_validate({"buffers": rows}))
    worth = [(row.id, row.gain_if_dropped, row.may_grow) for row in found.buffers]
    assert worth == [("a", (0, 0), 64), ("b", (64, 64), 0)]


def test_what_if_rates_a_pin_by_the_peak_reduction_without_it() -> None:
    rows = [{"id": "a", "size": 4, "start": 0, "end": 2, "offset": 6}, {"id": "b", "size": 3, "start": 1, "end": 3}]
    found = ask_what_if(Problem.model_validate({"buffers": rows}))
    assert [(cost.rule.rule, cost.gain, cost.exact) for cost in found.rules] == [("offset", (3, 3), True)]


def test_what_if_rates_extra_pool_bytes_by_the_saved_cost() -> None:
    rows = [{"id": k, "size": 10, "start": 0, "end": 2, "traffic": 100} for k in range(3)]
    pools = [{"name": "fast", "size": 20, "cost": 1.0}, {"name": "slow", "cost": 3.0}]
    found = ask_what_if(Problem.model_validate({"buffers": rows, "pools": pools, "objective": "cost"}), more=10)
    assert [(row.pool, row.gain, row.exact) for row in found.pools] == [("fast", (200.0, 200.0), True)]
    assert [row.gain_if_dropped for row in found.buffers] == [(10, 10)] * 3


def test_what_if_ignores_the_size_of_a_pool_that_is_too_small() -> None:
    rows = [{"id": k, "size": 10 * k, "start": 0, "end": 1} for k in (1, 2)]
    found = ask_what_if(Problem.model_validate({"buffers": rows, "pools": [{"size": 25}]}))
    assert (found.peak, [row.gain_if_dropped for row in found.buffers]) == (30, [(10, 10), (20, 20)])


def test_what_if_of_an_empty_problem_lists_no_buffers() -> None:
    found = ask_what_if(Problem(buffers=[]))
    assert (found.peak, found.buffers) == (0, ())


def test_what_if_savings_of_reuse_pairs_match_brute_force() -> None:
    data: dict[str, Any] = {
        "buffers": [{"id": k, "size": 2 + k % 2, "start": k // 2, "end": k // 2 + 1} for k in range(4)],
        "reuse": [{"pairs": [[a, b] for b in range(4) for a in range(b) if a // 2 < b // 2], "cost": 2}],
        "pools": [{"name": "ub", "size": 7}],
        "objective": "cost",
    }
    cost = require_value(best_score(Problem.model_validate(data)))
    found = ask_what_if(Problem.model_validate(data))
    assert sum(pair.cost for pair in found.pairs) == cost[0] > 0
    for pair in found.pairs:
        others = [each for each in data["reuse"][0]["pairs"] if each != [*pair.buffers]]
        free = best_score(Problem.model_validate(data | {"reuse": [{"pairs": others, "cost": 2}]}))
        apart = best_score(Problem.model_validate(data | {"conflicts": [pair.buffers]}))
        assert free is not None
        assert pair.gain_if_free == (cost[0] - free[0],) * 2
        assert pair.loss_if_apart == (None if apart is None else (apart[0] - cost[0],) * 2)


VIEWED = [
    {"id": "whole", "size": 6, "start": 0, "end": 2},
    {"id": "view", "size": 6, "start": 0, "end": 1, "alias_of": "whole"},
]


@pytest.mark.parametrize("pool", [{"name": "only"}, {"name": "only", "size": 12, "reserved": [[5, 1]]}])
def test_what_if_does_not_shrink_a_buffer_below_its_aliases(pool: dict[str, Any]) -> None:
    found = ask_what_if(Problem.model_validate({"buffers": VIEWED, "pools": [pool]}), shrunk_to=0.5)
    (row,) = found.buffers
    assert (row.shrunk_to, row.gain_if_shrunk, row.gain_if_dropped) == (None, None, (found.peak,) * 2)


def test_what_if_reports_the_pool_size_that_it_ignores() -> None:
    rows = [{"id": "a", "size": 8, "start": 0, "end": 2}, {"id": "b", "size": 8, "start": 1, "end": 3}]
    answer = explain(Problem.model_validate({"buffers": rows, "pools": [{"size": 12}]}), options=WHAT_IF)
    assert answer.what_if is not None
    assert (answer.what_if.peak, answer.what_if.without_size) == (16, 12)
    assert "optimal: peak 16 bytes of a pool without end: 12 are too few" in [*explanation_lines(answer)]


def test_what_if_does_not_enlarge_a_pool_that_another_pool_adjoins() -> None:
    pools = [{"name": "low", "size": 8, "base_address": 16}, {"name": "high", "size": 8, "base_address": 24}]
    rows = [{"id": k, "size": 4, "start": 0, "end": 1} for k in range(3)]
    found = ask_what_if(Problem.model_validate({"buffers": rows, "pools": pools}))
    assert [(row.pool, row.exact) for row in found.pools] == [("low", False), ("high", True)]


def test_what_if_builds_no_further_problem_after_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"id": k, "size": 3 + k % 5, "start": k, "end": k + 4} for k in range(40)]
    problem = Problem.model_validate({"buffers": rows, "pools": [{"name": "only", "alignment": 2}]})
    plan, over, made = solve(problem), threading.Event(), list[object]()
    over.set()
    monkeypatch.setattr(studying, "subproblem", lambda *arguments: made.append(arguments))
    found = studying.change_worths(problem, plan, WHAT_IF, Control(cancelled=over))
    assert made == []
    assert [(row.by, row.gain_if_dropped, row.exact) for row in found.buffers] == [("open", (0, plan.peak), False)] * 40
    assert found.left_out >= 40
