from __future__ import annotations

import random
from typing import Final

import numpy as np
import pytest

from memplan.capabilities.order.core.kernels import BY_HILL, BY_VALLEY
from memplan.capabilities.order.search.cuts import Cuts
from memplan.capabilities.order.search.macros import macro_graph, single_macros
from memplan.capabilities.order.search.parts import part_of, parts_of
from memplan.capabilities.order.search.solve import order_operations
from memplan.capabilities.order.search.twins import with_twins
from memplan.capabilities.order.search.windows import OrderOutcome, Way, descend
from memplan.planner.operations.graph import OperationGraph
from memplan.planner.operations.order_check import peak_of
from tests.support.depth import seeds
from tests.support.operation_graphs import (
    least_peak,
    least_peak_of_tree,
    random_graph,
    random_tree,
    twin_graph,
    with_pairs,
)

WAYS: Final = [
    Way(is_forward, rule, depth)
    for is_forward in (True, False)
    for rule, depth in ((BY_VALLEY, 0), (BY_HILL, 1), (BY_VALLEY, 6))
]
FLAG: Final = np.zeros(1, dtype=np.int64)


def graph_number(seed: int, largest: int = 8) -> OperationGraph:
    rng = random.Random(seed)
    graph = random_graph(rng, rng.randint(1, largest)) if seed % 3 else twin_graph(rng)
    return with_pairs(rng, graph) if seed % 5 else graph


@pytest.mark.drawn
def test_the_least_peak_is_that_of_all_orders() -> None:
    for seed in seeds(400):
        graph = graph_number(seed, 9)
        best = least_peak(graph)
        result = order_operations(graph, deterministic=True)
        assert (result.peak, result.lower_bound, result.status) == (best, best, "optimal"), seed
        assert peak_of(graph, result.order) == best, seed


@pytest.mark.drawn
@pytest.mark.parametrize("is_merged", [True, False])
def test_every_search_finds_the_optimum_and_refuses_a_budget_below_it(is_merged: bool) -> None:
    for seed in seeds(400):
        graph = graph_number(seed)
        best = least_peak(graph)
        macros = macro_graph(graph) if is_merged else single_macros(graph)
        part = part_of(macros, list(range(len(macros.macros))), lambda _: False, macros.start)
        alike = with_twins(part)
        for way in WAYS:
            found = descend(alike, way, best, 10_000, FLAG)
            assert found.order is not None, (seed, way)
            assert part.peak(found.order) == best, (seed, way)
            assert_refused(descend(alike, way, best - 1, 10_000, FLAG), best, (seed, way))


def assert_refused(outcome: OrderOutcome, best: int, about: object) -> None:
    assert outcome.order is None, about
    assert outcome.above is not None, about
    assert outcome.above <= best, about


@pytest.mark.drawn
def test_no_cut_is_above_the_least_peak() -> None:
    for seed in seeds(80):
        graph = graph_number(seed)
        best = least_peak(graph)
        macros = macro_graph(graph)
        for part in parts_of(macros):
            cuts = Cuts(macros, part, FLAG)
            for macro, step, _ in part.peaks(range(len(part.members))):
                cut = cuts.cut(macro, step)
                assert cut is not None
                assert cut.bound <= best, seed


@pytest.mark.parametrize("n", [10, 50, 200, 1000])
def test_trees_are_solved_as_liu_does(n: int) -> None:
    for seed in range(3):
        tree = random_tree(random.Random(seed), n)
        result = order_operations(tree, time_limit_s=30, deterministic=True)
        assert (result.peak, result.status) == (least_peak_of_tree(tree), "optimal"), seed
