"""Facts about a program that need no plan, and errors in its plans that shadow execution finds."""

import pytest

from memplan.planner.errors import PlanError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.programs.lifetimes import Analysis, analyse, problem_of
from memplan.programs.lifetimes.shadow import Clobber, shadow
from memplan.programs.operations.operations import Operations, operations_from
from tests.support.programs import call, choice, function, loop, op, program

F = function(op("p -> t"), op("t -> q"), call("g"), takes="p", gives="q", p=4, q=4, t=60)
G = function(op("-> u"), op("u -> w"), op("w ->"), u=30, w=20)
IDLE = function(op("-> t"), t=1)
MAIN = function(call("f", "x -> a"), op("a -> y", name="relu"), takes="x", gives="y", x=4, a=4, y=4)


def facts() -> Analysis:
    return analyse(program(MAIN, f=F, g=G, idle=IDLE))


def test_analysis_lists_path_operation_and_live_bytes_of_each_step() -> None:
    assert [(step.time, step.path, step.label, step.live_bytes) for step in facts().steps] == [
        (0, "main/0:f/0", "op", 64),
        (1, "main/0:f/1", "op", 64),
        (2, "main/0:f/2:g/0", "op", 34),
        (3, "main/0:f/2:g/1", "op", 54),
        (4, "main/0:f/2:g/2", "op", 24),
        (5, "main/1", "relu", 8),
    ]


def test_analysis_lists_calls_temporaries_and_live_bytes_of_each_function() -> None:
    rows = [(row.name, row.calls, row.temporaries, row.live_bytes) for row in facts().functions]
    assert rows == [("main", 1, 1, 64), ("f", 1, 1, 60), ("g", 1, 2, 50), ("idle", 0, 1, None)]


def test_analysis_counts_functions_with_no_one_and_several_temporaries() -> None:
    main = function(call("none"), call("one"), call("many"), call("one"), a=1)
    one, many = function(op("-> t"), t=1), function(op("-> t u"), t=1, u=1)
    counts = analyse(program(main, none=function(op()), one=one, many=many)).temporaries
    assert (counts.none, counts.one, counts.many) == (1, 1, 1)


def test_free_points_follow_the_last_use_on_every_path() -> None:
    branches = choice([op("a ->"), call("f", "b ->")], [])
    main = function(op("-> a b c"), branches, loop(op("-> d"), op("d c ->")), a=1, b=1, c=1, d=1)
    found = analyse(program(main, f=function(op("p ->"), op(), takes="p", p=1)))
    assert [(row.buffer, row.where, row.path) for row in found.insert_free] == [
        ("main/a", "after", "main/1.0.0"),
        ("main/a", "start-of", "main/1.1"),
        ("main/b", "after", "main/1.0.1:f/0"),
        ("main/b", "start-of", "main/1.1"),
        ("main/c", "after", "main/2"),
        ("main/d", "after", "main/2.1"),
    ]


def test_a_possible_read_before_the_first_write_gives_a_warning() -> None:
    main = function(choice([op("-> a")], []), op("a -> y"), gives="y z", a=1, y=1, z=1)
    assert [(row.rule, row.message) for row in analyse(program(main)).warnings] == [
        ("read-before-written", 'buffer "main/a": may be read before it is written'),
        ("read-before-written", 'buffer "main/z": may be read before it is written'),
    ]


def test_a_buffer_written_in_parts_by_nested_loops_gives_no_warning() -> None:
    nest = {"loop": [{"loop": [op("x y -> y")], "trips": 4}], "trips": 4}
    assert analyse(program(function(nest, op("y -> z"), takes="x", gives="z", x=64, y=64, z=64))).warnings == ()
    halves = {"low": {"size": 4, "alias_of": "y"}, "high": {"size": 4, "alias_of": "y", "alias_offset": 4}}
    main = function(op("-> low"), op("-> high"), op("y -> z"), gives="z", y=8, z=1, **halves)
    assert analyse(program(main)).warnings == ()
    never = function({"loop": [op("x y -> y")]}, op("y -> z"), takes="x", gives="z", x=1, y=1, z=1)
    assert [row.buffers for row in analyse(program(never)).warnings] == [("main/y",)]


def test_analysis_of_a_tentative_order_states_its_live_bytes_and_a_bound_for_all_orders() -> None:
    main = function(op("-> a"), op("-> b"), op("a ->"), op("b ->"), a=5, b=6)
    found = analyse(operations_from({"order": "tentative", "functions": {"main": main}}))
    assert (found.order, found.workspace.live_bytes, found.workspace.any_order_live_bytes) == ("tentative", 11, 6)


def plan(**offsets: int) -> Plan:
    """Return a plan of main's buffers at the given offsets; a double underscore in a name stands for a slash."""
    rows = [{"id": f"main/{name.replace('__', '/')}", "pool": "default", "offset": at} for name, at in offsets.items()]
    return Plan(placements=rows)


def clobbered_buffers(operations: Operations, placed: Plan) -> set[tuple[str, str]]:
    return {(found.buffer, found.path) for found in shadow(operations, placed)}


CHAIN = program(function(op("-> a"), op("a -> b"), op("a b -> c"), op("c ->"), a=4, b=4, c=4))


def test_shadow_execution_names_the_overwriting_operation_and_the_bytes() -> None:
    assert shadow(CHAIN, plan(a=0, b=4, c=8)) == ()
    assert shadow(CHAIN, plan(a=0, b=4, c=6)) == (Clobber("main/b", "main/2", "main/c", "main/2", "default", (6, 8)),)
    assert shadow(CHAIN, plan(a=2, b=4, c=8))[0] == Clobber("main/a", "main/1", "main/b", "main/1", "default", (4, 6))


def test_shadow_execution_finds_a_wrong_lifetime_that_verify_trusts() -> None:
    rows = [row.model_dump(exclude_none=True) for row in problem_of(CHAIN).buffers]
    rows[0]["end"] = 2  # The lifetime is wrong on purpose: step 2 still reads the buffer.
    wrong = Problem(buffers=rows)
    placed = plan(a=0, b=4, c=0)
    assert verify(wrong, placed) == ()
    assert clobbered_buffers(CHAIN, placed) == {("main/a", "main/2")}


def test_shadow_execution_accepts_offsets_near_the_64_bit_limit() -> None:
    main = function(op("-> a"), op("-> b"), op("a b ->"), a=2**60, b=2**60)
    assert shadow(program(main), plan(a=0, b=2**60)) == ()
    assert clobbered_buffers(program(main), plan(a=0, b=2**60 - 1)) == {("main/a", "main/2")}
    assert shadow(program(main), plan(a=0, b=2**63 - 1)) == ()


@pytest.mark.parametrize(
    ("offsets", "sentence"),
    [
        ({"a": 0, "b": 4}, 'placements: must place "main/c", got no placement'),
        ({"a": 0, "b": 4, "c": 8, "d": 1}, 'placements[3].id: must be a buffer of the operations, got "main/d"'),
    ],
)
def test_shadow_execution_refuses_plans_with_missing_or_unknown_buffers(offsets: dict[str, int], sentence: str) -> None:
    with pytest.raises(PlanError) as caught:
        shadow(CHAIN, plan(**offsets))
    assert caught.value.sentences == (sentence,)
