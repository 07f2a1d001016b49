"""A search's incumbent, its acceptance of claims, and explanations of infeasibility."""

import time
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import numpy as np
import pytest

from memplan.planner.errors import InvalidPlanError
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import column
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.incumbent import Accept, Search
from memplan.solvers.search.result import Progress
from tests.support.tiny import FEATURES
from tests.support.values import require_value

RING = compile_problem(FEATURES["a ring of conflicts"])
"""A ring of five one-unit buffers (2 bytes each); its lower bound is 2 units, its optimum 3."""
FULL_RING = compile_problem(FEATURES["infeasible, which no live set and no clique shows"])
ONE_POOL = column(np.zeros(5))
TOWER, FOUR_HIGH, OPTIMUM = column([0, 1, 2, 3, 4]), column([0, 1, 2, 3, 1]), column([0, 1, 0, 1, 2])


def search_for(instance: Instance, limit_s: float = 60.0, accept: Accept | None = None) -> Search:
    return Search(instance, deadline=time.monotonic() + limit_s, trusted=frozenset({"exact"}), accept=accept)


def test_a_search_keeps_the_better_assignment_as_incumbent() -> None:
    search = search_for(RING)
    assert search.offer(ONE_POOL, TOWER, "first:size")
    assert search.offer(ONE_POOL, FOUR_HIGH, "first:area")
    assert search.offer(ONE_POOL, OPTIMUM, "second")
    assert search.best is not None
    assert (search.best.score, search.best.by) == ((3,), "second")


def test_an_assignment_at_the_lower_bound_ends_the_search() -> None:
    search = search_for(compile_problem(FEATURES["plain"]))
    search.offer(column(np.zeros(6)), column([1, 6, 0, 4, 5, 4]), "guess")
    assert search.stop_reason == "proved"


def test_a_search_accepts_the_lower_of_the_bounds_of_two_engines() -> None:
    search = search_for(RING)
    search.offer_bound((4,), "cp-sat")
    search.offer_bound((3,), "highs")
    assert list(search.bound) == [3]
    assert (search.proof.witness.kind, search.proof.witness.by) == ("engines", "cp-sat and highs")


def test_a_plan_refutes_a_false_proof_before_and_after_it() -> None:
    for is_infeasible in (False, True):
        search = search_for(RING)
        search.claim_infeasible("exact") if is_infeasible else search.offer_bound((4,), "exact")
        assert search.offer(ONE_POOL, OPTIMUM, "greedy")
        assert (search.bound, search.infeasibility_witness, search.stop_reason != "proved") == ((2,), None, True)
        with pytest.raises(InvalidPlanError, match=r"exact: its bound \(4,\) was refused: a valid plan has the score"):
            search.offer_bound((4,), "exact")
        assert [solver for solver, _ in search.refusals] == ["exact", "exact"]


def test_a_plan_at_a_bound_that_two_engines_agree_on_ends_the_search() -> None:
    search = search_for(RING)
    search.offer(ONE_POOL, OPTIMUM, "cp-sat")
    search.offer_bound((3,), "cp-sat")
    assert not search.is_over
    search.offer_bound((3,), "highs")
    assert search.stop_reason == "proved"


def test_claimed_infeasibility_is_accepted_when_two_engines_agree() -> None:
    search = search_for(FULL_RING)
    search.claim_infeasible("cp-sat")
    search.claim_infeasible("cp-sat")
    assert not search.is_over
    search.claim_infeasible("highs")
    assert search.infeasibility_witness is not None
    assert (search.infeasibility_witness.kind, search.infeasibility_witness.by) == ("engines", "cp-sat and highs")
    assert search.stop_reason == "proved"


@pytest.mark.parametrize("by", ["exact", "cp-sat"])
def test_claimed_infeasibility_is_never_accepted_against_a_plan(by: str) -> None:
    search = search_for(RING)
    search.offer(ONE_POOL, TOWER, "greedy")
    search.claim_infeasible("highs")
    search.claim_infeasible(by)
    assert search.infeasibility_witness is None
    assert not search.is_over


def test_a_claimed_bound_met_by_the_best_plan_stays_open_until_confirmed() -> None:
    search = search_for(RING)
    seen = []
    for bound, by in (((3,), "cp-sat"), ((4,), "highs")):
        search.offer(ONE_POOL, OPTIMUM, "greedy")
        search.offer_bound(bound, by)
        seen.append(search.has_open_claims)
    assert seen == [True, False]


def test_an_obviously_infeasible_search_ends_before_its_start() -> None:
    search = search_for(compile_problem(FEATURES["infeasible by one byte"]))
    assert search.is_over
    assert (search.stop_reason, require_value(search.infeasibility_witness).missing) == ("proved", 1)


def test_search_keeps_its_first_stop_reason_and_sets_the_kernel_flag() -> None:
    search = search_for(RING)
    assert search.flag.tolist() == [0]
    search.stop("cancelled")
    search.stop("proved")
    assert (search.stop_reason, search.flag.tolist()) == ("cancelled", [1])


