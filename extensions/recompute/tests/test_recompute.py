"""Recomputation: frontiers compared with a search of all programs, operations that run once, budgets, and the check."""

import random
import threading
from pathlib import Path
from typing import Any

import pytest

from memplan import (
    Control,
    ExplainAnswer,
    ExplainOptions,
    OperationGraph,
    OrderOptions,
    Recomputed,
    explain,
    order,
    order_operations,
    read_graph,
)
from memplan.extensions.recompute import points
from memplan.extensions.recompute.annealing import Annealing
from memplan.extensions.recompute.clone_check import check_rewriting
from memplan.extensions.recompute.rewrite import clone_graph, relax_clones
from memplan.extensions.recompute.search import DropSearch
from memplan.extensions.recompute.stays import Stays
from memplan.extensions.recompute.tests.recompute_oracle import bytes_of_runs, min_extra_cost, min_peak
from memplan.planner.errors import OperationsError, TimeOverError
from memplan.programs.operations.costs import costs_of
from memplan.programs.order.answer import OrderAnswer
from tests.support.depth import seeds
from tests.support.operation_graphs import add_pairs, layered_graph, plain_graph, random_graph

RESNET = Path(__file__).parents[3] / "examples" / "graphs" / "torch_resnet18_b1_sgd.json"


def recompute_answer(graph: OperationGraph, control: Control | None = None, **options: Any) -> Recomputed:
    """Return the points of a graph, by counted work unless a control or other options are given."""
    options = {"time_limit_s": 5, "deterministic": control is None, **options}
    found = order(graph, OrderOptions(recompute=True, **options), control or Control()).recomputed
    assert found is not None
    return found


def _graph_with_late_reader(distance: int) -> OperationGraph:
    """Return a graph whose first result is read at once, and again at the end, `distance` operations later."""
    ops = [{"out": [0], "cost": 2, "in": [distance + 1]}]
    ops += [{"in": [k], "out": [k + 1], "cost": 1} for k in range(distance)]
    ops.append({"in": [distance, 0], "out": [distance + 2], "cost": 1})
    return OperationGraph(size=[100, *[40] * distance, 1, 1], kept=[distance + 2], ops=ops)


def _assert_sound(graph: OperationGraph, frontier: Recomputed) -> None:
    costs = costs_of(graph)
    peaks = [point.peak for point in frontier.points]
    extra = [point.extra_cost for point in frontier.points]
    assert peaks == sorted(set(peaks), reverse=True)
    assert extra == sorted(extra)
    assert extra[0] == 0
    for point in frontier.points:
        assert bytes_of_runs(graph, point.order) == point.live_peak <= point.peak
        assert point.extra_cost == sum(costs[v] for v in point.order) - sum(costs)
        assert sorted((*range(len(graph.ops)), *point.clones)) == sorted(point.order)
        assert point.lower_bound <= point.peak


@pytest.mark.parametrize(("n", "width", "seed"), [(150, 10, 2), (200, 12, 0), (260, 20, 0)])
def test_a_peak_that_an_order_alone_reaches_needs_no_recomputation(n: int, width: int, seed: int) -> None:
    graph = layered_graph(random.Random(seed), n, width)
    alone = order(graph, OrderOptions(time_limit_s=0.3, deterministic=True))
    frontier = recompute_answer(graph, time_limit_s=0.3, within=alone.placed_peak)
    assert frontier.is_within
    assert frontier.extra_cost == 0


def test_a_large_tensor_with_a_cheap_operation_is_recomputed() -> None:
    graph = _graph_with_late_reader(4)
    frontier = recompute_answer(graph)
    _assert_sound(graph, frontier)
    assert [(point.peak, point.extra_cost, point.clones) for point in frontier.points] == [(180, 0, ()), (141, 2, (0,))]


def test_the_bound_over_clones_holds_for_every_assignment_of_clones_to_readers() -> None:
    # The bound must allow the order 0 1 2 3 0 1 4 5, in which operation 5 reads the second clone and 10 bytes suffice.
    rows = [{"out": [2]}, {"in": [2], "out": [3]}, {"in": [3], "out": [4]}, {"in": [4], "out": [5], "work": 5}]
    rows += [{"in": [3, 5], "out": [6]}, {"in": [2], "out": [7]}]
    graph = OperationGraph(size=[1, 1, 2, 1, 1, 4, 1, 1], kept=[7], ops=[{**row, "cost": 1} for row in rows])
    assert min_peak(graph, (0, 1)) == 10
    assert order_operations(relax_clones(graph, (0, 1)), time_limit_s=5).lower_bound <= 10
    points = [(point.peak, point.clones, point.extra_cost_lower_bound) for point in recompute_answer(graph).points[1:]]
    assert points == [(11, (0,), 1), (10, (0, 1), 2)]


