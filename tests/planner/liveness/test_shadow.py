"""Shadow execution: what it catches that no overlap check can, and what it lets pass."""

from __future__ import annotations

import pytest

from memplan.planner.errors import PlanError
from memplan.planner.liveness import problem_of
from memplan.planner.liveness.shadow import Clobber, shadow
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.operations.operations import Operations
from memplan.planner.verify.verifier import verify
from tests.support.programs import call, choice, function, loop, op, program


def plan(**offsets: int) -> Plan:
    """Place buffers of main; a double underscore is a slash."""
    rows = [{"id": f"main/{name.replace('__', '/')}", "pool": "default", "offset": at} for name, at in offsets.items()]
    return Plan.model_validate({"placements": rows})


def clobbered(operations: Operations, placed: Plan) -> set[tuple[str, str]]:
    return {(found.buffer, found.path) for found in shadow(operations, placed)}


CHAIN = program(function(op("-> a"), op("a -> b"), op("a b -> c"), op("c ->"), a=4, b=4, c=4))


def test_the_shadow_run_names_the_operation_and_the_bytes_that_it_overwrites() -> None:
    assert shadow(CHAIN, plan(a=0, b=4, c=8)) == ()
    assert shadow(CHAIN, plan(a=0, b=4, c=6)) == (Clobber("main/b", "main/2", "main/c", "main/2", "default", (6, 8)),)
    assert shadow(CHAIN, plan(a=2, b=4, c=8))[0] == Clobber("main/a", "main/1", "main/b", "main/1", "default", (4, 6))


def test_a_wrong_lifetime_that_the_verifier_believes_is_caught() -> None:
    problem = problem_of(CHAIN)
    rows = [row.model_dump(exclude_none=True) for row in problem.buffers]
    rows[0]["end"] = 2  # although it is read at 2
    wrong = Problem.model_validate({"buffers": rows})
    placed = plan(a=0, b=4, c=0)
    assert verify(wrong, placed) == ()
    assert clobbered(CHAIN, placed) == {("main/a", "main/2")}


def test_it_may_take_three_iterations_to_lose_something() -> None:
    body = loop(choice([op("-> a")], [op("-> b")], [op("a ->")]))
    assert clobbered(program(function(body, a=4, b=4)), plan(a=0, b=3)) == {("main/a", "main/0.0.2.0")}


def test_each_call_begins_with_nothing_in_its_temporaries() -> None:
    f = function(op("-> t"), op("t ->"), t=4)
    main = function(call("f"), op("-> a"), call("f"), op("a ->"), a=4)
    operations = program(main, f=f)
    assert shadow(operations, plan(a=0, **{"0:f__t": 0, "2:f__t": 4})) == ()
    assert clobbered(operations, plan(a=0, **{"0:f__t": 0, "2:f__t": 0})) == {("main/a", "main/3")}


def test_a_part_is_lost_only_to_operations_that_write_it() -> None:
    low, high = ({"size": 4, "alias_of": "a", "alias_offset": at} for at in (0, 4))
    main = function(
        op("-> a"), op("-> b"), op("low ->"), op("high ->"), op("-> high"), op("a ->"), a=8, b=2, low=low, high=high
    )
    assert clobbered(program(main), plan(a=0, b=6)) == {("main/high", "main/3")}


def test_a_persistent_buffer_is_needed_at_the_end() -> None:
    main = function(op("-> b"), b=4, s={"size": 4, "persistent": True})
    assert clobbered(program(main), plan(b=0, s=0)) == {("main/s", "main")}


def test_arenas_may_be_as_large_as_they_like() -> None:
    main = function(op("-> a"), op("-> b"), op("a b ->"), a=2**60, b=2**60)
    assert shadow(program(main), plan(a=0, b=2**60)) == ()
    assert clobbered(program(main), plan(a=0, b=2**60 - 1)) == {("main/a", "main/2")}
    assert shadow(program(main), plan(a=0, b=2**63 - 1)) == ()


@pytest.mark.parametrize(
    ("offsets", "sentence"),
    [
        ({"a": 0, "b": 4}, 'placements: must place "main/c", got no placement'),
        ({"a": 0, "b": 4, "c": 8, "d": 1}, 'placements[3].id: must be a buffer of the operations, got "main/d"'),
    ],
)
def test_a_plan_of_something_else_is_an_error(offsets: dict[str, int], sentence: str) -> None:
    with pytest.raises(PlanError) as caught:
        shadow(CHAIN, plan(**offsets))
    assert caught.value.sentences == (sentence,)
