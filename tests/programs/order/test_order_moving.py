"""Orders of operations whose buffers move at the least cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from memplan import verify
from memplan.api.cli.main import main
from memplan.planner.model.problem import Problem
from memplan.programs.lifetimes.accesses import GraphProblem
from memplan.programs.operations.graph import OperationGraph, graph_from
from memplan.programs.operations.order_check import peak_of
from memplan.programs.order.answer import OrderAnswer
from memplan.programs.order.moving import order_for_moves
from memplan.questions.reading.adapting import ProblemOptions, adapt_problem
from memplan.solvers.search.control import Control

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
    assert found.placed is not None
    assert verify(pose(found.order), found.placed.plan).valid
    return found


@pytest.mark.parametrize("ops", [[*MADE, *READ], [MADE[0], READ[0], MADE[1], READ[1]]])
@pytest.mark.parametrize("order", [(0, 1, 2, 3), (1, 0, 2, 3)])
def test_single_operations_move_and_the_order_costs_no_more_than_the_given_one(
    ops: list[dict[str, list[int]]], order: tuple[int, ...]
) -> None:
    graph = graph_from(APART | {"ops": ops})
    if ops[1] == READ[0]:
        order = tuple((0, 2, 1, 3)[each] for each in order)
    moved = answer_in(graph, order).moved
    assert moved is not None
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
