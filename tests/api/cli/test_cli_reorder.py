"""`memplan plan --order best` and what `memplan compare` tells of it: the order, the problem in it, and refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.capabilities.compare.compare import CompareOptions, compare, lines
from memplan.capabilities.order.reordering import reorder_program
from memplan.planner.operations.operations import operations_from
from memplan.planner.operations.statements import Alloc, Free
from memplan.solvers.search.control import Control
from tests.support.dump_files import MEMORIES
from tests.support.random_programs import random_program
from tests.support.tflite_files import INT8, model, operator, subgraph, tensor

Captured = pytest.CaptureFixture[str]
EXAMPLES = Path(__file__).parents[3] / "examples"


def program() -> dict[str, Any]:
    """Return a program that makes two large values before it needs either; the second can wait."""
    buffers = [{"id": name, "size": size} for name, size in (("x", 8), ("a", 64), ("b", 64), ("c", 4), ("d", 4))]
    body = [
        {"op": "grow", "inputs": ["x"], "outputs": ["a"]},
        {"op": "grow", "inputs": ["x"], "outputs": ["b"]},
        {"op": "shrink", "inputs": ["a"], "outputs": ["c"]},
        {"op": "shrink", "inputs": ["b"], "outputs": ["d"]},
    ]
    main_function = {"params": ["x"], "results": ["c", "d"], "buffers": buffers, "body": body}
    return {"functions": {"main": main_function}, "order": "tentative"}


def test_operations_are_planned_in_a_better_order(tmp_path: Path, capfd: Captured) -> None:
    source = tmp_path / "operations.json"
    source.write_text(json.dumps(program()))
    plan, order, problem = (tmp_path / name for name in ("plan.json", "order.json", "problem.json"))
    files = ["-o", f"{tmp_path}/", "-o", str(plan)]
    assert main(["plan", str(source), "--order", "best", "--deterministic", *files]) == 0
    assert "reordered: 1 of 4 operations moved; at most 76 bytes are alive, 136 in the given" in capfd.readouterr().err
    assert json.loads(plan.read_text())["peak"] == 76
    told = json.loads(order.read_text())
    assert (told["order"], told["moves"], told["status"]) == ([0, 2, 1, 3], 1, "optimal")
    body = told["operations"]["functions"]["main"]["body"]
    assert [row["op"] for row in body] == ["grow", "shrink", "grow", "shrink"]
    assert main(["verify", str(problem), str(plan)]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            [str(EXAMPLES / "mobilenet_v2.csv"), "--order", "best"],
            "order: best must be asked for a model, operations",
        ),
        (["PROGRAM", "--order", "best", "--half-open"], "inclusive: must not be given with order best, got False"),
        (["PROGRAM", "-o", "x/"], "output: must be a folder for several files, or with order best"),
    ],
)
def test_what_has_no_order_is_refused(arguments: list[str], message: str, tmp_path: Path, capfd: Captured) -> None:
    source = tmp_path / "operations.json"
    source.write_text(json.dumps(program()))
    assert main(["plan", *(str(source) if one == "PROGRAM" else one for one in arguments)]) == 2
    assert message in capfd.readouterr().err


def test_comparing_tells_what_the_order_adds() -> None:
    sizes = (16, 512, 512, 32, 32)
    tensors = [tensor(f"t{k}", (size,), INT8) for k, size in enumerate(sizes)]
    operators = [operator("RELU", [0], [1]), operator("RELU", [0], [2])]
    operators += [operator("RELU", [1], [3]), operator("RELU", [2], [4])]
    data = model(subgraph(tensors, [0], [3, 4], operators))
    found = compare(data, CompareOptions(time_limit_s=6))
    assert found.memplan_reordered is not None
    assert (found.memplan.peak, found.memplan_reordered.peak, found.saved_by_order) == (1056, 576, 480)
    assert [*lines(found)][-1].split(None, 2) == ["memplan,", "reordered", "576  optimal; the order saves 480"]
    dump = compare(MEMORIES, CompareOptions(time_limit_s=6))
    assert (dump.memplan_reordered, dump.saved_by_order) == (None, None)


def test_programs_pose_valid_problems_in_their_new_order() -> None:
    saved = 0
    for seed in range(40):
        given = operations_from(random_program(seed))
        found = reorder_program(given, Control.of(0.2, deterministic=True))
        assert found.operations is not None
        body, new = (program.functions[program.entry].body for program in (given, found.operations))
        assert len(new) == sum(not isinstance(statement, Alloc | Free) for statement in body)
        assert found.answer.peak <= found.answer.given_peak
        saved += found.answer.peak < found.answer.given_peak
    assert saved > 0
