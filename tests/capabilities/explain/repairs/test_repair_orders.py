"""Repairs of graphs of operations: the smallest change of the order that fits, with a verified plan."""

from __future__ import annotations

from pathlib import Path

import pytest

from memplan.capabilities.explain.repairs.orders import repairs_of_graph
from memplan.capabilities.explain.values import ExplainOptions, OrderRepairs
from memplan.planner.audit import verify
from memplan.planner.operations.graph import OperationGraph, graph_from, read_graph
from memplan.planner.operations.order_check import peak_of
from memplan.solvers.search.control import Control

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


def repairs(graph: OperationGraph, capacity: int, wanted: int = 3) -> OrderRepairs:
    options = ExplainOptions(repairs=wanted, with_plans=True)
    return repairs_of_graph(graph, capacity, options, Control.of(20))


@pytest.fixture
def graph() -> OperationGraph:
    return graph_from(SWAPPED)


def test_another_order_is_the_smallest_repair(graph: OperationGraph) -> None:
    found = repairs(graph, 14, 1)
    repair = found.repairs[0]
    assert (repair.kind, repair.operations, repair.moves) == ("reorder", (1, 2), 2)
    assert repair.order is not None
    assert repair.problem is not None
    assert repair.plan is not None
    assert repair.live_peak == peak_of(graph, repair.order) <= 14
    assert verify(repair.problem, repair.plan) == ()
    assert repair.peak_after <= 14


def test_an_order_that_fits_needs_no_repair(graph: OperationGraph) -> None:
    assert [repair.kind for repair in repairs(graph, 100).repairs] == ["none"]


def test_that_no_order_fits_is_proved(graph: OperationGraph) -> None:
    found = repairs(graph, 9)
    assert (found.repairs, found.proved) == ((), True)
    assert found.least_live_peak > 9


@pytest.mark.slow
def test_a_cell_is_repaired_by_another_order() -> None:
    graph = read_graph(RANDWIRE.read_bytes())
    found = repairs(graph, 3_800_000, 1)
    assert found.repairs[0].kind == "reorder"
    problem, plan = found.repairs[0].problem, found.repairs[0].plan
    assert problem is not None
    assert plan is not None
    assert verify(problem, plan) == ()
