"""Tests of `order_and_place`: plans of orders, nearby orders, goals, and limits."""

import random
import threading
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

from memplan.planner.errors import OperationsError, count_text
from memplan.planner.verify.verifier import verify
from memplan.programs.lifetimes.ordered import problem_of_order
from memplan.programs.operations.graph import OperationGraph, graph_from
from memplan.programs.operations.order_check import live_bytes_by_operation, move_count, peak_of
from memplan.programs.order.answer import OrderAnswer
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.order import QUESTION, order
from memplan.programs.order.placement import order_and_place
from memplan.programs.order.search.nearness import nearby_orders
from memplan.programs.order.search.solve import order_operations
from memplan.solvers.search.control import Control
from tests.support.depth import seeds
from tests.support.operation_graphs import ORDERED_INSIDE, add_pairs, layered_graph, random_graph, twin_graph

FLAG = np.zeros(1, dtype=np.int64)
DETERMINISTIC = Control(counted_s=10.0)


def legal_orders(graph: OperationGraph) -> list[tuple[int, ...]]:
    found = []
    for way in permutations(range(len(graph.ops))):
        place = {v: k for k, v in enumerate(way)}
        if all(place[u] < place[v] for v in way for u in graph.predecessors[v]):
            found.append(way)
    return found


@pytest.mark.drawn
def test_problem_of_order_has_at_each_step_the_live_bytes_of_its_operation() -> None:
    for seed in seeds(50):
        rng = random.Random(seed)
        graph = random_graph(rng, rng.randint(1, 8))
        graph = add_pairs(rng, graph) if seed % 2 else graph
        order = order_operations(graph, deterministic=True).order
        alive = [0] * len(order)
        lives: dict[Any, tuple[int, set[int]]] = {}
        for row in problem_of_order(graph, order).buffers:
            size, times = lives.setdefault(row.alias_of or row.id, (row.size, set()))
            assert size == row.size
            times.update(k for start, end in row.intervals for k in range(start, end))
        for size, times in lives.values():
            for k in times:
                alive[k] += size
        assert alive == live_bytes_by_operation(graph, order), seed


@pytest.mark.drawn
def test_order_and_place_returns_a_valid_plan_of_the_least_live_peak() -> None:
    for seed in seeds(20):
        rng = random.Random(seed)
        graph = add_pairs(rng, random_graph(rng, rng.randint(1, 8))) if seed % 2 else twin_graph(rng)
        placed = order_and_place(graph, DETERMINISTIC.limit_to(1))
        best = order_operations(graph, deterministic=True)
        assert verify(placed.placed.problem, placed.placed.plan) == ()
        assert placed.placed.problem == problem_of_order(graph, placed.order)
        assert peak_of(graph, placed.order) == placed.peak == best.peak, seed
        assert (placed.placed_peak or 0) >= best.lower_bound
        assert placed.placed_status == ("optimal" if placed.placed_peak == best.lower_bound else "feasible")
        assert move_count(placed.order) <= move_count(best.order), seed


def test_operations_outside_the_longest_ascending_subsequence_count_as_moved() -> None:
    assert [move_count(order) for order in ((), (0, 1, 2), (2, 0, 1), (2, 1, 0), (1, 0, 3, 2))] == [0, 0, 1, 2, 2]


@pytest.mark.drawn
def test_nearby_orders_keep_the_budget_and_mostly_have_the_fewest_moves() -> None:
    more = 0
    graphs = [random_graph(random.Random(seed), 6) for seed in seeds(40)]
    for graph in graphs:
        best = order_operations(graph, deterministic=True)
        near = nearby_orders(graph, best.order, best.peak, FLAG)
        assert all(peak_of(graph, order) <= best.peak for order in near)
        assert all(move_count(order) < move_count(best.order) for order in near)
        fewest = min(move_count(order) for order in legal_orders(graph) if peak_of(graph, order) <= best.peak)
        more += min([move_count(best.order), *map(move_count, near)]) - fewest
    assert more <= len(graphs) // 40


def test_the_goal_placed_accepts_more_live_bytes_for_a_lower_planned_peak() -> None:
    graph = layered_graph(random.Random(4), 40, 8)
    alive, placed = (order_and_place(graph, DETERMINISTIC.limit_to(3), goal=g) for g in ("alive", "placed"))
    assert alive.peak <= placed.peak
    assert (placed.placed_peak or 0) <= (alive.placed_peak or 0)


