"""Repairs of graphs of operations: the smallest change of the order that fits, with a verified plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from memplan.capabilities.explain.repairs.orders import repairs_of_graph
from memplan.planner.audit import verify
from memplan.planner.errors import OptionError
from memplan.planner.operations.graph import OperationGraph, graph_from, read_graph
from memplan.planner.operations.order_check import peak_of

RANDWIRE = Path(__file__).parents[4] / "examples" / "graphs" / "cells_randwire32x1_s1.json"
SWAPPED = {
    "size": [1, 10, 2, 10, 2, 1],
    "kept": [5],
    "ops": [
        {"in": [0], "out": [1]},
        {"in": [0], "out": [3]},
        {"in": [1], "out": [2]},
        {"in": [3], "out": [4]},
        {"in": [2, 4], "out": [5]},
    ],
}


@pytest.fixture
def graph() -> OperationGraph:
    return graph_from(SWAPPED)


def test_two_neighbours_that_change_places_are_the_smallest_repair(graph: OperationGraph) -> None:
    found = repairs_of_graph(graph, 14, wanted=1)
    repair = found.repairs[0]
    assert (repair.kind, repair.operations, repair.moves) == ("swap", (1, 2), 2)
    assert repair.order is not None
    assert repair.problem is not None
    assert repair.plan is not None
    assert repair.live_peak == peak_of(graph, repair.order) <= 14
    assert verify(repair.problem, repair.plan) == ()
    assert repair.peak_after <= 14


def test_an_order_that_fits_needs_no_repair(graph: OperationGraph) -> None:
    assert [repair.kind for repair in repairs_of_graph(graph, 100).repairs] == ["none"]


def test_that_no_order_fits_is_proved(graph: OperationGraph) -> None:
    found = repairs_of_graph(graph, 9, time_limit_s=20)
    assert (found.repairs, found.proved) == ((), True)
    assert found.least_live_peak > 9


@pytest.mark.slow
def test_a_cell_is_repaired_by_another_order() -> None:
    graph = read_graph(RANDWIRE.read_bytes())
    found = repairs_of_graph(graph, 3_800_000, time_limit_s=20, wanted=1)
    assert found.repairs[0].kind in ("swap", "reorder")
    problem, plan = found.repairs[0].problem, found.repairs[0].plan
    assert problem is not None
    assert plan is not None
    assert verify(problem, plan) == ()


def test_wrong_options_are_refused(graph: OperationGraph) -> None:
    with pytest.raises(OptionError, match="capacity: must be at least 0, got -1"):
        repairs_of_graph(graph, -1)
    with pytest.raises(OptionError, match="wanted: must be at least 1, got 0"):
        repairs_of_graph(graph, 1, wanted=0)
    with pytest.raises(OptionError, match="time_limit_s: must be above 0 and finite, got 0"):
        repairs_of_graph(graph, 1, time_limit_s=0)
