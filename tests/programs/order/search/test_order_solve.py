"""Tests of `order_operations`: recorded peaks, bounds with witnesses, time limits, and refused results."""

import json
import random
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

from memplan.planner.errors import InvalidPlanError, OptionError
from memplan.programs.operations.graph import OperationGraph, graph_from, read_graph
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.answer import CutWitness, NeedWitness, StateWitness, Witness
from memplan.programs.order.core.kernels import BY_HILL, BY_VALLEY
from memplan.programs.order.search.cuts import Cuts
from memplan.programs.order.search.macros import macro_graph, single_macros
from memplan.programs.order.search.parts import part_of, parts_of
from memplan.programs.order.search.solve import check_bound, order_operations
from memplan.programs.order.search.starts import breadth_first, depth_first
from memplan.programs.order.search.twins import _MacroFacts, encode_twins
from memplan.programs.order.search.windows import OrderOutcome, Way, search_depth_first
from tests.support import operation_graphs
from tests.support.depth import GRACE_S, seeds

FOLDER = Path(__file__).parents[4] / "examples" / "graphs"
RECORDED: list[dict[str, Any]] = json.loads((FOLDER / "index.json").read_text())


@pytest.mark.parametrize("row", RECORDED, ids=lambda row: row["file"])
def test_order_operations_proves_the_recorded_peak_of_each_example(row: dict[str, Any]) -> None:
    graph = read_graph((FOLDER / row["file"]).read_bytes())
    result = order_operations(graph, time_limit_s=30, deterministic=True)
    assert (len(graph.ops), result.given_peak, result.peak) == (row["operations"], row["given_peak"], row["best_peak"])
    assert (result.lower_bound, result.status, result.gap) == (result.peak, "optimal", 0.0)
    assert peak_of(graph, result.order) == result.peak
    assert result.moves == 0 or row["best_peak"] < row["given_peak"]


def test_a_large_graph_gets_the_bound_of_its_largest_operation_if_no_time_is_left() -> None:
    ops = [{"out": [0]}, *({"in": [k], "out": [k + 1], "work": 5 * (k == 7)} for k in range(2500))]
    found = order_operations(OperationGraph(size=[2] * 2501, ops=ops), time_limit_s=0)
    assert (found.lower_bound, found.peak, found.witness) == (9, 9, NeedWitness(8))


def test_the_result_is_never_worse_than_the_starting_orders() -> None:
    for seed in range(2):
        graph = operation_graphs.layered_graph(random.Random(seed), 300, 12)
        result = order_operations(graph, time_limit_s=0.3)
        starts = [[*range(len(graph.ops))], breadth_first(graph), depth_first(graph)]
        assert result.peak <= min(peak_of(graph, start) for start in starts)
        assert result.lower_bound <= result.peak == peak_of(graph, result.order)


def test_order_operations_ends_at_its_time_limit_and_when_cancelled() -> None:
    graph = operation_graphs.layered_graph(random.Random(1), 1500, 40)
    order_operations(graph_from({}))
    started = time.monotonic()
    order_operations(graph, time_limit_s=0.3)
    assert time.monotonic() - started < 3 + GRACE_S
    cancelled = threading.Event()
    threading.Timer(0.2, cancelled.set).start()
    started = time.monotonic()
    order_operations(graph, time_limit_s=600, cancelled=cancelled)
    assert time.monotonic() - started < 10 + GRACE_S


@pytest.mark.parametrize("limit", [-1.0, float("nan"), float("inf")])
def test_order_operations_refuses_a_negative_or_infinite_time_limit(limit: float) -> None:
    with pytest.raises(OptionError, match="time_limit_s: must be at least 0 and finite"):
        order_operations(graph_from({}), time_limit_s=limit)


@pytest.mark.parametrize(
    ("graph", "peak"),
    [
        ({}, 0),
        ({"size": [5]}, 0),
        ({"size": [5], "kept": [0]}, 5),
        ({"ops": [{}, {"work": 7}]}, 7),
        ({"size": [0, 0], "ops": [{"out": [0]}, {"in": [0], "out": [1]}]}, 0),
    ],
)
def test_trivial_graphs_have_an_optimal_order(graph: dict[str, Any], peak: int) -> None:
    result = order_operations(graph_from(graph), deterministic=True)
    assert (result.peak, result.lower_bound, result.status) == (peak, peak, "optimal")


@pytest.mark.parametrize(
    ("bound", "witness"),
    [(5, StateWitness((0,))), (3, CutWitness(0, ())), (4, StateWitness(())), (4, StateWitness((0,)))],
)
def test_check_bound_refuses_a_bound_that_its_witness_does_not_prove(bound: int, witness: Witness) -> None:
    graph = graph_from({"size": [4], "ops": [{"out": [0]}]})
    check_bound(graph, 4, 4, CutWitness(0, ()))
    with pytest.raises(InvalidPlanError, match="lower_bound: must"):
        check_bound(graph, 4, bound, witness)