def test_order_and_place_respects_time_limits_and_alignments() -> None:
    placed = order_and_place(random_graph(random.Random(5), 8), DETERMINISTIC.limit_to(1), alignment=64).placed
    assert all(row.offset % 64 == 0 for row in placed.plan.placements)
    graph = layered_graph(random.Random(0), 60, 6)
    assert order_and_place(graph, Control.from_limit(0)).peak > 0
    cancelled = threading.Event()
    cancelled.set()
    assert order_and_place(graph, Control(cancelled=cancelled)).peak > 0
    with pytest.raises(OperationsError, match="alignment: must be at least 1, got 0"):
        order_and_place(graph, DETERMINISTIC, alignment=0)


def test_a_chain_of_overwriting_tensors_becomes_aliases_and_rest_buffers() -> None:
    ops = [{"in": [k], "out": [k + 1], "may_overwrite": [[0, 0]]} for k in range(3)]
    graph = graph_from({"size": [9, 9, 5, 5, 3], "kept": [4], "ops": [*ops, {"out": [4], "work": 1}]})
    placed = order_and_place(graph, DETERMINISTIC)
    assert (placed.placed_peak, placed.placed_status) == (9, "optimal")
    rows = {row.id: (row.size, row.intervals, row.alias_of) for row in placed.placed.problem.buffers}
    assert (rows["rest_1"][0], rows["tensor_3"]) == (4, (5, ((2, 3),), "tensor_0"))


GRAPH = graph_from(ORDERED_INSIDE)
COUNTED = OrderOptions(deterministic=True)


def read_again(found: OrderAnswer) -> OrderAnswer:
    return TypeAdapter(OrderAnswer).validate_json(QUESTION.write(found))


def refutation_of(found: OrderAnswer, options: OrderOptions = COUNTED, graph: OperationGraph = GRAPH) -> str | None:
    return QUESTION.refutes({"graph": graph, "options": options}, found)


def test_an_order_answer_prints_the_same_after_writing_and_reading() -> None:
    found = order(GRAPH, COUNTED)
    assert (found.peak, found.placed_peak, found.given_peak) == (107, 107, 206)
    assert list(QUESTION.lines(read_again(found))) == list(QUESTION.lines(found))
    moved = [[*QUESTION.lines(found.model_copy(update={"moves": n}))][-1].split(None, 2)[2] for n in (1, 2)]
    assert moved == ["operation is moved", "operations are moved"]
    assert (count_text(1, "buffer"), count_text(2000, "buffer")) == ("1 buffer", "2,000 buffers")
    again = order(GRAPH, OrderOptions(deterministic=True, time_limit_s=1, recompute=True))
    assert list(QUESTION.lines(read_again(again))) == list(QUESTION.lines(again))
    assert refutation_of(read_again(again)) is None


def test_refutation_checks_the_orders_of_regions() -> None:
    found = read_again(order(GRAPH, COUNTED))
    assert refutation_of(found) is None
    assert refutation_of(found.model_copy(update={"regions": ()})) == "has a peak of 206, and not of 107"


def test_refutation_uses_the_options_of_the_search() -> None:
    graph = graph_from({"size": [8, 4, 2], "resident": [0], "ops": [{"in": [0], "out": [1]}, {"in": [1], "out": [2]}]})
    counted = OrderOptions(deterministic=True, count_resident=True)
    found = read_again(order(graph, counted))
    assert found.peak == 14
    assert refutation_of(found, counted, graph) is None
    assert refutation_of(found, COUNTED, graph) == "has a peak of 6, and not of 14"


@pytest.mark.parametrize("recompute", [False, True])
def test_order_records_interim_answers_before_it_has_a_plan(recompute: bool) -> None:
    ops = [{"out": [0]}, {"out": [1]}, *({"in": [k], "out": [k + 2]} for k in range(1998))]
    graph, noted = graph_from({"size": [8] * 2000, "ops": ops}), list[OrderAnswer]()
    options = OrderOptions(time_limit_s=0.2, recompute=recompute, within=8 if recompute else None)
    found = order(graph, options, Control(note=noted.append))
    assert [each.placed_peak for each in noted] == [None, None]
    assert noted[0].order == tuple(range(2000))
    assert [QUESTION.exit_status(each) for each in noted] == [recompute] * 2
    for each in (*noted, found):
        assert refutation_of(read_again(each), options, graph) is None
        assert list(QUESTION.lines(read_again(each)))
