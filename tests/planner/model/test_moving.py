"""Problems and plans of buffers that move: JSON, defaults, and the refused combinations."""

import json
from typing import Any

import pytest

from memplan.planner.errors import ProblemError
from memplan.planner.formats.memplan_json import write_plan
from memplan.planner.model.moving import Use, moving_buffers
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

Row = dict[str, Any]
A: Row = {"id": "a", "size": 4, "start": 0, "end": 3}
B: Row = {"id": "b", "size": 4, "start": 3, "end": 5}
TWO = [{"name": "x", "size": 8}, {"name": "y", "cost": 1, "direct": False}]
PLAIN = [{"name": "x"}, {"name": "y"}]


def problem(a: Row | None = None, b: Row | None = None, **fields: Any) -> Problem:
    return Problem.model_validate({"buffers": [A | (a or {}), B | (b or {})], "pools": TWO, "moves": True} | fields)


def test_problems_and_plans_of_buffers_that_move_survive_json() -> None:
    accesses = [0, {"time": 2, "kind": "write", "bytes": 1}]
    moving = problem({"accesses": accesses, "given": "x", "kept_in": "y"}, moves={"lead": 1, "bytes_per_step": 9})
    assert moving.objective == "cost"
    assert Problem.model_validate(json.loads(moving.model_dump_json())) == moving
    copies = [{"id": "a", "from": "x", "to": "y", "time": 1, "bytes": 4}]
    placements = [{"id": "a", "pool": "x", "offset": 0, "start": 0, "end": 3}]
    moved = [{"from": "x", "to": "y", "bytes": 4}]
    plan = Plan.model_validate({"placements": placements, "copies": copies, "moved_bytes": moved})
    written = json.loads(write_plan(plan, moving))
    assert (written["placements"], written["copies"], written["moved_bytes"]) == (placements, copies, moved)
    read = Plan.model_validate({name: written[name] for name in ("placements", "copies", "moved_bytes")})
    assert (read.placements, read.copies, read.moved_bytes) == (plan.placements, plan.copies, plan.moved_bytes)


@pytest.mark.parametrize(
    ("fields", "uses"),
    [
        ({}, (Use(0, None, 4), Use(2, 4, None))),
        ({"given": "x"}, (Use(0, 4, None), Use(2, 4, None))),
        ({"traffic": 5}, (Use(0, None, 3), Use(2, 2, None))),
        ({"end": 1}, (Use(0, 4, 4),)),
        ({"accesses": [{"time": 1, "kind": "read", "bytes": 9}, {"time": 1, "kind": "write"}]}, (Use(1, 9, 4),)),
    ],
)
def test_accesses_have_default_times_kinds_and_bytes(fields: Row, uses: tuple[Use, ...]) -> None:
    assert moving_buffers(problem(fields))[0].uses == uses


def test_a_buffer_is_used_whenever_its_alias_is_read() -> None:
    (row,) = moving_buffers(problem({"accesses": [0]}, {"alias_of": "a", "start": 1, "end": 5, "accesses": [4]}))
    assert (row.start, row.end, row.uses) == (0, 5, (Use(0, None, 4), Use(4, 4, None)))


@pytest.mark.parametrize(
    ("a", "fields", "message"),
    [
        (
            {"given": "x"},
            {"moves": False, "pools": PLAIN},
            "buffers[0].given: must not be given without moves; name the only pool in",
        ),
        ({"kept_in": "x"}, {"moves": False, "pools": PLAIN}, "buffers[0].kept_in: must not be given without moves"),
        ({}, {"moves": False, "pools": TWO}, "pools[1].direct: must not be false without moves"),
        ({"given": "z"}, {}, 'buffers[0].given: must name a pool of the problem, got "z"'),
        ({"pools": ["y"], "given": "x"}, {}, 'buffers[0].given: must be a pool that the buffer may use, got "x"'),
        ({}, {"objective": "peak"}, 'objective: must be cost, or left out, with moves, got "peak"'),
        ({}, {"may_share": [["a", "b"]]}, "may_share: must be left out with moves"),
        ({}, {"reuse": [{"pairs": [["a", "b"]], "cost": 1}]}, "reuse: must be left out with moves"),
        ({}, {"same_offset": [["a", "b"]]}, "same_offset: must be left out with moves"),
        ({}, {"equal_use": True}, "equal_use: must be left out with moves"),
        ({}, {"bank": [{"buffers": ["a", "b"], "weight": 1}]}, "bank[0].weight: must be left out with moves"),
        ({"relative": {"to": "b", "offset": 4}}, {}, "buffers[0].relative: must be left out with moves"),
        ({"start": None, "end": None, "lifetimes": [[0, 1], [2, 3]]}, {}, "buffers[0].lifetimes: must be one lifetime"),
        ({"alias_of": "b", "start": 3, "end": 5, "given": "x"}, {}, "must be given for the buffer that alias_of names"),
        ({"accesses": [3]}, {}, "buffers[0].accesses[0]: must be within the lifetime, got time 3"),
        ({"accesses": [1, 1]}, {}, "buffers[0].accesses[1]: must be later than the access before"),
        ({"accesses": [0], "traffic": 3}, {}, "buffers[0].traffic: must not be given together with accesses"),
        ({"accesses": ["x"]}, {}, 'buffers[0].accesses[0]: must be an integer, got "x"'),
        ({}, {"moves": {"lead": -1}}, "moves.lead: must be at least 0, got -1"),
    ],
)
def test_errors_name_the_field_that_cannot_be_combined_with_moves(a: Row, fields: Row, message: str) -> None:
    with pytest.raises(ProblemError) as caught:
        problem(a, **fields)
    assert message in str(caught.value)