def test_a_deterministic_search_repeats_its_result() -> None:
    graph = operation_graphs.layered_graph(random.Random(3), 150, 10)
    first, second = (order_operations(graph, time_limit_s=0.5, deterministic=True) for _ in range(2))
    assert first == second
    assert first.wall_time_s is None


def test_the_example_of_liberis_and_lane_has_the_published_peak_of_4960_bytes() -> None:
    # arXiv 1910.05110: 5216 bytes in the given order, 4960 in the order 1, 4, 6, 2, 3, 5, 7.
    rows = [([0], 1), ([1], 2), ([2], 3), ([1], 4), ([3], 5), ([4], 6), ([5, 6], 7)]
    ops = [{"in": inputs, "out": [output]} for inputs, output in rows]
    graph = graph_from({"size": [1568, 3136, 1568, 512, 512, 256, 256, 512], "kept": [7], "ops": ops})
    result = order_operations(graph, deterministic=True)
    assert (result.given_peak, result.peak, result.status) == (5216, 4960, "optimal")
    assert result.order == (0, 3, 5, 1, 2, 4, 6)


RULES: Final = ((BY_VALLEY, 0), (BY_HILL, 1), (BY_VALLEY, 6))
WAYS: Final = [Way(is_forward, rule, depth) for is_forward in (True, False) for rule, depth in RULES]
FLAG: Final = np.zeros(1, dtype=np.int64)


def graph_number(seed: int, largest: int = 8) -> OperationGraph:
    rng = random.Random(seed)
    graph = (
        operation_graphs.random_graph(rng, rng.randint(1, largest)) if seed % 3 else operation_graphs.twin_graph(rng)
    )
    return operation_graphs.add_pairs(rng, graph) if seed % 5 else graph


@pytest.mark.drawn
def test_order_operations_finds_the_least_peak_of_all_orders() -> None:
    kinds = set()
    for seed in seeds(400):
        graph = graph_number(seed, 9)
        best = operation_graphs.min_peak(graph)
        result = order_operations(graph, deterministic=True)
        assert (result.peak, result.lower_bound, result.status) == (best, best, "optimal"), seed
        assert peak_of(graph, result.order) == best, seed
        check_bound(graph, best, best, result.witness)
        kinds.add(result.witness.kind)
    assert kinds == {"state", "cut", "exhaustion"}


@pytest.mark.drawn
@pytest.mark.parametrize("is_merged", [True, False])
def test_each_kind_of_search_finds_the_optimum_and_refuses_a_lower_budget(is_merged: bool) -> None:
    for seed in seeds(400):
        graph = graph_number(seed)
        best = operation_graphs.min_peak(graph)
        macros = macro_graph(graph) if is_merged else single_macros(graph)
        part = part_of(macros, list(range(len(macros.macros))), lambda _: False, macros.start)
        alike = encode_twins(part)
        for way in WAYS:
            found = search_depth_first(alike, way, best, 10_000, FLAG)
            assert found.order is not None, (seed, way)
            assert part.peak(found.order) == best, (seed, way)
            assert_refused(search_depth_first(alike, way, best - 1, 10_000, FLAG), best, (seed, way))


class _CountingControl(list[int]):
    looks = 0

    def __iter__(self) -> Iterator[int]:
        self.looks += 1
        return super().__iter__()


def test_finding_sibling_operations_iterates_over_merged_operations_only_twice() -> None:
    macros = single_macros(operation_graphs.layered_graph(random.Random(1), 300, 8))
    part = part_of(macros, list(range(len(macros.macros))), lambda _: False, macros.start)
    members = _CountingControl(range(len(part.members)))
    assert (list(_MacroFacts(part).siblings(members)), members.looks) == ([], 2)


def assert_refused(outcome: OrderOutcome, best: int, about: object) -> None:
    assert outcome.order is None, about
    assert outcome.above is not None, about
    assert outcome.above <= best, about


@pytest.mark.drawn
def test_no_cut_bound_exceeds_the_minimum_peak() -> None:
    for seed in seeds(80):
        graph = graph_number(seed)
        best = operation_graphs.min_peak(graph)
        macros = macro_graph(graph)
        for part in parts_of(macros):
            cuts = Cuts(macros, part, FLAG)
            for macro, step, _ in part.peaks(range(len(part.members))):
                assert cuts.cut(macro, step).bound <= best, seed


@pytest.mark.parametrize("n", [10, 50, 200, 1000])
def test_peaks_of_trees_equal_those_of_lius_algorithm(n: int) -> None:
    for seed in range(3):
        tree = operation_graphs.random_tree(random.Random(seed), n)
        result = order_operations(tree, time_limit_s=30, deterministic=True)
        assert (result.peak, result.status) == (operation_graphs.min_peak_of_tree(tree), "optimal"), seed