@pytest.mark.drawn
def test_bound_of_clones_is_at_most_the_least_peak_of_the_same_runs() -> None:
    tight = 0
    for seed in seeds(60):
        graph = plain_graph(random.Random(seed), 5)
        clones = random.Random(seed).sample([v for v, made in enumerate(graph.new_tensors) if made] or [0], k=1)
        bound = order_operations(relax_clones(graph, clones), time_limit_s=5).lower_bound
        least = min_peak(graph, clones)
        assert bound <= least
        tight += bound == least
    assert tight > 0


def test_a_cancelled_search_still_plans_the_program_without_clones() -> None:
    graph, cancelled = read_graph(RESNET), threading.Event()
    cancelled.set()
    (point,) = recompute_answer(graph, Control(cancelled=cancelled)).points
    assert point.clones == ()
    assert point.placed.plan.peak == point.peak > 0


@pytest.mark.drawn
@pytest.mark.slow
def test_frontier_points_cost_at_least_the_least_cost_and_mostly_equal_it() -> None:
    equal = count = 0
    for seed in seeds(25):
        graph = plain_graph(random.Random(seed), 5)
        costs = costs_of(graph)
        frontier = recompute_answer(graph)
        _assert_sound(graph, frontier)
        for point in frontier.points:
            least = min_extra_cost(graph, costs, point.live_peak)
            assert least <= point.extra_cost
            count, equal = count + 1, equal + (least == point.extra_cost)
    assert equal > 0.9 * count


@pytest.mark.drawn
def test_recomputation_frontiers_of_random_graphs_are_valid() -> None:
    for seed in seeds(20):
        graph = random_graph(random.Random(seed), 9)
        _assert_sound(graph, recompute_answer(graph, points=4))


@pytest.mark.drawn
def test_programs_with_clones_overwrite_inputs_where_allowed() -> None:
    for seed in seeds(15):
        graph = add_pairs(random.Random(seed), random_graph(random.Random(seed), 8))
        for point in recompute_answer(graph, points=3).points:
            assert point.lower_bound <= point.live_peak <= point.peak
            assert point.live_peak <= bytes_of_runs(graph, point.order)


@pytest.mark.slow
def test_a_peak_limit_is_met_at_low_cost_and_a_cost_limit_is_kept() -> None:
    graph = read_graph(RESNET)
    within = recompute_answer(graph, within=30_000_000, time_limit_s=1)
    assert within.is_within
    assert within.points[0].peak == 40_309_764
    assert within.points[-1].peak <= 30_000_000
    assert within.points[-1].extra_cost < 0.06 * within.cost
    cheap = recompute_answer(graph, extra_cost=0.05, time_limit_s=1)
    _assert_sound(graph, cheap)
    assert cheap.points[-1].extra_cost <= 0.05 * cheap.cost
    assert cheap.points[-1].peak < 30_000_000
    assert not recompute_answer(_graph_with_late_reader(4), within=10).is_within


@pytest.mark.slow
def test_programs_within_falling_budgets_reach_peaks_that_greedy_drops_do_not() -> None:
    graph = layered_graph(random.Random(0), 120, 10)
    with Control.from_limit(60).search_control(1) as control:
        search = DropSearch(Stays(graph, range(120), costs_of(graph), control.raised), control)
        start = search.empty_drops()
        limit = start.peak * 78 // 100
        assert search.drops_within(start, limit).peak > limit
        annealing = Annealing(search, [limit], [])
        annealing.approach(limit, start)
    found = annealing.best_drops(limit)
    assert bytes_of_runs(graph, search.stays.runs_with_drops(found)) == found.peak <= limit


def test_an_input_stays_after_its_last_use_for_operations_that_run_again() -> None:
    # In this grid, a repeated run would repeat all earlier runs unless inputs are kept.
    draw, width = random.Random(4), 6
    size, cost = ([draw.randint(1, 99) for _ in range(width * width)] for _ in range(2))
    inputs = [[k - 1] * (k % width > 0) + [k - width] * (k >= width) for k in range(width * width)]
    graph = OperationGraph(size=size, ops=[{"in": row, "out": [k], "cost": cost[k]} for k, row in enumerate(inputs)])
    frontier = recompute_answer(graph, extra_cost=0.15, time_limit_s=0.5)
    _assert_sound(graph, frontier)
    assert frontier.points[-1].live_peak < frontier.points[0].live_peak