def test_a_search_ends_while_a_child_reports_to_it() -> None:
    search = search_for(RING)
    child, ended = search.child(RING), list[bool]()
    with ThreadPoolExecutor(1) as threads:
        child.on_progress = lambda _: ended.append(bool(wait([threads.submit(search.stop, "time_limit")], 5).done))
        child.offer(ONE_POOL, TOWER, "first:size")
    assert (ended, search.stop_reason, child.stop_reason) == ([True], "time_limit", "cancelled")


@pytest.mark.parametrize(("gap", "reason"), [(None, "accepted"), (0.5, "accepted"), (0.49, None)])
def test_reaching_the_accepted_gap_ends_the_search(gap: float | None, reason: str | None) -> None:
    search = search_for(RING, accept=Accept(gap))
    search.offer(ONE_POOL, OPTIMUM, "greedy")
    assert search.stop_reason == reason


def test_search_progress_is_reported_in_bytes() -> None:
    seen: list[Progress] = []
    search = search_for(RING)
    search.on_progress = seen.append
    search.offer(ONE_POOL, TOWER, "greedy")
    search.offer(ONE_POOL, OPTIMUM, "exact")
    search.offer_bound((3,), "exact")
    offered = [(10, 4, "greedy"), (6, 4, "exact"), (6, 6, "exact")]
    assert [(now.peak, now.lower_bound, now.by) for now in seen] == offered
    assert [now.gap for now in seen] == [1.5, 0.5, 0.0]


def test_progress_has_no_gap_without_a_plan_or_a_bound() -> None:
    assert search_for(RING).progress().gap is None
    assert Progress(0.0, 5, 0, "greedy").gap is None
    assert Progress(0.0, 0, 0, "greedy").gap == 0.0


THREE = [{"id": name, "size": 10, "start": 0, "end": 2} for name in "abc"]


NO_POOL = "fits no pool that it may use"
EXPLAINED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "buffers alive at the overfull time": (
        {"buffers": THREE, "pools": [{"name": "sram", "size": 25}]},
        {
            "message": 'pool "sram" lacks 5 bytes at time 0; 3 buffers ("a", "b", "c") do not fit',
            "pool": "sram",
            "missing_bytes": 5,
            "time": 0,
            "buffers": ("a", "b", "c"),
        },
    ),
    "a buffer larger than its pool": (
        {"buffers": [{"id": "w", "size": 9, "start": 4, "end": 5}], "pools": [{"name": "sram", "size": 8}]},
        {
            "message": 'pool "sram" lacks 1 byte at time 4; 1 buffer ("w": 9 bytes, more than 8) alone does not fit',
            "pool": "sram",
            "missing_bytes": 1,
            "time": 4,
            "buffers": ("w",),
        },
    ),
    "a buffer that crosses a page at every offset": (
        {"buffers": [THREE[0], THREE[1] | {"no_cross": 8, "relative": {"to": "a", "offset": 16}}]},
        {
            "message": f'buffer "b" (10 bytes) {NO_POOL} ("default"), even with only what must lie with it: '
            "it must not cross a multiple of 8 bytes",
            "buffers": ("b",),
        },
    ),
    "a colocation group without a common pool": (
        {
            "buffers": [THREE[0] | {"pools": ["x"]}, THREE[1] | {"forbid_pools": ["x"]}],
            "together": [["b", "a"]],
            "pools": [{"name": "x"}, {"name": "y"}],
        },
        {"message": f'buffer "a" (10 bytes) {NO_POOL} ("x"), even with only what must lie with it'},
    ),
    "colliding pins": (
        {"buffers": [row | {"offset": offset} for row, offset in zip(THREE, (0, 5, 20), strict=True)]},
        {"buffers": ("a", "b")},
    ),
    "explicit conflicts, without a time": (
        {
            "buffers": [{"id": name, "size": 10} for name in "abc"],
            "conflicts": [["a", "b"], ["b", "c"], ["a", "c"]],
            "pools": [{"name": "sram", "size": 25}],
        },
        {
            "message": 'pool "sram" lacks 5 bytes; 3 buffers ("a", "b", "c"), which conflict pairwise, do not fit',
            "missing_bytes": 5,
            "time": None,
        },
    ),
}


@pytest.mark.parametrize(("fields", "told"), EXPLAINED.values(), ids=EXPLAINED)
def test_explanations_of_infeasible_problems_name_the_cause(fields: dict[str, Any], told: dict[str, Any]) -> None:
    plan = solve(Problem.model_validate(fields), time_limit_s=5)
    found = require_value(plan.explanation).model_dump(exclude_defaults=True)
    assert {name: found.get(name) for name in told} == told
    if "buffers" in told and "time" in told:
        assert found.keys() == told.keys()


@pytest.mark.parametrize("solver", ["exact", "auto"])
def test_explanations_by_search_name_the_buffers_at_the_tightest_time(solver: str) -> None:
    plan = solve(FEATURES["infeasible, which no live set and no clique shows"], solver=solver, time_limit_s=20)
    assert plan.status == "infeasible"
    assert plan.explanation is not None
    assert (plan.explanation.message, len(plan.explanation.buffers)) == ("nothing fits: exact searched everything", 2)
