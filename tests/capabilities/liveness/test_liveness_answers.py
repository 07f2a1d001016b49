"""Lifetimes and shadow execution, as every entrance answers them."""

from __future__ import annotations

from pydantic import TypeAdapter

from memplan import solve
from memplan.capabilities.liveness.liveness import CAPABILITY, LivenessAnswer, LivenessOptions, liveness
from memplan.planner.operations.operations import operations_from
from tests.support.programs import call, function, op

F = function(op("p -> t"), op("t ->"), op("-> u"), op("u -> q"), takes="p", gives="q", p=10, q=10, t=100, u=80)
PROGRAM = operations_from(
    {"functions": {"main": function(call("f", "x -> y"), takes="x", gives="y", x=10, y=2048), "f": F}}
)


def test_an_answer_tells_the_same_when_it_is_read_again() -> None:
    found = liveness(PROGRAM, options=LivenessOptions(compare=True, time_limit_s=5))
    read = TypeAdapter(LivenessAnswer).validate_json(CAPABILITY.write(found))
    assert list(CAPABILITY.lines(read)) == list(CAPABILITY.lines(found))
    assert read.problem == found.problem


def test_operations_run_on_a_plan_until_its_buffers_meet() -> None:
    plan = solve(liveness(PROGRAM).problem, deterministic=True)
    assert list(CAPABILITY.lines(liveness(PROGRAM, plan))) == ["intact"]
    rows = [{"id": row.id, "pool": row.pool, "offset": 0} for row in plan.placements]
    wrong = liveness(PROGRAM, type(plan).model_validate({"placements": rows}))
    assert CAPABILITY.exit_status(wrong) == 3
    assert "needs main/" in "".join(CAPABILITY.lines(wrong))
