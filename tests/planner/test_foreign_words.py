"""Documents and fields by the words of others: what is meant is said."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import memplan
from memplan.planner.errors import InputError
from memplan.planner.formats import read_plan
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.registry import find

PLAIN: dict[str, Any] = {"id": "a", "size": 4, "start": 0, "end": 1}


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        ({"buffers": [PLAIN | {"lower": 0}]}, "buffers[0].lower: is not a known field (did you mean start?)"),
        (
            {"buffers": [PLAIN | {"alignement": 4}]},
            "buffers[0].alignement: is not a known field (did you mean alignment?)",
        ),
        ({"buffers": [PLAIN | {"colour": 4}]}, "buffers[0].colour: is not a known field"),
        ({"buffers": [], "pools": [{"capacity": 4}]}, "pools[0].capacity: is not a known field (did you mean size?)"),
        ({"buffers": [], "tensors": []}, "tensors: is not a known field (did you mean buffers?)"),
        (
            {"buffers": [PLAIN | {"relative": {"to": "b", "offset": 0, "lower": 4}}]},
            "buffers[0].relative.lower: is not a known field",
        ),
        (
            {"placements": []},
            "must be a problem, got a plan, which `memplan verify PROBLEM FILE` checks, and shows with --open",
        ),
        (
            {"ops": [], "size": []},
            "must be a problem, got a graph of operations, which `memplan order FILE` and "
            "`memplan plan FILE --reorder` read",
        ),
        ([PLAIN], 'must be an object, {"buffers": [...]}, got a list'),
    ],
)
def test_what_is_meant_is_said(document: object, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        memplan.read_problem(json.dumps(document).encode())
    assert caught.value.sentences[0] == sentence


def test_a_field_that_all_rows_have_is_told_once() -> None:
    with pytest.raises(InputError) as caught:
        Problem.model_validate({"buffers": [PLAIN | {"id": k, "lower": 0} for k in range(19)]})
    assert caught.value.sentences == ("buffers[0].lower: is not a known field (did you mean start?)",)


def test_a_problem_is_no_plan() -> None:
    problem = Problem.model_validate({"buffers": [PLAIN]})
    with pytest.raises(InputError, match="must be a plan, which has placements, got a problem"):
        read_plan(b'{"buffers": []}', problem)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b'{"buffers": []}', "got a problem, which tells no operations and which `memplan plan FILE` reads"),
        (b'{"placements": []}', "got a plan, which `memplan verify PROBLEM FILE` checks"),
        (b"id,lower,upper,size\na,0,3,64\n", "got a table of lifetimes, which tells no operations"),
        (b"\x00\x01", "must be of a known format, got "),
    ],
)
def test_what_is_no_graph_is_told_for_what_it_is(data: bytes, sentence: str) -> None:
    with pytest.raises(InputError, match=re.escape(sentence)):
        memplan.read_graph(data)


def test_operations_are_a_problem_too() -> None:
    path = Path(__file__).parents[2] / "examples" / "operations.json"
    problem = memplan.read_problem(path)
    assert len(problem.buffers) > 0
    assert memplan.solve(problem, time_limit_s=1).status == "optimal"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("milp", "cbc"),
        ("CBC", "cbc"),
        ("greedy_by_size", "reference:tvm-greedy-by-size"),
        ("hill_climb", "reference:tvm-hill-climb"),
        ("exakt", "exact"),
    ],
)
def test_solvers_by_other_names_are_guessed(name: str, meant: str) -> None:
    with pytest.raises(InputError, match=rf"got '{name}' \(did you mean {meant}\?\)"):
        find(name)
