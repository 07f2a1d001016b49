"""What is known of a program before anybody plans it."""

from __future__ import annotations

from typing import Any

from memplan.planner.liveness import Analysis, analyse
from memplan.planner.operations.operations import operations_from
from tests.support.programs import call, choice, function, loop, op, program

F = function(op("p -> t"), op("t -> q"), call("g"), takes="p", gives="q", p=4, q=4, t=60)
G = function(op("-> u"), op("u -> w"), op("w ->"), u=30, w=20)
IDLE = function(op("-> t"), t=1)
MAIN = function(call("f", "x -> a"), op("a -> y", name="relu"), takes="x", gives="y", x=4, a=4, y=4)


def facts() -> Analysis:
    return analyse(program(MAIN, f=F, g=G, idle=IDLE))


def test_each_step_says_what_takes_it_and_what_is_alive() -> None:
    assert [(step.time, step.path, step.label, step.live_bytes) for step in facts().steps] == [
        (0, "main/0:f/0", "op", 64),
        (1, "main/0:f/1", "op", 64),
        (2, "main/0:f/2:g/0", "op", 34),
        (3, "main/0:f/2:g/1", "op", 54),
        (4, "main/0:f/2:g/2", "op", 24),
        (5, "main/1", "relu", 8),
    ]


def test_each_function_says_what_it_needs_with_all_that_it_calls() -> None:
    assert [(row.name, row.calls, row.temporaries, row.live_bytes) for row in facts().functions] == [
        ("main", 1, 1, 64),
        ("f", 1, 1, 60),
        ("g", 1, 2, 50),
        ("idle", 0, 1, None),
    ]


def test_functions_with_no_one_and_several_temporaries_are_counted() -> None:
    main = function(call("none"), call("one"), call("many"), call("one"), a=1)
    counts = analyse(
        program(main, none=function(op()), one=function(op("-> t"), t=1), many=function(op("-> t u"), t=1, u=1))
    ).temporaries
    assert (counts.none, counts.one, counts.many) == (1, 1, 1)


def test_frees_follow_the_last_use_on_every_way() -> None:
    main = function(
        op("-> a b c"), choice([op("a ->"), call("f", "b ->")], []), loop(op("-> d"), op("d c ->")), a=1, b=1, c=1, d=1
    )
    found = analyse(program(main, f=function(op("p ->"), op(), takes="p", p=1)))
    assert [(row.buffer, row.where, row.path) for row in found.insert_free] == [
        ("main/a", "after", "main/1.0.0"),
        ("main/a", "start-of", "main/1.1"),
        ("main/b", "after", "main/1.0.1:f/0"),
        ("main/b", "start-of", "main/1.1"),
        ("main/c", "after", "main/2"),
        ("main/d", "after", "main/2.1"),
    ]


def test_what_may_be_read_before_it_is_written_is_a_warning() -> None:
    main = function(choice([op("-> a")], []), op("a -> y"), gives="y z", a=1, y=1, z=1)
    assert [(row.rule, row.message) for row in analyse(program(main)).warnings] == [
        ("read-before-written", 'buffer "main/a": may be read before it is written'),
        ("read-before-written", 'buffer "main/z": may be read before it is written'),
    ]


def test_what_is_written_in_parts_by_a_nest_of_loops_is_no_warning() -> None:
    nest = {"loop": [{"loop": [op("x y -> y")], "trips": 4}], "trips": 4}
    analysed = analyse(program(function(nest, op("y -> z"), takes="x", gives="z", x=64, y=64, z=64)))
    assert analysed.warnings == ()
    halves: dict[str, Any] = {
        "low": {"size": 4, "alias_of": "y"},
        "high": {"size": 4, "alias_of": "y", "alias_offset": 4},
    }
    assert (
        analyse(program(function(op("-> low"), op("-> high"), op("y -> z"), gives="z", y=8, z=1, **halves))).warnings
        == ()
    )
    never = function({"loop": [op("x y -> y")]}, op("y -> z"), takes="x", gives="z", x=1, y=1, z=1)
    assert [row.buffers for row in analyse(program(never)).warnings] == [("main/y",)]


def test_an_order_may_be_tentative_and_some_bytes_are_alive_in_any() -> None:
    main = function(op("-> a"), op("-> b"), op("a ->"), op("b ->"), a=5, b=6)
    found = analyse(operations_from({"order": "tentative", "functions": {"main": main}}))
    assert (found.order, found.workspace.live_bytes, found.workspace.any_order_live_bytes) == ("tentative", 11, 6)
