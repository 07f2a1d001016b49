"""Orders of regions inside operations, and certificates of lower bounds."""

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from lab.order_agreement import faults, is_accepted
from memplan import read_graph
from memplan.api.cli.main import main
from memplan.extensions.cascade.order_repairs import repairs_of_graph
from memplan.planner.verify.verifier import verify
from memplan.programs.lifetimes.ordered import problem_of_order
from memplan.programs.operations.graph import GraphOperation, OperationGraph, Region, graph_from, write_graph
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.answer import RegionOrder
from memplan.programs.order.certificate import certify_order
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.order import order
from memplan.programs.order.placement import order_and_place
from memplan.programs.order.search.regions import permute
from memplan.programs.order.search.solve import order_operations
from memplan.questions.explain.values import ExplainOptions
from memplan.solvers.search.control import Control
from tests.support.operation_graphs import ORDERED_INSIDE, min_peak, random_graph

CALL = graph_from(ORDERED_INSIDE)
REPAIRS = ExplainOptions(repairs=3, with_plans=True)


def add_regions(rng: random.Random, graph: OperationGraph, depth: int) -> OperationGraph:
    """Return a graph in which some operations have one or two random graphs as regions, nested `depth` levels deep."""
    rows: list[GraphOperation] = []
    for row in graph.ops:
        inner = [random_graph(rng, rng.randint(2, 4)) for _ in range(rng.choice([0, 1, 1, 2]))]
        inner = [add_regions(rng, each, depth - 1) for each in inner] if depth else inner
        work = max((peak_of(each, range(len(each.ops))) for each in inner), default=0)
        regions = tuple(Region(kind="branch", graph=each) for each in inner)
        rows.append(row.model_copy(update={"regions": regions, "work": work + row.work}))
    return graph_from(graph.model_dump(by_alias=True) | {"ops": [row.model_dump(by_alias=True) for row in rows]})


def min_peak_with_regions(graph: OperationGraph) -> int:
    rows = []
    for row in graph.ops:
        given = max((peak_of(each.graph, range(len(each.graph.ops))) for each in row.regions), default=0)
        least = max((min_peak_with_regions(each.graph) for each in row.regions), default=0)
        rows.append(row.model_copy(update={"regions": (), "work": row.work - given + least}))
    return min_peak(graph.model_copy(update={"ops": tuple(rows)}))


def apply_orders(graph: OperationGraph, orders: tuple[RegionOrder, ...], path: tuple[int, ...] = ()) -> OperationGraph:
    """Return a graph whose regions have the given orders, with the work of operations recomputed."""
    found = {each.path: each.order for each in orders}
    rows = []
    for v, row in enumerate(graph.ops):
        given = max((peak_of(each.graph, range(len(each.graph.ops))) for each in row.regions), default=0)
        regions = []
        for k, each in enumerate(row.regions):
            inside = apply_orders(each.graph, orders, (*path, v, k))
            order = found.get((*path, v, k), range(len(inside.ops)))
            regions.append(each.model_copy(update={"graph": permute(inside, order)}))
        now = max((peak_of(each.graph, range(len(each.graph.ops))) for each in regions), default=0)
        rows.append(row.model_copy(update={"regions": tuple(regions), "work": row.work - given + now}))
    return graph.model_copy(update={"ops": tuple(rows)})


def test_order_finds_the_best_orders_of_regions() -> None:
    for found in (order_operations(CALL, deterministic=True), order_and_place(CALL, Control(counted_s=10.0))):
        assert (found.given_peak, found.peak, found.lower_bound, found.status) == (206, 107, 107, "optimal")
        assert [region.path for region in found.regions] == [(0, 0)]
        assert peak_of(found.ordered or CALL, found.order) == 107
    again = order(CALL, OrderOptions(recompute=True, deterministic=True, time_limit_s=1))
    first = again.recomputed.points[0]
    assert (again.given_peak, first.peak, first.status, len(again.regions)) == (206, 107, "optimal", 1)


def test_repairs_include_the_orders_of_regions() -> None:
    asked = problem_of_order(CALL, range(len(CALL.ops)))
    found = repairs_of_graph(CALL, asked.with_capacity(150), REPAIRS, Control.from_limit(2, deterministic=True))
    assert [(each.kind, each.live_peak, len(each.regions)) for each in found.repairs] == [("reorder", 107, 1)]
    nothing = repairs_of_graph(CALL, asked.with_capacity(106), REPAIRS, Control.from_limit(2, deterministic=True))
    assert (nothing.repairs, nothing.least_live_peak, nothing.proved) == ((), 107, True)


