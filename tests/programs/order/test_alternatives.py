"""Alternatives of operations: the least peak over all orders and alternatives, then the cheapest alternatives."""

from __future__ import annotations

import random
from itertools import product
from typing import Any

import pytest

from memplan import OperationsError, OrderOptions, order
from memplan.checkers import order as checker_without_types
from memplan.programs.operations.costs import costs_of
from memplan.programs.operations.graph import OperationGraph, graph_from, write_graph
from memplan.programs.operations.graph_variants import fix_alternatives
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.order import QUESTION
from tests.support.depth import seeds
from tests.support.operation_graphs import min_peak, random_graph

CHECKER: Any = checker_without_types
WINOGRAD = {"name": "winograd", "work": 40, "cost": 10}
ROWS: list[dict[str, Any]] = [
    {"in": [0], "out": [1], "cost": 25, "work": 5, "alternatives": [WINOGRAD, {"name": "direct", "cost": 60}]},
    {"in": [1], "out": [2], "cost": 9},
]


def draw_graph(seed: int) -> OperationGraph:
    """Return a random graph in which some operations have one or two alternatives."""
    rng = random.Random(seed)
    graph = random_graph(rng, rng.randint(2, 5))
    fields = graph.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    for row in fields["ops"]:
        row["cost"] = rng.randint(0, 9)
        if not row.get("regions"):
            ways = [{"work": rng.randint(0, 12), "cost": rng.randint(0, 9)} for _ in range(rng.randint(0, 2))]
            row["alternatives"] = ways
    return graph_from(fields)


@pytest.mark.drawn
@pytest.mark.parametrize("seed", seeds(12))
def test_order_chooses_the_cheapest_alternatives_with_the_least_peak(seed: int) -> None:
    graph = draw_graph(seed)
    found = order(graph, OrderOptions(time_limit_s=5, with_certificate=True))
    every = list(product(*(range(1 + len(row.alternatives)) for row in graph.ops)))
    assert found.status == "optimal"
    assert found.peak == min(min_peak(fix_alternatives(graph, ways)) for ways in every)
    assert found.given_peak == peak_of(graph, range(len(graph.ops)))
    ways = found.alternatives or (0,) * len(graph.ops)
    fitting = [other for other in every if peak_of(fix_alternatives(graph, other), found.order) <= found.peak]
    assert ways in fitting
    if found.placed_peak == found.peak:
        least = min(sum(costs_of(fix_alternatives(graph, other))) for other in fitting)
        assert sum(costs_of(fix_alternatives(graph, ways))) == least
    assert QUESTION.refutes({"graph": graph, "options": OrderOptions()}, found) is None
    if found.certificate is not None and found.certificate.text is not None:
        CHECKER.check(write_graph(graph).decode(), found.certificate.text.splitlines())


def test_an_alternative_with_more_work_is_chosen_only_if_it_does_not_raise_the_peak() -> None:
    roomy, tight = (graph_from({"size": [8, 4, size], "kept": [2], "ops": ROWS}) for size in (100, 8))
    found = order(roomy)
    assert (found.peak, found.alternatives) == (104, (1, 0))
    assert found.placed is not None
    assert "work_0" in found.placed.problem.index
    found = order(tight)
    assert (found.peak, found.given_peak, found.alternatives) == (12, 17, (2, 0))
    assert order(roomy, OrderOptions(recompute=True)).alternatives == (2, 0)


@pytest.mark.parametrize("ways", [(3, 0), (0,), (-1, 0)])
def test_an_answer_with_nonexistent_alternatives_is_refuted(ways: tuple[int, ...]) -> None:
    graph = graph_from({"size": [8, 4, 100], "kept": [2], "ops": ROWS})
    found = order(graph).model_copy(update={"alternatives": ways})
    assert "must have a number for each operation, from 0" in str(
        QUESTION.refutes({"graph": graph, "options": OrderOptions()}, found)
    )


def test_an_operation_with_regions_must_not_have_alternatives() -> None:
    inside = {"kind": "call", "graph": {"size": [1], "ops": []}}
    with pytest.raises(OperationsError) as caught:
        graph_from({"size": [1], "ops": [{"out": [0], "regions": [inside], "alternatives": [{"cost": 1}]}]})
    assert str(caught.value) == "ops[0].alternatives: must be empty for an operation with regions, got 1"
