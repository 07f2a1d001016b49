"""Orders in the benchmark: peers are legal and never better than a proof, what they return is checked."""

from __future__ import annotations

import random
from importlib.util import find_spec
from pathlib import Path

import pytest

from memplan import FormatError, OperationGraph, OperationsError, order_operations
from memplan.api.bench.measuring import measure
from memplan.api.bench.orders.table import ORDERERS, prepared, read_instance
from memplan.api.bench.running import jobs
from tests.support.depth import seeds
from tests.support.operation_graphs import least_peak, random_graph

GRAPHS = Path(__file__).parents[3] / "examples" / "graphs"
NEEDS_TORCH = ("inductor-lpmf", "inductor-bfs", "inductor-dfs")
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


@pytest.mark.slow
@pytest.mark.parametrize("name", ORDERERS)
def test_every_row_of_the_table_gives_legal_orders(name: str) -> None:
    if name in NEEDS_TORCH and find_spec("torch") is None:
        pytest.skip("needs torch")
    order = prepared(name)
    for seed in range(6):
        graph = random_graph(random.Random(seed), 7)
        facts = order(graph, 5.0)
        assert facts["outcome"] == "plan"
        assert facts["peak"] >= least_peak(graph)
    tree = read_instance(str(GRAPHS / "synth_grid10x10.json"))
    proved = order_operations(tree, time_limit_s=20, deterministic=True)
    assert order(tree, 0.5).get("peak", proved.peak) >= proved.lower_bound


@pytest.mark.drawn
def test_the_dynamic_program_over_states_finds_the_least_peak() -> None:
    for seed in seeds(15):
        graph = random_graph(random.Random(seed), 7)
        assert prepared("downsets")(graph, 10.0)["peak"] == least_peak(graph)


def test_orders_that_are_none_are_told_as_invalid(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = OperationGraph.model_validate({"size": [1, 1], "ops": [{"out": [0]}, {"in": [0], "out": [1]}]})
    monkeypatch.setattr("memplan.api.bench.orders.simple.given_order", lambda graph, _: (1, 0) if graph.ops else ())
    assert prepared("given-order")(graph, 1.0)["outcome"] == "invalid"


@pytest.mark.slow
def test_a_graph_is_measured_in_a_process_of_its_own() -> None:
    (job,) = jobs([str(GRAPHS / "torch_resnet18_b1_sgd.json")], ["order"], [1], 20.0, 2**33)
    result = measure(job)
    assert (result.outcome, result.status, result.peak) == ("plan", "optimal", 40309764)
    assert result.lower_bound == 40309764


def test_files_that_hold_no_graph_are_named(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    path.write_text('{"size": [1], "ops": [{"in": [1]}]}')
    with pytest.raises(FormatError, match=r"missing\.json"):
        read_instance(str(tmp_path / "missing.json"))
    with pytest.raises(OperationsError, match=r"graph\.json: ops\[0\]"):
        read_instance(str(path))
