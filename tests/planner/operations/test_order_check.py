"""The check of orders and cuts: bytes counted from the graph alone."""

from __future__ import annotations

import random

import pytest

from memplan.planner.errors import OperationsError
from memplan.planner.operations.graph import OperationGraph, graph_from
from memplan.planner.operations.order_check import bytes_after, bytes_along, bytes_beside, peak_of
from tests.support.depth import seeds
from tests.support.operation_graphs import random_graph

GRAPH = graph_from(
    {
        "size": [4, 10, 20, 3, 7],
        "kept": [3],
        "ops": [{"in": [0], "out": [1], "work": 5}, {"in": [0], "out": [2]}, {"in": [1, 2], "out": [3]}, {"out": [4]}],
    }
)


def test_bytes_are_counted_along_an_order() -> None:
    assert bytes_along(GRAPH, [0, 1, 2, 3]) == [19, 34, 33, 10]
    assert bytes_along(GRAPH, [3, 1, 0, 2]) == [11, 24, 39, 33]
    assert bytes_along(GRAPH, [0, 1]) == [19, 34]
    assert (peak_of(GRAPH, range(4)), peak_of(GRAPH, [0, 1, 2, 3]), peak_of(GRAPH, [3, 1, 0, 2])) == (34, 34, 39)


def test_a_given_tensor_counts_before_the_first_operation() -> None:
    graph = graph_from({"size": [9, 5], "kept": [0]})
    assert (peak_of(graph, []), bytes_after(graph, [])) == (9, 9)


@pytest.mark.parametrize(
    ("order", "sentence"),
    [
        ([0, 1, 2], "order: must name each of the 4 operations once, got 3"),
        ([0, 1, 1, 3], "order[2]: must be an operation that has not run yet, got 1"),
        ([0, 1, 2, 4], "order[3]: must be an operation that has not run yet, got 4"),
        ([0, 2, 1, 3], "order[1]: must come after operation 1, got 2"),
    ],
)
def test_what_is_no_order_is_refused(order: list[int], sentence: str) -> None:
    with pytest.raises(OperationsError) as error:
        peak_of(GRAPH, order)
    assert error.value.sentences == (sentence,)


def test_a_state_that_no_order_has_is_refused() -> None:
    with pytest.raises(OperationsError, match="done: must hold operation 0, which comes before 2"):
        bytes_after(GRAPH, {1, 2})
    with pytest.raises(OperationsError, match="done: must hold operation 1, which comes before 2"):
        bytes_beside(GRAPH, {0}, 2)
    with pytest.raises(OperationsError, match="done: must not hold operation 0, which runs after it"):
        bytes_beside(GRAPH, {0}, 0)


@pytest.mark.drawn
def test_bytes_of_states_and_of_orders_agree() -> None:
    for seed in seeds(50):
        rng = random.Random(seed)
        graph = random_graph(rng, rng.randint(1, 12))
        order = random_order(rng, graph)
        along = bytes_along(graph, order)
        assert along == [bytes_beside(graph, order[:k], v) for k, v in enumerate(order)]
        assert peak_of(graph, order) >= max(bytes_after(graph, order[:k]) for k in range(len(order) + 1))


def random_order(rng: random.Random, graph: OperationGraph) -> list[int]:
    order: list[int] = []
    while len(order) < len(graph.ops):
        ready = [v for v in range(len(graph.ops)) if v not in order and {*graph.predecessors[v]} <= {*order}]
        order.append(rng.choice(ready))
    return order
