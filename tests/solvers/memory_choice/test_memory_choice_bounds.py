"""Memory choice without offsets: knapsack, multipliers and dynamic program against brute force."""

import time
from copy import copy
from itertools import product
from threading import Timer
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from lab.families import pose
from memplan.planner.instance.compile import compile_problem
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.problem import Problem
from memplan.solvers.core import choice as core
from memplan.solvers.core.tables import Reference
from memplan.solvers.memory_choice.knapsack import Knapsack
from memplan.solvers.memory_choice.multipliers import (
    NEVER,
    ChoiceEffort,
    Multipliers,
    NoGood,
    PoolChoice,
    cheapest_choice,
    choice_task,
    cost_bound,
    cost_multipliers,
    load_multipliers,
)
from tests.support import public_problems
from tests.support.depth import seeds
from tests.support.random_problems import random_problem
from tests.support.strategies import problems
from tests.support.values import require_value

FEATURES = ("holes", "conflicts", "pools", "alignment", "pins", "reserved", "cost")
ROOMY = 2**40
"""An end offset (units) above every pool of these tests."""
COSTS = {"objective": "cost"}


def knapsack_of(problem: Problem) -> Knapsack:
    return require_value(Knapsack.from_instance(compile_problem(problem)))


def small_knapsack(*buffers: dict[str, Any], **fields: Any) -> Knapsack:
    return knapsack_of(Problem(buffers=[{"id": k} | row for k, row in enumerate(buffers)], **fields))


NOT_SET = column([0])


def test_the_cheapest_choice_of_buffers_that_begin_together_ends_soon_after_its_flag_is_set() -> None:
    rows = [{"size": 1000 + 37 * k * k % 911, "start": 0, "end": 2} for k in range(40)]
    knapsack = small_knapsack(*rows, pools=[{"name": "fast", "size": 20_000}, {"name": "slow", "cost": 1}], **COSTS)
    flag, limit = np.zeros(1, dtype=np.int64), knapsack.limits([20_000, ROOMY])
    multipliers = cost_multipliers(knapsack, limit, limit, ROOMY, 20, NOT_SET)
    began = time.thread_time()
    Timer(0.05, lambda: flag.__setitem__(0, 1)).start()
    cheapest_choice(knapsack, multipliers, choice_task(knapsack, limit, (), 2**40, ChoiceEffort(400_000, 2**40), flag))
    assert time.thread_time() - began < 0.3


def choices(knapsack: Knapsack) -> list[I64]:
    homes = [np.flatnonzero(column_) for column_ in knapsack.homes.T]
    return [column(home) for home in product(*homes)]


def min_cost(knapsack: Knapsack, limit: I64, nogoods: tuple[NoGood, ...] = ()) -> int | None:
    """Return the minimum cost of a memory choice within the limits, by enumeration; None if there is none."""
    costs = [
        knapsack.cost(home)
        for home in choices(knapsack)
        if (knapsack.loads(home) <= limit).all()
        and not any(all(home[j] == nogood.pool for j in nogood.items) for nogood in nogoods)
    ]
    return min(costs, default=None)


def find(
    knapsack: Knapsack,
    limit: I64,
    nogoods: tuple[NoGood, ...] = (),
    at_most: int = ROOMY,
    effort: ChoiceEffort | None = None,
) -> PoolChoice:
    most = int(knapsack.price.max(axis=0).sum())
    multipliers = cost_multipliers(knapsack, limit, limit, most, 100, NOT_SET)
    task = choice_task(knapsack, limit, nogoods, min(at_most, most), effort or ChoiceEffort(), NOT_SET)
    return cheapest_choice(knapsack, multipliers, task)