def test_no_certificate_is_written_if_the_bound_depends_on_orders_inside_regions() -> None:
    found = certify_order(CALL, order_operations(CALL, deterministic=True))
    assert (found.text, found.reason) == (None, "the bound is by ops[0], whose regions have orders of their own")


@pytest.mark.parametrize("limit_s", [0.0, 1e-6, 5.0])
def test_bounds_and_peaks_are_valid_over_all_orders_of_regions(limit_s: float) -> None:
    for seed in range(20):
        rng = random.Random(seed)
        graph = add_regions(rng, random_graph(rng, rng.randint(1, 4)), 1)
        least = min_peak_with_regions(graph)
        found = order_operations(graph, deterministic=True, time_limit_s=limit_s)
        assert found.lower_bound <= least <= found.peak, seed
        assert limit_s < 1 or found.peak == found.lower_bound, seed
        assert peak_of(apply_orders(graph, found.regions), found.order) == found.peak, seed


def test_the_planned_order_includes_the_orders_of_regions() -> None:
    for seed in range(12):
        rng = random.Random(seed)
        graph = add_regions(rng, random_graph(rng, 4), 1)
        placed = order_and_place(graph, Control(counted_s=1.0))
        assert placed.ordered is not None
        assert verify(placed.placed.problem, placed.placed.plan) == ()
        assert placed.placed.problem == problem_of_order(placed.ordered, placed.order)
        assert placed.peak == min_peak_with_regions(graph), seed
        assert placed.placed_status == ("optimal" if placed.placed_peak == placed.lower_bound else "feasible")


ROOT = Path(__file__).parents[4]
GRAPHS = ROOT / "examples" / "graphs"


def test_checker_accepts_the_certificate_that_the_order_command_writes(tmp_path: Path) -> None:
    graph, proof, told = GRAPHS / "synth_intree100_s0.json", tmp_path / "order.proof", tmp_path / "order.json"
    assert main(["order", str(graph), "-o", str(proof), "-o", str(told), "-q"]) == 0
    facts = json.loads(told.read_text())
    assert (facts["status"], facts["certificate"]["text"]) == ("optimal", proof.read_text())
    command = [sys.executable, "-S", str(ROOT / "checkers" / "order.py"), str(graph), str(proof)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"proved: no order of the operations has fewer than {facts['lower_bound']} bytes")
    proof.write_text(proof.read_text().replace(f"least {facts['lower_bound']}", f"least {facts['lower_bound'] + 1}"))
    assert subprocess.run(command, capture_output=True, check=False).returncode == 3


@pytest.mark.parametrize(
    "name", ["cells_amoeba_8x36@32", "cells_darts_cell_1x48@56", "torch_resnet18_b1_sgd", "layered_layered50w5_s1"]
)
def test_certificate_of_a_complete_search_lists_all_states(name: str) -> None:
    graph = read_graph(str(GRAPHS / f"{name}.json"))
    result = order_operations(graph, deterministic=True)
    found, text = certify_order(graph, result), write_graph(graph).decode()
    assert (result.witness and result.witness.kind, found.reason) == ("exhaustion", None)
    lines = (found.text or "").splitlines()
    assert lines[1] == f"least {result.peak}"
    assert is_accepted(text, lines)
    assert not is_accepted(text, [lines[0], f"least {result.peak + 1}", *lines[2:]])
    assert not is_accepted(text, lines[:-1])
    assert not is_accepted(text, [*lines, "all 1"])


def test_a_complete_search_with_too_many_states_has_a_reason_instead_of_a_certificate() -> None:
    graph = read_graph(str(GRAPHS / "layered_layered50w5_s1.json"))
    found = certify_order(graph, order_operations(graph, deterministic=True), time_limit_s=0.01)
    assert found.text is None
    assert "complete search of" in (found.reason or "")
    assert "states in time, and more remain" in (found.reason or "")


def test_certificates_of_random_graphs_agree_with_enumeration() -> None:
    tally: Counter[str] = Counter()
    assert [line for seed in range(12) for line in faults(seed, tally)] == []
    assert min(tally["joins"], tally["runs"], tally["swaps"]) > 0


def test_checker_refuses_ambiguous_json_of_a_graph() -> None:
    lines = ["memplan-order/1", "least 1", "state"]
    assert is_accepted('{"size": [1], "kept": [0], "ops": []}', lines)
    assert not is_accepted('{"size": [0], "size": [1], "kept": [0], "ops": []}', lines)
    assert not is_accepted('{"size": [1.5], "kept": [0], "ops": []}', lines)
