"""Tests of `--plans`: each plan is the cheapest that differs from all earlier plans, and no plan is missing."""

from __future__ import annotations

import random
from itertools import combinations, product
from typing import Any

import pytest

import memplan
from memplan.planner.errors import OptionError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.questions.plan.plan import PlanOptions
from tests.support.depth import seeds

Pairs = frozenset[tuple[int | str, ...]]
PRICED: dict[str, Any] = {
    "buffers": [{"id": k, "size": 2 + k % 2, "start": k, "end": k + 1} for k in range(4)],
    "reuse": [{"pairs": [[a, b] for b in range(4) for a in range(b)], "cost": 1}],
    "pools": [{"name": "ub", "size": 6}],
    "objective": "cost",
}


def draw_problem(seed: int) -> Problem:
    rng = random.Random(seed)
    sizes = rng.choice(([2], [1, 2, 3], [4, 6]))
    rows = [{"id": k, "size": rng.choice(sizes), "start": (at := rng.randint(0, 4)), "end": at + 1} for k in range(4)]
    pairs = [pair for pair in combinations(range(4), 2) if rng.random() < 0.8]
    cut = rng.randint(0, len(pairs))
    reuse = [{"pairs": some, "cost": cost} for some, cost in ((pairs[:cut], 1), (pairs[cut:], 2)) if some]
    most = max(sum(row["size"] for row in rows if row["start"] == t) for t in range(5))
    pool = {"name": "ub", "size": max(most, *(row["size"] for row in rows)) + rng.randint(0, 3)}
    return Problem.model_validate({"buffers": rows, "reuse": reuse, "pools": [pool], "objective": "cost"})


def priced_sets(problem: Problem) -> dict[Pairs, int]:
    """Map each set of pairs for which some plan pays to its cost; interchangeable buffers are sorted by offset."""
    rows, capacity = list(problem.buffers), problem.pools[0].size or 0
    alive = {(i, j) for i, j in combinations(range(4), 2) if rows[i].start == rows[j].start}
    price = {tuple(sorted(pair)): row.cost for row in problem.reuse for pair in row.pairs}
    price = {pair: cost for pair, cost in price.items() if pair not in alive}

    def relation(i: int, j: int) -> object:
        pair = (min(i, j), max(i, j))
        return pair in alive, price.get(pair, 0)

    alike = [
        (i, j)
        for i, j in combinations(range(4), 2)
        if rows[i].size == rows[j].size and all(relation(i, k) == relation(j, k) for k in {0, 1, 2, 3} - {i, j})
    ]
    found: dict[Pairs, int] = {}
    for at in product(*(range(capacity - row.size + 1) for row in rows)):
        shared = {
            (i, j)
            for i, j in combinations(range(4), 2)
            if at[i] < at[j] + rows[j].size and at[j] < at[i] + rows[i].size
        }
        if not shared & alive and all(at[i] <= at[j] for i, j in alike):
            paid = frozenset(shared & price.keys())
            found[paid] = sum(price[pair] for pair in paid)
    return found


def costly_pairs(plan: Plan) -> Pairs:
    return frozenset(tuple(sorted(row.buffers)) for row in plan.reused)


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(30))
def test_each_alternative_plan_is_the_cheapest_that_differs_and_lists_are_complete(seed: int) -> None:
    problem, distance = draw_problem(seed), 1 + seed % 3
    truth = priced_sets(problem)
    if not any(cost for cost in truth.values()):
        return
    answer = memplan.plan(problem, options=PlanOptions(plans=1000, distance=distance))
    assert answer.others is not None
    before: list[Pairs] = []
    for plan in (answer, *answer.others.plans):
        far = [cost for paid, cost in truth.items() if all(len(paid ^ each) >= distance for each in before)]
        assert (plan.status, plan.cost, truth[costly_pairs(plan)]) == ("optimal", min(far), min(far))
        before.append(costly_pairs(plan))
    assert answer.others.complete
    assert not [paid for paid in truth if all(len(paid ^ each) >= distance for each in before)]


@pytest.mark.parametrize(
    ("options", "changed", "sentence"),
    [
        ({"plans": 2}, {"objective": "peak"}, "must be 1 unless the objective is"),
        ({"plans": 2}, {"reuse": []}, "must be 1 unless the objective is"),
        ({"plans": 2}, {"pools": [{"name": "a", "size": 6}, {"name": "b"}]}, "in which each buffer may be in one pool"),
        (
            {"plans": 2},
            {
                "reuse": [],
                "buffers": [{"id": k, "size": 2 + 2 * k, "start": 0, "end": 1} for k in range(2)],
                "pools": [{"name": "ub", "size": 8, "bank_size": 2}],
                "bank": [{"buffers": [0, 1], "weight": 1}],
            },
            "no pair that conflicts or pays for shared bytes also pays for a bank",
        ),
        ({"plans": 2, "heaps": 6}, {}, "must be 1 with heaps"),
        ({"plans": 2, "distance": 0}, {}, "distance: must be at least 1"),
    ],
)
def test_plan_refuses_several_plans_for_problems_without_priced_pairs(
    options: Any, changed: Any, sentence: str
) -> None:
    with pytest.raises(OptionError, match=sentence):
        memplan.plan(Problem.model_validate(PRICED | changed), options=PlanOptions(**options))