def random_choice_problem(seed: int, n: int = 8) -> tuple[Knapsack, I64]:
    rng = np.random.default_rng(seed)
    mixed = {name for name in FEATURES if rng.random() < 0.5} | {"pools", "cost"}
    knapsack = knapsack_of(random_problem(seed, n, frozenset(mixed)))
    ends = [int(rng.integers(3, 40)) * int(knapsack.size.max()) // 12 for _ in knapsack.row_capacities]
    return knapsack, knapsack.limits(ends)


def test_buffers_whose_ends_are_limited_have_the_bytes_below_their_limits_only() -> None:
    low = [{"size": 4, "start": 0, "end": 2 + k, "traffic": 3 + k, "end_at_most": 8} for k in range(4)]
    free = [{"size": 4, "start": k, "end": k + 3, "traffic": 1} for k in range(3)]
    knapsack = small_knapsack(*low, *free, pools=[{"name": "fast", "size": 100}, {"name": "slow", "cost": 1}], **COSTS)
    found = find(knapsack, knapsack.limits([100, ROOMY]))
    assert require_value(found.home).tolist() == [1, 1, 0, 0, 0, 0, 0]
    assert require_value(knapsack.costs).cost_of_steps(found.cost) == 7


@pytest.mark.parametrize("rule", [{"end_at_most": 8}, {"offset_mod": {"modulus": 8, "remainder": 4}}])
def test_buffers_that_may_share_bytes_but_have_no_common_offset_count_both(rule: dict[str, Any]) -> None:
    for other, load in ((rule, 4), ({"alignment": 8, "offset": 8, "pools": ["fast"]}, 8)):
        rows = [{"size": 4, "start": 0, "end": 1} | each for each in (rule, other)]
        knapsack = small_knapsack(*rows, pools=[{"name": "fast"}, {"name": "slow"}], may_share=[[0, 1]], **COSTS)
        assert knapsack.loads(column([0, 0]))[0].max() * knapsack.instance.unit == load


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(12))
def test_the_dynamic_program_proves_the_cheapest_memory_choice(seed: int) -> None:
    knapsack, limit = random_choice_problem(seed)
    expected, found = min_cost(knapsack, limit), find(knapsack, limit)
    assert (None if found.home is None else found.cost) == expected
    if found.home is None:
        assert found.bound == NEVER or found.bound > knapsack.price.max(axis=0).sum()
    else:
        assert found.bound == found.cost == knapsack.cost(found.home)
        assert (knapsack.loads(found.home) <= limit).all()


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(8))
def test_no_goods_make_the_dynamic_program_return_the_next_best_choice(seed: int) -> None:
    knapsack, limit = random_choice_problem(seed, 7)
    nogoods: tuple[NoGood, ...] = ()
    for _ in range(4):
        found = find(knapsack, limit, nogoods)
        assert (None if found.home is None else found.cost) == min_cost(knapsack, limit, nogoods)
        if found.home is None:
            return
        q = int(found.home[seed % len(found.home)])
        nogoods = (*nogoods, NoGood(q, frozenset(np.flatnonzero(found.home == q).tolist()), ROOMY))


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(8))
def test_the_dynamic_program_stays_valid_with_a_narrow_beam_of_partial_choices(seed: int) -> None:
    knapsack, limit = random_choice_problem(seed)
    expected = min_cost(knapsack, limit)
    found = find(knapsack, limit, effort=ChoiceEffort(partials=2))
    if expected is not None:
        assert found.bound <= expected
    if found.home is not None:
        assert found.cost >= require_value(expected)
        assert (knapsack.loads(found.home) <= limit).all()


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(16))
def test_decision_diagram_cost_bounds_are_valid_at_any_width_and_exact_if_unlimited(seed: int) -> None:
    knapsack, limit = random_choice_problem(seed)
    items = np.random.default_rng(seed).permutation(knapsack.n_items)[: 2 + seed % 2].tolist()
    nogoods = (NoGood(seed % len(limit), frozenset(items), ROOMY),) if seed % 4 > 1 else ()
    expected = min_cost(knapsack, limit, nogoods)
    measured = limit if seed % 2 else limit[:0]
    top = int(knapsack.price.max(axis=0, initial=0).sum())
    multipliers = cost_multipliers(knapsack, measured, limit, top, 100, NOT_SET)
    widths = (1, 2, 5, 10_000)
    tasks = [choice_task(knapsack, limit, nogoods, top, ChoiceEffort(widest), NOT_SET) for widest in widths]
    bounds = [cost_bound(knapsack, multipliers, task).bound for task in tasks]
    if expected is None:
        assert bounds[-1] > top
        return
    assert max(bounds) <= expected
    assert bounds[-1] == expected


@pytest.mark.slow
def test_a_choice_of_more_partial_choices_than_are_stored_is_within_the_limits() -> None:
    knapsack = knapsack_of(pose("memories:n=9000,seed=3"))
    limit = knapsack.limits([pool.capacity for pool in knapsack.instance.pools])
    narrow, wide = (find(knapsack, limit, effort=ChoiceEffort(k, k * knapsack.n_items)) for k in (100, 2_500))
    assert wide.home is not None
    assert wide.cost == knapsack.cost(wide.home)
    assert wide.cost < narrow.cost
    assert (knapsack.loads(wide.home) <= limit).all()


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(10))
def test_any_lagrange_multipliers_give_valid_cost_bounds(seed: int) -> None:
    knapsack, limit = random_choice_problem(seed)
    rng = np.random.default_rng(seed)
    measures = cost_multipliers(knapsack, limit, limit, 1, 2, NOT_SET).table.table
    worth = column(rng.integers(0, 50, (len(measures.pool), knapsack.rows)))
    drawn: Reference[core.MultiplierTable] = Reference(measures._replace(worth=worth, scale=7))
    expected = min_cost(knapsack, limit)
    if expected is not None:
        assert Multipliers(drawn).cost_bound(knapsack, limit) <= expected
        assert cost_multipliers(knapsack, limit, limit, expected, 300, NOT_SET).cost_bound(knapsack, limit) <= expected


def test_multipliers_optimised_for_low_limits_give_valid_cost_bounds_at_high_limits() -> None:
    pools = [{"name": "fast", "size": 20}, {"name": "slow", "cost": 1}]
    knapsack = small_knapsack(*[{"size": size, "start": 0, "end": 1} for size in (5, 7, 8, 11)], pools=pools, **COSTS)
    low, high = knapsack.limits([11, ROOMY]), knapsack.limits([20, ROOMY])
    multipliers = cost_multipliers(knapsack, low, low, 40, 300, NOT_SET)
    assert len(multipliers.table.table.worth) > len(low)
    bounds = [multipliers.cost_bound(knapsack, limit) for limit in (low, high)]
    assert bounds[0] == min_cost(knapsack, low)
    assert bounds[1] <= (min_cost(knapsack, high) or 0)


