"""Orders in the benchmark: peers are legal and never better than a proof, what they return is checked."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from memplan import OperationGraph
from memplan.api.bench.measuring import measure
from memplan.api.bench.orders import ORDERERS, judged
from memplan.api.bench.running import jobs
from tests.support.operation_graphs import least_peak, random_graph

GRAPHS = Path(__file__).parents[3] / "examples" / "graphs"


@pytest.mark.parametrize("name", ORDERERS)
def test_every_row_of_the_table_gives_legal_orders(name: str) -> None:
    for seed in range(6):
        graph = random_graph(random.Random(seed), 7)
        facts = ORDERERS[name](graph, 5.0)
        assert facts["outcome"] == "plan"
        assert facts["peak"] >= least_peak(graph)


def test_orders_that_are_none_are_told_as_invalid() -> None:
    graph = OperationGraph.model_validate({"size": [1, 1], "ops": [{"out": [0]}, {"in": [0], "out": [1]}]})
    assert judged(graph, (1, 0))["outcome"] == "invalid"


@pytest.mark.slow
def test_a_graph_is_measured_in_a_process_of_its_own() -> None:
    (job,) = jobs([str(GRAPHS / "torch_resnet18_b1_sgd.json")], ["order"], [1], 20.0, 2**33)
    result = measure(job)
    assert (result.outcome, result.status, result.peak) == ("plan", "optimal", 40309764)
    assert result.lower_bound == 40309764
