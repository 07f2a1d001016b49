"""Orders with alternatives of operations, and orders whose buffers move at the least cost."""

import json
import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from memplan import OperationsError, OrderOptions, order, verify
from memplan.api.cli.main import main
from memplan.checkers import order as checker_without_types
from memplan.planner.model.problem import Problem
from memplan.programs.lifetimes.accesses import GraphProblem
from memplan.programs.operations.costs import costs_of
from memplan.programs.operations.graph import OperationGraph, graph_from, write_graph
from memplan.programs.operations.graph_variants import fix_alternatives
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.answer import OrderAnswer
from memplan.programs.order.moving import order_for_moves
from memplan.programs.order.order import QUESTION
from memplan.questions.reading.adapting import ProblemOptions, adapt_problem
from memplan.solvers.search.control import Control
from tests.support.depth import seeds
from tests.support.operation_graphs import min_peak, random_graph

CHECKER: Any = checker_without_types
WINOGRAD = {"name": "winograd", "work": 40, "cost": 10}
ROWS: list[dict[str, Any]] = [
    {"in": [0], "out": [1], "cost": 25, "work": 5, "alternatives": [WINOGRAD, {"name": "direct", "cost": 60}]},
    {"in": [1], "out": [2], "cost": 9},
]


def draw_graph(seed: int) -> OperationGraph:
    rng = random.Random(seed)
    fields = random_graph(rng, rng.randint(2, 5)).model_dump(mode="json", by_alias=True, exclude_defaults=True)
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
    assert (found.status, found.peak) == ("optimal", min(min_peak(fix_alternatives(graph, ways)) for ways in every))
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
    assert "work_0" in found.placed.problem.index
    found = order(tight)
    assert (found.peak, found.given_peak, found.alternatives) == (12, 17, (2, 0))
    assert order(roomy, OrderOptions(recompute=True)).alternatives == (2, 0)


@pytest.mark.parametrize("ways", [(3, 0), (0,), (-1, 0)])
def test_an_answer_with_nonexistent_alternatives_is_refuted(ways: tuple[int, ...]) -> None:
    graph = graph_from({"size": [8, 4, 100], "kept": [2], "ops": ROWS})
    found = order(graph).model_copy(update={"alternatives": ways})
    asked = {"graph": graph, "options": OrderOptions()}
    assert "must have a number for each operation, from 0" in str(QUESTION.refutes(asked, found))


def test_an_operation_with_regions_must_not_have_alternatives() -> None:
    inside = {"kind": "call", "graph": {"size": [1], "ops": []}}
    with pytest.raises(OperationsError) as caught:
        graph_from({"size": [1], "ops": [{"out": [0], "regions": [inside], "alternatives": [{"cost": 1}]}]})
    assert str(caught.value) == "ops[0].alternatives: must be empty for an operation with regions, got 1"


POOLS = ("sram=72", "dram=unlimited,cost=1")
MADE = [{"out": [0]}, {"out": [1]}]
READ = [{"in": [0], "out": [2]}, {"in": [1], "out": [3]}]
APART = {"size": [64, 64, 1, 1], "kept": [2, 3], "ops": [*MADE, *READ]}
"""Both large tensors are alive together in the given order, and never if each is read at once."""


def answer_in(graph: OperationGraph, order: Sequence[int]) -> OrderAnswer:
    def pose(order: Sequence[int]) -> Problem:
        read = GraphProblem.in_order(graph, order)
        return adapt_problem(read.problem, read, ProblemOptions(capacity=POOLS, moves=True))

    first = OrderAnswer.from_order(graph, order, peak_of(graph, order), 0, 0, wall_time_s=0)
    found = order_for_moves(first, pose, Control.from_limit(8))
    assert verify(pose(found.order), found.placed.plan).valid
    return found


@pytest.mark.parametrize("ops", [[*MADE, *READ], [MADE[0], READ[0], MADE[1], READ[1]]])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 0, 2, 3)])
def test_single_operations_move_without_a_higher_cost(ops: list[dict[str, list[int]]], order: tuple[int, ...]) -> None:
    graph = graph_from(APART | {"ops": ops})
    if ops[1] == READ[0]:
        order = tuple((0, 2, 1, 3)[each] for each in order)
    moved = answer_in(graph, order).moved
    assert (moved.cost, moved.cost_lower_bound, moved.status) == (0, 0, "optimal")
    assert (moved.given_cost == 0) is (ops[1] == READ[0])


def test_order_and_plan_tell_what_the_order_saves(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (path := tmp_path / "graph.json").write_text(json.dumps(APART))
    asked = [str(path), "--pool", POOLS[0], "--pool", POOLS[1], "--moves", "--time-limit", "5"]
    assert main(["order", *asked, "--format", "table"]) == 0
    text = "0, optimal, with the lower bound 0 of this order; "
    assert f"cost         {text}" in capfd.readouterr().out
    assert main(["plan", *asked, "--order", "best", "--format", "cost"]) == 0
    out, err = capfd.readouterr()
    assert json.loads(out) == {"cost": 0.0}
    assert f"; cost {text}" in err
    assert main(["order", *asked[:3]]) == 2
    assert main(["order", *asked, "--recompute"]) == 2
    assert "capacity: applies only with moves" in (err := capfd.readouterr().err)
    assert "moves: must not be given with recompute" in err