def test_multipliers_prove_the_integer_cost_bound_of_five_equal_buffers() -> None:
    """The fast pool holds two of five equal buffers; by bytes alone, it would hold two and a half."""
    pools = [{"name": "fast", "size": 20}, {"name": "slow", "cost": 1}]
    rows = [{"size": 4, "start": 5, "end": 6}, *[{"size": 8, "start": 0, "end": 1}] * 5]
    knapsack = small_knapsack(*rows, pools=pools, **COSTS)
    limit = knapsack.limits([5, ROOMY])
    multipliers = cost_multipliers(knapsack, limit, limit, 10, 300, NOT_SET)
    assert multipliers.cost_bound(knapsack, limit) == find(knapsack, limit).cost == 6


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(8))
def test_load_bounds_are_at_most_the_minimum_load(seed: int) -> None:
    knapsack = knapsack_of(random_problem(seed, 8, frozenset({"pools", "alignment"})))
    ends = [int(knapsack.size.max()) * 2] * len(knapsack.row_capacities)
    limit = knapsack.limits(ends)
    last = len(ends) - 1
    multipliers = load_multipliers(knapsack, limit, last, float(limit[last].max()), 300, NOT_SET)
    bound = multipliers.load_bound(knapsack, limit, last)
    found = map(knapsack.loads, choices(knapsack))
    fits = [int(loads[last].max()) for loads in found if (loads[:last] <= limit[:last]).all()]
    assert fits == [] or bound <= min(fits)


def test_the_dynamic_program_tries_both_time_directions() -> None:
    """Of 203 buffers many start together but few end together, so 1000 partial choices suffice backwards in time."""
    rows = [
        {"size": row.size, "start": row.start, "end": row.end, "traffic": row.size * (2 + k % 3)}
        for k, row in enumerate(public_problems.problem("minimalloc/C.1048576.csv").buffers)
    ]
    knapsack = small_knapsack(*rows, pools=[{"name": "fast", "size": 519_680}, {"name": "slow", "cost": 1}], **COSTS)
    limit = knapsack.limits([pool.capacity for pool in knapsack.instance.pools])
    mirrored = copy(knapsack)
    mirrored.start, mirrored.end = column(knapsack.rows - knapsack.end), column(knapsack.rows - knapsack.start)
    for each, rows_ in ((knapsack, limit), (mirrored, limit[:, ::-1])):
        multipliers = cost_multipliers(each, rows_, rows_, int(each.price.max(axis=0).sum()), 100, NOT_SET)
        most = int(1.01 * multipliers.cost_bound(each, rows_))
        assert find(each, rows_, at_most=most, effort=ChoiceEffort(partials=1000)).bound > most


def test_row_capacities_are_counted_in_granules_without_reserved_ranges() -> None:
    pool = {"name": "only", "alignment": 8, "reserved": [[16, 4], [40, 8]], "size": 100}
    knapsack = small_knapsack({"size": 12, "start": 0, "end": 1}, {"size": 4, "start": 0, "end": 1}, pools=[pool])
    assert (knapsack.instance.unit, knapsack.size.tolist()) == (4, [[4, 2]])
    row_capacities = {end: int(knapsack.row_capacities[0].capacity_below(end)[0]) for end in (3, 4, 5, 6, 8, 9, 12, 25)}
    assert row_capacities == {3: 4, 4: 4, 5: 4, 6: 4, 8: 6, 9: 6, 12: 6, 25: 6}
    assert [knapsack.row_capacities[0].min_end(load) for load in (0, 2, 4, 6)] == [0, 1, 3, 7]


def fits_alone(instance: Instance, q: int, i: int) -> bool:
    """Return True if pool `q` has a legal offset for buffer `i` within its capacity and outside its reserved ranges."""
    pool, size = instance.pools[q], int(instance.size[i])
    offsets = range(int(instance.lowest[q, i]), pool.capacity - size + 1, int(instance.alignment[q, i]))
    ranges = pool.reserved.tolist()
    return any(all(offset + size <= low or high <= offset for low, high in ranges) for offset in offsets)


@given(problem=problems(5))
def test_row_capacities_admit_every_buffer_that_fits_its_pool_alone(problem: Problem) -> None:
    instance = compile_problem(problem)
    knapsack = Knapsack.from_instance(instance)
    if knapsack is None:
        return
    for q, pool in enumerate(instance.pools):
        capacity = knapsack.row_capacities[q].capacity_below(pool.capacity)
        for i in np.flatnonzero(instance.allowed[q]).tolist():
            for k in np.flatnonzero(knapsack.lifetime_buffer == i).tolist():
                room = capacity[knapsack.start[k] : knapsack.end[k]].min()
                assert knapsack.size[q, i] <= room or not fits_alone(instance, q, i)