def test_operations_marked_as_once_are_never_recomputed() -> None:
    graph = _graph_with_late_reader(4)
    once = (graph.ops[0].model_copy(update={"once": True}), *graph.ops[1:])
    assert [point.clones for point in recompute_answer(graph.model_copy(update={"ops": once})).points] == [()]


def test_no_operation_runs_again_after_its_input_is_changed_in_place() -> None:
    graph = _graph_with_late_reader(4)
    rows = [row.model_dump(by_alias=True) for row in graph.ops]
    rows.insert(1, {"in": [5], "out": [5], "cost": 0})
    changes = OperationGraph.model_validate({**graph.model_dump(by_alias=True), "given": [5], "ops": rows})
    frontier = recompute_answer(changes)
    _assert_sound(changes, frontier)
    assert all(0 not in point.order[point.order.index(1) :] for point in frontier.points)


def test_huge_sizes_and_costs_do_not_overflow() -> None:
    graph = _graph_with_late_reader(3)
    scale = 2**52
    large = OperationGraph(
        size=tuple(bytes_ * scale for bytes_ in graph.size),
        kept=graph.kept,
        ops=tuple(row.model_copy(update={"cost": (row.cost or 0) * 2**59}) for row in graph.ops),
    )
    frontier = recompute_answer(large)
    _assert_sound(large, frontier)
    assert frontier.points[-1].extra_cost == 2 * 2**59


def test_check_rewriting_refuses_programs_that_compute_other_values() -> None:
    graph = _graph_with_late_reader(4)
    form = clone_graph(graph, recompute_answer(graph).points[-1].order)
    every = range(len(form.runs))
    check_rewriting(graph, form.graph, form.runs, form.tensors, every)
    with pytest.raises(OperationsError, match="must use exactly the tensors that operation"):
        check_rewriting(graph, form.graph, (1, *form.runs[1:]), form.tensors, every)
    everywhere_zero = ([0] * len(form.graph.size), [0] * len(form.graph.ops))
    with pytest.raises(OperationsError, match="must hold"):
        check_rewriting(graph, form.graph, form.runs, form.tensors, every, everywhere_zero)
    with pytest.raises(OperationsError, match="order"):
        check_rewriting(graph, form.graph, form.runs, form.tensors, [0] * len(form.runs))
    late = form.graph.model_copy(update={"kept": (0,)})
    with pytest.raises(OperationsError, match="kept"):
        check_rewriting(graph, late, form.runs, form.tensors, every)


@pytest.mark.parametrize("recompute", [False, True])
def test_the_answer_for_a_large_graph_is_its_given_order_if_no_time_is_left(recompute: bool) -> None:
    chain = [{"in": [k], "out": [k + 1]} for k in range(2_001)]
    graph = OperationGraph(size=[k % 7 + 1 for k in range(2_002)], ops=chain)
    noted: list[OrderAnswer] = []
    found = order(graph, OrderOptions(recompute=recompute, time_limit_s=1e-6), Control(note=noted.append))
    assert noted == [found]
    assert (found.order, found.peak, found.placed_peak) == (tuple(range(2_001)), 13, None)
    assert (found.recomputed is not None) == recompute


def test_clone_graph_and_relax_clones_return_a_graph_without_clones_unchanged() -> None:
    graph = random_graph(random.Random(3), 12)
    program = clone_graph(graph, range(12))
    assert program.graph == graph
    assert all(row is graph.ops[k] for k, row in enumerate(program.graph.ops) if not row.after)
    assert relax_clones(graph, ()) is graph


def test_explain_notes_only_explain_answers_while_it_searches_for_repairs() -> None:
    noted: list[object] = []
    options = ExplainOptions(repairs=1, deterministic=True)
    found = explain(graph=_graph_with_late_reader(4), capacity=150, options=options, control=Control(note=noted.append))
    assert [each.kind for each in found.repairs.of_operations.repairs] == ["recompute"]
    assert {type(each) for each in noted} == {ExplainAnswer}


@pytest.mark.parametrize(("count", "within"), [(4, None), (4, 170), (401, 170)])
def test_order_recompute_returns_the_order_if_no_program_could_be_planned_in_time(
    monkeypatch: pytest.MonkeyPatch, count: int, within: int | None
) -> None:
    def no_time(*_: object, **__: object) -> None:
        raise TimeOverError("time_limit_s: must be enough")

    monkeypatch.setattr(points, "_plan_program", no_time)
    found = order(_graph_with_late_reader(count), OrderOptions(recompute=True, within=within, time_limit_s=1))
    assert (found.recomputed.points, found.peak) == ((), found.given_peak)