def test_false_claims_about_other_plans_are_reported() -> None:
    problem = Problem.model_validate(PRICED)
    answer = memplan.plan(problem, options=PlanOptions(plans=3, distance=2))
    others = answer.others
    assert others is not None
    first, second = others.plans
    dearer = first.model_copy(update={"cost": 9.0})
    for plans, distance, words in (
        ((dearer, second), 2, "others.plans[0]: cost: must be"),
        ((first, first), 2, "others.distance: must be at most 0, the number of pairs by which plans[1] differs"),
        ((first, second), 9, "others.distance: must be at most"),
    ):
        claimed = answer.model_copy(update={"others": others.model_copy(update={"plans": plans, "distance": distance})})
        assert words in " ".join(each.message for each in verify(problem, claimed))


def test_plans_for_objective_peak_then_cost_all_have_the_least_peak() -> None:
    rows = [{"id": k, "size": 1 + k % 2 * 2, "start": k, "end": k + 1} for k in range(4)]
    problem = Problem.model_validate(PRICED | {"buffers": rows, "objective": ["peak", "cost"]})
    answer = memplan.plan(problem, options=PlanOptions(plans=3))
    assert answer.others is not None
    assert {answer.peak, *(plan.peak for plan in answer.others.plans)} == {3}
    assert len(answer.others.plans) == 1


def two_bank_problem(*, size: int | None, weights: list[float], reuse: int = 0) -> Problem:
    """Return a problem of two buffers that are never alive together and pay for a common bank or for shared bytes."""
    rows = [{"id": k, "size": 2 + 2 * k, "start": k, "end": k + 1} for k in range(2)]
    return Problem.model_validate(
        {
            "buffers": rows,
            "bank": [{"buffers": [0, 1], "weight": weight} for weight in weights],
            "reuse": [{"pairs": [[0, 1]], "cost": reuse}] if reuse else [],
            "pools": [{"name": "only", "size": size, "bank_size": 8}],
            "objective": "cost",
        }
    )


@pytest.mark.parametrize("size", [None, 2**62, 16])
def test_list_of_plans_that_share_a_bank_is_complete_for_pools_of_any_size(size: int | None) -> None:
    answer = memplan.plan(two_bank_problem(size=size, weights=[1]), options=PlanOptions(plans=9))
    assert answer.others is not None
    assert [plan.cost for plan in (answer, *answer.others.plans)] == [0, 1]
    assert answer.others.complete


def test_bank_pairs_of_weight_zero_do_not_count_as_paid() -> None:
    # Buffers that share bytes also share a bank, but its weight is 0, so only the shared bytes count as paid.
    answer = memplan.plan(two_bank_problem(size=16, weights=[0, 0], reuse=3), options=PlanOptions(plans=9))
    assert answer.others is not None
    assert [plan.cost for plan in (answer, *answer.others.plans)] == [0, 3]
    assert answer.others.complete


def test_verify_lists_the_claims_about_other_plans_that_it_cannot_check() -> None:
    problem = Problem.model_validate(PRICED)
    answer = memplan.plan(problem, options=PlanOptions(plans=3, distance=2))
    assert answer.others is not None
    forged = answer.others.model_copy(update={"complete": True, "plans": ()})
    found = memplan.verify(problem, answer.model_copy(update={"others": forged}))
    assert (found.valid, "others.complete" in [each.claim for each in found.claims if each.by is None]) == (True, True)


def test_no_cost_bound_exceeds_the_cost_of_a_later_alternative_plan() -> None:
    problem = Problem.model_validate(PRICED)
    answer = memplan.plan(problem, options=PlanOptions(plans=3, distance=2))
    assert answer.others is not None
    assert [plan.cost for plan in answer.others.plans] == [2, 3]
    swapped = answer.others.model_copy(update={"plans": answer.others.plans[::-1]})
    words = [each.message for each in verify(problem, answer.model_copy(update={"others": swapped}))]
    assert words == ["others.plans[0].cost_lower_bound: must be at most 2.0, the cost of others.plans[1], got 3.0"]
