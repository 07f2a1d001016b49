"""Profiles, weighted sums and slowdown limits match enumeration of all pool choices."""

import random
from collections.abc import Mapping

import pytest

from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem, replace_profile
from memplan.planner.verify.verifier import verify
from memplan.solvers.portfolio.options import SolveOptions
from memplan.solvers.portfolio.profiles import steps_of
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.result import SolveResult
from tests.support import oracle
from tests.support.orientations import costs_that_fit
from tests.support.values import require_value

IN_ORDER = ("reference:cadence-greedy-by-size-with-hierarchy", "reference:cadence-position-based-greedy-with-hierarchy")
SPILLS = Problem(
    buffers=[
        {"id": "wide", "size": 8, "start": 0, "end": 2},
        {"id": "busy", "size": 2, "start": 0, "end": 3, "traffic": 90},
        {"id": "idle", "size": 2, "start": 1, "end": 3},
        {"id": "late", "size": 4, "start": 2, "end": 4},
    ],
    pools=[{"name": "sram", "size": 4}, {"name": "dram", "size": 64}],
)


def draw_problem(seed: int, fast_pools: int | None = None) -> Problem:
    draw = random.Random(seed)
    buffers = []
    for name in "abcdef":
        start = draw.randrange(4)
        buffers.append({"id": name, "size": draw.randint(1, 6), "start": start, "end": start + draw.randint(1, 4)})
    sizes = [draw.randint(3, 8), draw.randint(3, 8)][: fast_pools or draw.randint(1, 2)]
    pools = [{"name": f"fast{k}", "size": size} for k, size in enumerate(sizes)]
    return Problem(buffers=buffers, pools=[*pools, {"name": "slow", "size": 30}])


def ending_at(problem: Problem, size: int) -> Problem:
    """Return the problem under profile "balanced" with the last pool limited to `size` bytes."""
    asked = replace_profile(problem, "balanced")
    return asked.model_copy(update={"pools": (*asked.pools[:-1], asked.pools[-1].model_copy(update={"size": size}))})


def moved_at_a_price(problem: Problem, plan: Plan) -> float:
    """Return the traffic in bytes, weighted by the index of each buffer's pool (the first pool is free)."""
    rows, names = {row.id: row for row in problem.buffers}, [pool.name for pool in problem.pools]
    moved = {name: row.size if row.traffic is None else row.traffic for name, row in rows.items()}
    return float(sum(moved[row.id] * names.index(row.pool) for row in plan.placements))


@pytest.mark.parametrize("problem", [SPILLS, *map(draw_problem, range(6))])
def test_the_size_and_balanced_profiles_minimise_their_objectives_in_lexicographic_order(problem: Problem) -> None:
    ends = oracle.best_score(problem)
    assert ends is not None
    size = solve(problem, profile="size")
    assert tuple(pool.used for pool in reversed(size.pools)) == ends
    balanced = solve(problem, profile="balanced")
    assert (balanced.pools[-1].used, balanced.status, balanced.gap) == (ends[0], "optimal", 0.0)
    least = oracle.best_score(ending_at(problem, int(ends[0])))
    assert balanced.cost == balanced.cost_lower_bound == require_value(least)[0] == moved_at_a_price(problem, balanced)
    for plan in (size, balanced):
        assert verify(problem, plan) == ()


@pytest.mark.parametrize("problem", [SPILLS, *map(draw_problem, range(6))])
def test_profile_speed_minimises_the_cost_and_then_the_last_pool(problem: Problem) -> None:
    plan = solve(problem, profile="speed")
    assert verify(problem, plan) == ()
    assert plan.cost is not None
    assert plan.cost <= min(moved_at_a_price(problem, solve(problem, solver=name)) for name in IN_ORDER)
    assert (plan.cost, plan.pools[-1].used) == (oracle.best_score(replace_profile(problem, "speed")) or ())[:2]


def test_cost_of_profile_speed_never_rises_with_a_larger_fast_memory() -> None:
    # Filling pools in order puts large buffers of little traffic into the fast pool, which needs less of the last
    # pool than the cheapest plan.
    rows = [("idle", 300, 0, 9, 10), ("busy", 90, 0, 9, 9000), ("hot", 80, 2, 5, 8000), ("cold", 200, 1, 7, 20)]
    problem = Problem(
        buffers=[{"id": n, "size": b, "start": s, "end": e, "traffic": t} for n, b, s, e, t in rows],
        pools=[{"name": "tcm", "size": 100, "cost": 1}, {"name": "sram", "size": 4096, "cost": 4}],
    )
    plans = [solve(problem.with_capacity({"tcm": size}), profile="speed") for size in range(100, 401, 50)]
    costs = [plan.cost for plan in plans]
    assert all(plan.status == "optimal" for plan in plans)
    assert costs == sorted(costs, reverse=True)  # type: ignore[type-var]
    assert costs[4] == solve(replace_profile(problem, "speed").with_capacity({"tcm": 300})).cost


