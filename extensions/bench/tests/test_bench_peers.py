"""Tests of peers in the benchmark: other planners, and orderers of graphs."""

import random
from pathlib import Path

import numpy as np
import pytest

from lab.families import draw_tight_problem, mirror_time
from memplan import OperationGraph
from memplan.extensions.bench.measuring import measure
from memplan.extensions.bench.orders import ORDERERS, judge_order
from memplan.extensions.bench.peers import PEERS, find, granule
from memplan.extensions.bench.running import jobs
from memplan.extensions.bench.worker import find_planner
from memplan.planner.errors import OptionError
from memplan.planner.model.buffer_table import column
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from tests.support import public_problems
from tests.support.operation_graphs import min_peak, random_graph

SMALL = public_problems.FOLDER / "minimalloc_small"
PLAIN: dict[str, object] = {"id": 1, "size": 8, "start": 0, "end": 2}


@pytest.mark.parametrize(
    ("problem", "feature"),
    [
        ({"buffers": [PLAIN], "pools": [{"name": "a"}, {"name": "b"}]}, "several pools"),
        ({"buffers": [PLAIN], "pools": [{"size": 64}]}, "a capacity"),
        ({"buffers": [PLAIN], "pools": [{"reserved": [[0, 8]]}]}, "reserved ranges"),
        ({"buffers": [PLAIN], "pools": [{"base_address": 4}]}, "a base address"),
        ({"buffers": [PLAIN, {**PLAIN, "id": 2}], "conflicts": [[1, 2]]}, "conflicts"),
        ({"buffers": [{"id": 1, "size": 8, "lifetimes": [[0, 1], [2, 3]]}]}, "lifetimes with holes"),
        ({"buffers": [{**PLAIN, "offset": 0}]}, "pinned offsets"),
        ({"buffers": [PLAIN, {**PLAIN, "id": 2, "alias_of": 1}]}, "aliases"),
        ({"buffers": [PLAIN], "objective": "fit"}, "an objective other than the peak"),
    ],
)
def test_a_peer_refuses_a_problem_and_names_features_it_lacks(problem: dict[str, object], feature: str) -> None:
    with pytest.raises(OptionError) as caught:
        granule(Problem.model_validate(problem))
    assert caught.value.sentences == (f"solver: peers cannot express {feature}",)


def test_the_granule_is_a_multiple_of_the_alignments_of_buffers_and_pool() -> None:
    rows = [{**PLAIN, "id": k, "alignment": step} for k, step in enumerate((1, 4, 6))]
    assert granule(Problem.model_validate({"buffers": rows, "pools": [{"alignment": 10}]})) == 60


def test_any_importable_function_can_be_measured_as_a_peer() -> None:
    peer = find("memplan.extensions.bench.tests.planners_to_measure:stack")
    assert peer is not None
    assert peer.is_installed
    assert peer.load()(draw_tight_problem(1, 9, 64, 4), 1.0)[0] == 0
    assert find("nobody") is None


def test_names_of_reference_planners_are_not_names_of_peers() -> None:
    solver = "reference:executorch-naive"
    assert find(solver) is None
    planner, version = find_planner(solver, time_limit_s=1.0, seed=1)
    assert planner(draw_tight_problem(1, 9, 64, 4), None).solver == solver
    assert version.startswith("memplan ")
    with pytest.raises(OptionError, match='got "reference:executorch"'):
        jobs([str(SMALL)], ["reference:executorch"], [1], 1.0, 2**30)


@pytest.mark.parametrize("name", PEERS)
@pytest.mark.parametrize("alignment", [1, 48])
def test_peers_return_valid_plans_in_both_directions_of_time(name: str, alignment: int) -> None:
    peer = PEERS[name]
    if not peer.is_installed:
        pytest.skip(f"{peer.distribution} comes with the extra peers")
    buffers = draw_tight_problem(seed=3, n=20, height=100, live=5).buffers
    rows = [{**buffers.fields(i), "alignment": alignment} for i in range(len(buffers))]
    forwards = Problem.model_validate({"buffers": [*rows, {**PLAIN, "id": "empty", "size": 0}]})
    for problem in (forwards, mirror_time(forwards)):
        offset = peer.load()(problem, 0.2)
        pool = column(np.zeros(len(offset)))
        assert verify(problem, Plan(placements=PlacementTable(problem.buffers.ids, ("default",), pool, offset))) == ()
    assert peer.version.startswith(f"{peer.distribution} ")


GRAPHS = Path(__file__).parents[3] / "examples" / "graphs"


@pytest.mark.parametrize("name", ORDERERS)
def test_every_orderer_that_bench_compares_returns_valid_orders(name: str) -> None:
    for seed in range(6):
        graph = random_graph(random.Random(seed), 7)
        facts = ORDERERS[name](graph, 5.0)
        assert facts["outcome"] == "plan"
        assert facts["peak"] >= min_peak(graph)


def test_judge_order_reports_an_invalid_order() -> None:
    graph = OperationGraph.model_validate({"size": [1, 1], "ops": [{"out": [0]}, {"in": [0], "out": [1]}]})
    assert judge_order(graph, (1, 0))["outcome"] == "invalid"


@pytest.mark.slow
def test_a_graph_is_ordered_and_measured_in_a_separate_process() -> None:
    (job,) = jobs([str(GRAPHS / "torch_resnet18_b1_sgd.json")], ["order"], [1], 20.0, 2**33)
    result = measure(job)
    assert (result.outcome, result.status, result.peak, result.lower_bound) == ("plan", "optimal", 40309764, 40309764)
