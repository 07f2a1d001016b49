"""Schedules: the closed form is what the simulator says, and the search finds what trying all schedules finds."""

from __future__ import annotations

import random
from contextlib import suppress
from typing import get_args

import pytest
from memplan_tile.contest import steps_of
from memplan_tile.graph import TileGraph, TileOperation, TileTensor
from memplan_tile.search.bounds import LowerBounds
from memplan_tile.search.costs import StepCosts
from memplan_tile.search.downsets import ScheduleEffort
from memplan_tile.search.ground import Ground
from memplan_tile.search.search import ScheduleSearch, cut_off, depth_first, in_order, schedule_tiles
from memplan_tile.simulator import simulate

from memplan.capabilities.schedule.form import Engine, Link, Memory, Objective, ScheduleAnswer, Target
from memplan.planner.errors import ProblemError
from memplan.solvers.search.control import Control
from packages.tile.tests.small_schedules import (
    drawn_schedule,
    drawn_sharing,
    drawn_target,
    least_latency,
    least_of_all,
    seeds,
    with_alternatives,
)


def solved(
    graph: TileGraph, target: Target, objective: Objective = "latency", *, front: bool = False
) -> ScheduleAnswer:
    return schedule_tiles(graph, target, objective, Control.of(0.5, deterministic=True), wants_front=front)


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(200))
def test_the_closed_form_of_a_step_agrees_with_the_simulator(seed: int) -> None:
    problem = drawn_schedule(seed)
    graph, target = with_alternatives(problem.graph, seed), drawn_target(problem, seed, rolls=seed % 3 > 0)
    costs, everything = StepCosts(graph, target), (1 << len(graph.operations)) - 1
    outputs = sum(1 << tensor for tensor in graph.outputs)
    for cost in costs.ways((everything, 0, outputs, 0)):
        step = costs.step_of((everything, 0, outputs, 0), cost)
        found = simulate(graph, target, [step])
        if not found.figures:
            assert found.violations == ("steps[0]: operations must be connected by tensors",)
            return
        assert found.latency == pytest.approx(cost.latency)
        assert (found.traffic, found.peak) == (cost.traffic, cost.peak)


@pytest.mark.drawn
@pytest.mark.parametrize("seed", [*seeds(15), 63, 963, 976, 1093, 1130])
def test_the_search_finds_the_same_optimum_as_trying_all_schedules(seed: int) -> None:
    problem = drawn_schedule(seed, most=4, sides=(2, 4, 8))
    graph, target = problem.graph, drawn_target(problem, seed)
    least = least_latency(graph, target)
    if least is None:
        return
    found = solved(graph, target)
    assert LowerBounds(graph, target).latency <= least * (1 + 1e-9)
    # The oracle runs each operation once, and retains what is read later.
    assert found.latency <= least * (1 + 1e-9)


@pytest.mark.drawn
@pytest.mark.parametrize("objective", get_args(Objective))
@pytest.mark.parametrize("seed", seeds(4))
def test_nothing_false_is_proved_where_a_tensor_is_read_in_two_regions(seed: int, objective: Objective) -> None:
    problem = drawn_sharing(seed)
    found = solved(problem.graph, problem.target, objective)
    least = least_of_all(problem.graph, problem.target, objective)
    assert found.lower_bound <= least * (1 + 1e-9)
    assert found.proof is None or getattr(found, objective) == pytest.approx(least)
    if found.is_exhausted and found.proof is None:
        once = least_of_all(problem.graph, problem.target, objective, is_once=True)
        assert getattr(found, objective) == pytest.approx(once)


@pytest.mark.parametrize(("rows", "capacity", "native", "least"), [(1, 44, (8, 4), 128), (2, 48, (4, 2), 56)])
def test_two_files_that_were_proved_too_high(rows: int, capacity: int, native: tuple[int, int], least: int) -> None:
    square = TileGraph((TileTensor(6, 6),) * 2, (TileOperation("product", (0, 0), 1, 100),))
    made = TileOperation("element-wise", (0,), 1, 5), TileOperation("product", (1, 0), 2, 2)
    graph = square if rows == 1 else TileGraph((TileTensor(4, 4),) * 3, made)
    link = Link(bandwidth=2 if rows == 1 else 1)
    memories = Memory(name="fast", capacity=capacity), Memory(name="slow")
    target = Target(memories=memories, links=(link,), engine=Engine(native=native))
    found = solved(graph, target, "traffic")
    assert least_of_all(graph, target, "traffic") == least
    assert found.traffic == least or (found.proof, found.is_exhausted) == (None, False)


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(10, first=1))
def test_the_search_chooses_alternatives_and_rolls_as_trying_all_of_them_does(seed: int) -> None:
    problem = drawn_schedule(seed, most=3, sides=(2, 4, 8))
    graph, target = with_alternatives(problem.graph, seed), drawn_target(problem, seed, rolls=True)
    least = least_latency(graph, target)
    if least is None:
        return
    found = solved(graph, target)
    assert LowerBounds(graph, target).latency <= least * (1 + 1e-9)
    assert found.latency <= least * (1 + 1e-9)


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(4, first=1))
def test_a_front_equals_the_one_of_trying_all_schedules_in_each_memory(seed: int) -> None:
    problem = drawn_schedule(seed, most=3, sides=(2, 4))
    graph, target = problem.graph, drawn_target(problem, seed)
    if least_latency(graph, target) is None:
        return
    found = solved(graph, target, front=True)
    points = [(one.peak, one.latency) for one in found.frontier]
    following = [*(latency for _, latency in points[1:]), None]
    for (peak, latency), slower in zip(points, following, strict=True):
        assert least_latency(graph, target.with_capacity(peak)) == pytest.approx(latency)
        assert least_latency(graph, target.with_capacity(peak - 1)) == (slower and pytest.approx(slower))