def test_all_deterministic_searches_of_a_profile_return_the_same_plan() -> None:
    plans = [solve(SPILLS, profile="speed", deterministic=True, time_limit_s=0.2) for _ in range(2)]
    assert plans[0] == plans[1]
    assert plans[0].reproducible


def test_the_verifier_expects_the_gap_of_the_first_unproved_objective() -> None:
    plan = solve(SPILLS, solver=IN_ORDER[0], profile="speed")
    cost = replace_profile(SPILLS, "speed")
    assert plan.cost is not None
    assert plan.cost_lower_bound is not None
    forged = plan.model_copy(update={"status": "feasible", "cost_lower_bound": plan.cost / 2, "gap": 0.25})
    assert any("gap" in found.message for found in verify(cost, forged))
    assert not any("gap" in found.message for found in verify(cost, forged.model_copy(update={"gap": 1.0})))


def test_a_problem_that_does_not_fit_is_infeasible_in_every_profile() -> None:
    tight = SPILLS.model_copy(update={"pools": (SPILLS.pools[0], SPILLS.pools[1].model_copy(update={"size": 5}))})
    for profile in ("speed", "balanced", "size"):
        plan = solve(tight, profile=profile)
        assert (plan.status, plan.profile) == ("infeasible", profile)
        assert verify(tight, plan) == ()


PAIR = [{"pairs": [["a", "b"]], "cost": 1}]


def two_pool_problem(a: Mapping[str, object], b: Mapping[str, object], **fields: object) -> Problem:
    rows = [{"id": "a", "start": 0, "end": 1, **a}, {"id": "b", "start": 1, "end": 2, **b}]
    pools = [{"name": "fast"}, {"name": "slow"}]
    return Problem.model_validate({"buffers": rows, "pools": pools, "reuse": PAIR} | fields)


@pytest.mark.parametrize(
    ("profile", "problem", "peak"),
    [
        ("balanced", two_pool_problem({"size": 5, "alignment": 4}, {"size": 5}), 10),
        ("speed", two_pool_problem({"size": 3}, {"size": 2, "alignment": 2}), 5),
        ("balanced", two_pool_problem(*[{"size": 1, "pools": ["fast"]}] * 2), 2),
    ],
)
def test_profiles_avoid_reuse_costs_at_the_minimum_peak(profile: str, problem: Problem, peak: int) -> None:
    plan = solve(problem, profile=profile)
    assert (plan.status, plan.cost, plan.peak) == ("optimal", 0, peak)


@pytest.mark.parametrize("homes", [["fast"], ["fast", "slow"]])
def test_accept_fit_returns_a_feasible_plan_without_a_cost(homes: list[str]) -> None:
    plan = solve(two_pool_problem({"size": 1, "pools": ["fast"]}, {"size": 1, "pools": homes}), accept="fit")
    assert (plan.status, plan.stop_reason, plan.cost) == ("feasible", "accepted", None)


def test_a_profile_is_optimal_only_if_the_ends_of_all_pools_are_proved() -> None:
    rows = [{"id": k, "size": 5, "start": k, "end": k + 1, "alignment": 4 if k % 2 else 1} for k in range(9)]
    reuse = [{"pairs": [[a, b] for a in range(9) for b in range(a)], "cost": 1}]
    problem = Problem(buffers=rows, pools=[{"name": "fast", "size": 40}, {"name": "slow"}], reuse=reuse)
    for profile in ("balanced", "speed"):
        plan = solve(problem, profile=profile, time_limit_s=2)
        assert plan.status == ("optimal" if all(use.used == use.lower_bound for use in plan.pools) else "feasible")


def test_the_peak_bound_of_several_pools_is_at_most_the_minimum_total() -> None:
    data = {"id": "c", "size": 5, "start": 2, "end": 3, "alignment": 4}
    first = {"id": "a", "size": 1, "start": 0, "end": 1, "pools": ["fast"]}
    rows = [first, {"id": "b", "size": 2, "start": 1, "end": 2, "pools": ["slow"]}, data]
    problem = two_pool_problem({"size": 1}, {"size": 2}, buffers=rows, objective="cost")
    plan = solve(problem)
    assert (plan.status, plan.peak, oracle.min_total(problem)) == ("optimal", 7, 6)
    assert require_value(plan.lower_bound) <= 6


