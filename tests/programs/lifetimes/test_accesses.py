"""The accesses of operations to buffers, and the problems with moves that follow from models and graphs."""

from pathlib import Path
from typing import Any

import pytest
from pydantic_core import to_json

import memplan
from memplan.planner.errors import OptionError
from memplan.planner.model.moving import moving_buffers
from memplan.planner.model.problem import Problem
from memplan.programs.lifetimes.accesses import uses_of
from memplan.questions.reading import Reader, ReadOptions
from tests.support.programs import choice, function, loop, op, program

POOLS = ("sram=64", "psram=unlimited,cost=4")
MODEL = Path("tests/models/recorded/kws_dscnn_int8.tflite")


def asked_problem(value: Any, **options: Any) -> Problem:
    return Reader(ReadOptions(**{"capacity": POOLS, "moves": True} | options)).problem(to_json(value), "p.json")


def test_each_operation_reads_its_inputs_and_then_writes_its_outputs() -> None:
    row = function(op("x w -> a"), op("a -> a s"), op("a s -> y"), takes="x", gives="y", x=4, w=8, a=4, y=2, s=3)
    row = {**row, "constants": ["w"]}
    row["buffers"][4] = {"id": "s", "size": 3, "persistent": True}
    row["buffers"].append({"id": "v", "size": 2, "alias_of": "a", "alias_offset": 0})
    row["body"].append(op("v ->"))
    uses = uses_of(program(row))
    r, w = False, True
    assert {name.removeprefix("main/"): tuple(each) for name, each in uses.items()} == {
        "x": ([(0, r, 4)], False, False),
        "w": ([(0, r, 8)], True, False),
        "a": ([(0, w, 4), (1, r, 4), (1, w, 4), (2, r, 4), (3, r, 2)], False, False),
        "s": ([(1, w, 3), (2, r, 3)], True, True),
        "y": ([(2, w, 2)], False, False),
    }


def test_constants_of_a_function_are_read_in_all_its_calls() -> None:
    inner = function(op("p k -> q"), takes="p", gives="q", constants="k", p=1, q=1, k=5)
    main = function(*({"call": "f", "inputs": [a], "outputs": [b]} for a, b in ("xy", "yz")), x=1, y=1, z=1)
    assert uses_of(program(main, f=inner))["f/k"].accesses == [(0, False, 5), (1, False, 5)]


@pytest.mark.parametrize("part", [choice([op("-> a")], [op("-> a")]), loop(op("-> a"))])
def test_branches_and_loops_are_refused(part: Any) -> None:
    with pytest.raises(OptionError, match="applies only to operations without branches and loops, got main/0"):
        uses_of(program(function(part, op("a ->"), a=1)))


def test_a_program_is_asked_with_its_accesses_and_given_buffers() -> None:
    row = function(op("x w -> a"), op("a -> y"), takes="x", gives="y", constants="w", x=4, a=4, y=2, w=1)
    capacity = ("sram=64", "host,direct=false,cost=2", "dram=64,cost=1")
    problem = asked_problem({"functions": {"main": row}}, capacity=capacity, weights="choose")
    assert (problem.moves, problem.objective) == (memplan.Problem(buffers=(), moves={"lead": 0}).moves, "cost")
    x, a, _, w = (problem.buffers.fields(i) for i in range(4))
    assert ("given" in x, "given" in a, w["given"], "kept_in" in w) == (False, False, "host", False)
    assert [(row.uses, row.given) for row in moving_buffers(problem)] == [
        (((0, 4, None),), None),
        (((0, None, 4), (1, 4, None)), None),
        (((1, None, 2),), None),
        (((0, 1, None),), 1),
    ]


def test_a_graph_is_asked_in_its_order_and_outputs_in_place_are_writes() -> None:
    second = {"in": [1], "out": [2], "may_overwrite": [[0, 0]]}
    ops = [{"in": [0], "out": [1]}, second, {"in": [2], "out": [3], "work": 2}]
    problem = asked_problem({"size": [4, 4, 4, 4], "kept": [3], "ops": ops}, in_place=True)
    assert problem.buffers.aliases == {2: ("tensor_1", 0)}
    fields = [problem.buffers.fields(i) for i in range(len(problem.buffers))]
    times = {row["id"]: [(use.time, use.kind) for use in row["accesses"]] for row in fields}
    tensors = [(0, "read")], [(0, "write"), (1, "read")], [(1, "write"), (2, "read")], [(2, "write")]
    assert times == {f"tensor_{k}": each for k, each in enumerate(tensors)} | {"work_2": [(2, "write")]}
    assert problem.buffers.rules["given"] == {}


def test_weights_are_streamed_from_a_flash_that_operations_cannot_use() -> None:
    options = ReadOptions(
        capacity=("sram=24KiB", "flash=8MiB,cost=4,direct=false"), weights="choose", moves="lead=1,bytes_per_step=16KiB"
    )
    plan = memplan.plan(Reader(options).problem(MODEL.read_bytes(), MODEL.name), time_limit_s=20)
    assert [(each.source, each.to, each.bytes) for each in plan.moved_bytes] == [("flash", "sram", 24320)]
    assert (plan.status, plan.cost) == ("optimal", 4 * 24320)


@pytest.mark.parametrize(("name", "cost"), [("view.tflite", 0), ("attention.pte", 140_672)])
def test_views_live_as_long_as_the_buffers_that_contain_them(name: str, cost: int) -> None:
    path = Path("tests/models") / name
    options = ReadOptions(capacity=("sram=1KiB", "psram=unlimited,cost=4"), moves="true")
    problem = Reader(options).problem(path.read_bytes(), name)
    table = problem.buffers
    assert table.aliases
    assert all(len(table.intervals(i)) == 1 for i in range(len(table)))
    plan = memplan.plan(problem, time_limit_s=20)
    assert (plan.status, plan.cost) == ("optimal", cost)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("p.json", "must be lead=STEPS, bytes_per_step=SIZE or both"),
        ("lead=1,lead=2", "must be lead=STEPS, bytes_per_step=SIZE or both"),
        ("lead=x", "must be a size"),
    ],
)
def test_wrong_rules_for_copies_are_refused(text: str, rule: str) -> None:
    with pytest.raises(OptionError, match=f"moves: {rule}"):
        asked_problem({"functions": {"main": function(op("-> a"), a=1)}}, moves=text)


def test_copies_of_buffers_and_moves_exclude_each_other() -> None:
    with pytest.raises(OptionError, match="moves: must be left out with copies"):
        asked_problem({"functions": {"main": function(op("x ->"), takes="x", x=1)}}, copies=("x=2",))