@pytest.mark.parametrize("seed", [0, 3, 5])
def test_the_least_peak_is_the_smallest_memory_that_has_a_schedule(seed: int) -> None:
    problem = drawn_schedule(seed, most=3, sides=(2, 4))
    found = solved(problem.graph, problem.target, "peak")
    assert found.proof is not None
    with pytest.raises(ProblemError, match="fast_memory_capacity"):
        solved(problem.graph, problem.target.with_capacity(found.peak - 1))


def stays() -> tuple[TileGraph, Target]:
    """Return a graph on a target in which a tensor is better off in the fast memory for several steps."""
    fields = {"fast_memory_capacity": 500, "native_granularity": (8, 8)}
    problem = drawn_schedule(10, most=9, sides=(8, 16)).model_copy(update=fields)
    return problem.graph, problem.target.model_copy(update={"residency": "several steps"})


def test_a_tensor_that_stays_for_several_steps_is_not_loaded_again() -> None:
    graph, target = stays()
    found, other = solved(graph, target), solved(graph, target.model_copy(update={"residency": "one step"}))
    assert found.latency < other.latency
    assert any(slot.end > slot.start + 2 for slot in found.slots)
    assert simulate(graph, target.model_copy(update={"residency": "one step"}), steps_of(found)).violations


def test_a_step_whose_residents_do_not_fit_is_returned_without_offsets() -> None:
    graph, target = stays()
    effort = ScheduleEffort(Control.of(0.2, deterministic=True))
    ground = Ground(in_order(graph, depth_first(graph)), target, "latency", effort)
    found = ScheduleSearch(ground).run()
    again = cut_off(ground, found)
    assert ground.costs.cuts.isdisjoint(step.masks for step in again.steps)
    steps = [ground.costs.step_of(step.masks, step.cost) for step in again.steps]
    assert simulate(ground.graph, target, steps).violations == ()
    assert again.value >= found.value


def test_a_large_product_runs_in_small_tiles_where_larger_ones_do_not_fit() -> None:
    tensors = (TileTensor(2048, 2048),) * 3
    target = drawn_schedule(0).target.model_copy(update={"engine": Engine(native=(128, 128))}).with_capacity(3000)
    found = solved(TileGraph(tensors, (TileOperation("product", (0, 1), 2, 1000),)), target)
    assert found.peak <= 3000


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(15, first=1))
def test_no_schedule_moves_fewer_bytes_than_the_bound(seed: int) -> None:
    problem = drawn_schedule(seed, most=5)
    graph, target = problem.graph, drawn_target(problem, seed, rolls=seed % 2 > 0)
    with suppress(ProblemError):  # where an operation fits in no tile
        assert LowerBounds(graph, target).traffic <= solved(graph, target, "traffic").traffic


def test_tensors_larger_than_the_fast_memory_count_in_the_bound_of_a_chain() -> None:
    products = [TileOperation("product", (2 * k, 2 * k + 1), 2 * k + 2, 100) for k in range(8)]
    graph = TileGraph((TileTensor(512, 512),) * 17, tuple(products))
    target = drawn_schedule(0).target.model_copy(update={"engine": Engine(native=(128, 128))}).with_capacity(60000)
    bound = LowerBounds(graph, target).traffic
    assert bound <= solved(graph, target).traffic <= 1.2 * bound


def test_a_chain_of_many_operations_has_bounds() -> None:
    chain = tuple(TileOperation("element-wise", (k,), k + 1, 3) for k in range(2000))
    graph = TileGraph(tuple(TileTensor(8, 8) for _ in range(2001)), chain)
    assert LowerBounds(graph, drawn_schedule(0).target).latency >= 2000 * 3


@pytest.mark.parametrize("seed", range(10))
def test_slots_lie_in_the_fast_memory_and_do_not_overlap(seed: int) -> None:
    problem = drawn_schedule(seed, most=12, sides=(4, 8, 16))
    target = drawn_target(problem, seed).model_copy(update={"engine": problem.target.engine})
    slots = solved(problem.graph, target).slots
    assert all(slot.offset + slot.size <= target.capacity for slot in slots)
    for i, one in enumerate(slots):
        for other in slots[:i]:
            is_together = one.start < other.end and other.start < one.end
            assert not is_together or one.offset + one.size <= other.offset or other.offset + other.size <= one.offset


def test_equal_work_finds_the_same_schedule_on_every_machine() -> None:
    problem = drawn_schedule(random.Random(7).randrange(10**6), most=30, sides=(8, 16))
    first, second = (solved(problem.graph, problem.target) for _ in range(2))
    assert steps_of(first) == steps_of(second)