def test_pool_usage_is_updated_after_the_cost_step_of_a_profile() -> None:
    facts = {"a": (6, 2), "b": (2, 3), "c": (1, 2)}
    rows = [{"id": name, "size": size, "start": start, "end": start + 1} for name, (size, start) in facts.items()]
    pools = [{"name": "fast", "size": 5, "cost": 1}, {"name": "mid", "cost": 0}]
    problem = Problem(buffers=rows, pools=pools, objective=["peak", "cost"])
    steps = steps_of(problem, SolveOptions(), "balanced")
    next(steps)
    uses = [{"name": "fast", "used": 2, "lower_bound": None}, {"name": "mid", "used": 6, "lower_bound": 6}]
    places = [{"id": name, "pool": pool, "offset": 0} for name, pool in (("a", "mid"), ("b", "fast"), ("c", "fast"))]
    found = {"status": "feasible", "peak": 8, "pools": uses, "placements": places}
    priced = steps.send(SolveResult(Plan.model_validate(found), stop_reason="time_limit")).problem
    assert [pool.size for pool in priced.pools] == [2, 6]
    with pytest.raises(StopIteration) as ended:
        steps.send(SolveResult(solve(priced), stop_reason="proved"))
    plan = ended.value.value.plan
    assert [use.used for use in plan.pools] == [1, 6]
    assert verify(problem, plan) == ()


@pytest.mark.parametrize(("seed", "solver"), [(1, "auto"), (4, "auto"), (44, "auto"), (5, "highs"), (6, "cp-sat")])
def test_a_profile_of_weights_minimises_the_weighted_sum_of_pool_ends(seed: int, solver: str) -> None:
    problem, draw = draw_problem(seed, 1 + seed % 2), random.Random(seed)
    weights = {pool.name: draw.choice([1, 2, 3, 1.5]) for pool in problem.pools if draw.random() < 0.8} or {"slow": 2}
    least = min(
        sum(weights.get(pool.name, 0) * end for pool, end in zip(problem.pools, ends, strict=True))
        for _, ends in costs_that_fit(problem)
    )
    plan = solve(problem, profile=weights, solver=solver)
    assert verify(problem, plan) == ()
    assert plan.weighted is not None
    assert (plan.weighted.sum, plan.weighted.lower_bound, plan.status) == (least, least, "optimal")
    for wrong in ({"sum": least + 1}, {"lower_bound": least + 1}, {"lower_bound": least - 1}, {"weights": {"x": 1}}):
        forged = plan.model_copy(update={"weighted": plan.weighted.model_copy(update=wrong)})
        assert {found.rule for found in verify(problem, forged)} == {"false-claim"}


@pytest.mark.parametrize(("seed", "percent"), [(3, 0), (7, 10), (8, 50), (10, 100)])
def test_with_a_slowdown_limit_the_last_pool_is_minimised_within_the_allowed_cost(seed: int, percent: float) -> None:
    problem = draw_problem(seed, 1 + seed % 2)
    found = list(costs_that_fit(replace_profile(problem, "speed")))
    limit = min(cost for cost, _ in found) * (1 + percent / 100)
    least = min((ends[-1], cost) for cost, ends in found if cost <= limit)
    plan = solve(problem, profile=f"balanced+{percent}%")
    assert verify(problem, plan) == ()
    assert (plan.pools[-1].used, plan.cost, plan.status) == (*least, "optimal")
    assert plan.cost_limit == pytest.approx(limit)
    assert verify(problem, plan.model_copy(update={"cost_limit": least[1] - 1})) != () or least[1] == 0


def test_a_profile_of_weights_reports_an_infeasible_problem() -> None:
    problem = draw_problem(1, 2).with_capacity({"fast0": 1, "fast1": 1, "slow": 1})
    plan = solve(problem, profile={"slow": 1})
    assert (plan.status, verify(problem, plan)) == ("infeasible", ())


@pytest.mark.parametrize("solver", ["cbc", "highs", "cp-sat", "memory-choice", "few", "greedy", "local-search"])
def test_named_solvers_minimise_costs_under_the_default_profile(solver: str) -> None:
    rows = [("a", 4, 2, 4), ("b", 3, 0, 1), ("c", 6, 0, 2)]
    buffers = [dict(zip(("id", "size", "start", "end"), row, strict=True)) for row in rows]
    problem = Problem(buffers=buffers, pools=[{"name": "fast", "size": 5}, {"name": "mid"}])

    plan = solve(problem, solver=solver, time_limit_s=20)

    # "mid" ends at 6 at least; moving "a" there as well would add an avoidable cost of 4.
    assert (plan.profile, plan.cost, [use.used for use in plan.pools]) == ("balanced", 6, [4, 6])


def test_reference_planners_without_costs_use_profile_size() -> None:
    buffers = [dict(zip(("id", "size", "start", "end"), row, strict=True)) for row in [("a", 4, 0, 2), ("b", 4, 2, 4)]]
    data = {"buffers": buffers, "pools": [{"name": "fast"}, {"name": "slow"}]}
    problem = Problem.model_validate(data | {"reuse": [{"pairs": [["a", "b"]], "cost": 3}]})

    plan = solve(problem, solver="reference:executorch-greedy")

    assert (plan.status, plan.profile, [use.used for use in plan.pools]) == ("optimal", "size", [4, 0])
    assert (best := solve(problem)).pools[0].used == 8, "which costs less"
    assert best.profile == "balanced"
