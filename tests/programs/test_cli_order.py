"""Tests of the command `memplan order` and of `plan --order best`."""

import json
from pathlib import Path
from typing import Any

import pytest

from memplan.api.cli.main import main
from memplan.programs.operations.operations import operations_from
from memplan.programs.operations.statements import Alloc, Free
from memplan.programs.order.reordering import reorder_program
from memplan.solvers.search.control import Control
from tests.support.operation_graphs import ORDERED_INSIDE
from tests.support.random_programs import random_program

Captured = pytest.CaptureFixture[str]
GRAPHS = Path(__file__).parents[2] / "examples" / "graphs"
RANDWIRE = str(GRAPHS / "cells_randwire32x1_s1.json")


def test_order_warns_about_two_operations_that_write_the_same_tensor(tmp_path: Path, capfd: Captured) -> None:
    graph = tmp_path / "graph.json"
    graph.write_text('{"size": [4, 4], "ops": [{"out": [0]}, {"out": [0, 1], "name": "b"}]}')
    assert main(["order", str(graph), "--format", "peak"]) == 0
    said = 'tensor 0 is made by ops[0] and by ops[1] ("b"), which does not read it'
    assert f"warning: made-again: {said}" in capfd.readouterr().err


def test_order_prints_a_readable_table_with_the_flag_format_table(capfd: Captured) -> None:
    assert main(["order", RANDWIRE, "--format", "table", "--deterministic"]) == 0
    lines = capfd.readouterr().out.splitlines()
    facts = ["operations", "given peak", "best peak", "lower bound", "placed peak", "saved", "moves"]
    assert [line.split("  ")[0] for line in lines] == facts
    assert "3,669,120 bytes, optimal" in lines[2]
    assert lines[5].endswith("1,223,040 bytes (25.0 %)")
    assert main(["order", RANDWIRE, "--time-limit", "30", "--format", "json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["peak"], told["gap"], told["placed_peak"], told["saved_bytes"]) == (3669120, 0.0, 3669120, 1223040)
    assert 0 < told["moves"] < 40
    assert told["wall_time_s"] > 0


def test_the_certificate_of_an_order_is_written_or_its_absence_is_explained(tmp_path: Path, capfd: Captured) -> None:
    search, none = tmp_path / "search.proof", tmp_path / "none.proof"
    assert main(["order", RANDWIRE, "--deterministic", "-o", str(search), "--format", "json"]) == 0
    assert search.read_text() == json.loads(capfd.readouterr().out)["certificate"]["text"]
    (inside := tmp_path / "inside.json").write_text(json.dumps(ORDERED_INSIDE))
    assert main(["order", str(inside), "--deterministic", "-o", str(none), "--format", "json"]) == 0
    assert "memplan: no certificate: " in capfd.readouterr().err
    assert not none.exists()


def test_order_accepts_a_program_only_with_a_tentative_order(tmp_path: Path, capfd: Captured) -> None:
    end = {"op": "end", "inputs": ["a"], "outputs": ["c"]}
    body = [{"op": "wide", "outputs": ["a"]}, {"op": "tall", "outputs": ["b"]}, end]
    buffers = [{"id": name, "size": size} for name, size in (("a", 4), ("b", 4), ("c", 1))]
    path = tmp_path / "program.json"
    program = {"functions": {"main": {"buffers": buffers, "body": body}}}
    path.write_text(json.dumps(program))
    assert main(["order", str(path)]) == 2
    assert "order: must be tentative, so that operations may be reordered, got final" in capfd.readouterr().err
    path.write_text(json.dumps({**program, "order": "tentative"}))
    assert main(["order", str(path), "--deterministic", "--format", "json"]) == 0
    told = json.loads(capfd.readouterr().out)
    assert (told["given_peak"], told["peak"]) == (8, 5)


def program() -> dict[str, Any]:
    """Return a program that computes two large values before either is used, although the second could wait."""
    buffers = [{"id": name, "size": size} for name, size in (("x", 8), ("a", 64), ("b", 64), ("c", 4), ("d", 4))]
    body = [
        {"op": "grow", "inputs": ["x"], "outputs": ["a"]},
        {"op": "grow", "inputs": ["x"], "outputs": ["b"]},
        {"op": "shrink", "inputs": ["a"], "outputs": ["c"]},
        {"op": "shrink", "inputs": ["b"], "outputs": ["d"]},
    ]
    main_function = {"params": ["x"], "results": ["c", "d"], "buffers": buffers, "body": body}
    return {"functions": {"main": main_function}, "order": "tentative"}


def test_plan_with_order_best_plans_operations_in_a_better_order(tmp_path: Path, capfd: Captured) -> None:
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


def test_reordered_programs_have_valid_problems() -> None:
    saved = 0
    for seed in range(40):
        given = operations_from(random_program(seed))
        found = reorder_program(given, Control.from_limit(0.2, deterministic=True))
        body, new = (program.functions[program.entry].body for program in (given, found.read.operations))
        assert len(new) == sum(not isinstance(statement, Alloc | Free) for statement in body)
        assert found.answer.peak <= found.answer.given_peak
        saved += found.answer.peak < found.answer.given_peak
    assert saved > 0


def test_plan_accepts_an_output_folder_only_for_several_files_or_order_best(tmp_path: Path, capfd: Captured) -> None:
    source = tmp_path / "operations.json"
    source.write_text(json.dumps(program()))
    assert main(["plan", str(source), "-o", f"{tmp_path / 'x'}/"]) == 2
    assert "output: must be a file, because only several files or --order best" in capfd.readouterr().err
