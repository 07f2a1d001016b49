"""Programs that are written in Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memplan.planner.errors import OperationsError
from memplan.planner.formats.memplan_json import parse
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.liveness import analyse, problem_of
from memplan.planner.operations.builder import FunctionBuilder, ProgramBuilder
from memplan.planner.operations.operations import Operations, operations_from
from tests.support.programs import call, choice, function, loop, op, program

EXAMPLE = Path(__file__).parents[3] / "examples" / "operations.json"


def built(write: Callable[[FunctionBuilder], None]) -> Operations:
    """Return a program of one function."""
    program = ProgramBuilder()
    write(program.function("main"))
    return program.operations()


def test_values_go_from_one_operation_to_the_next() -> None:
    def write(main: FunctionBuilder) -> None:
        x = main.param("x", size=4)
        a = main.emit("conv", x, size=8, temporaries=[3])
        main.returns(main.emit("conv", a, size=2))

    assert built(write) == program(
        function(
            op("x -> conv", temporaries="conv_temporary", name="conv"),
            op("conv -> conv_2", name="conv"),
            takes="x",
            gives="conv_2",
            x=4,
            conv=8,
            conv_temporary=3,
            conv_2=2,
        )
    )


def test_calls_loops_and_choices_are_written_as_they_are_run() -> None:
    written = ProgramBuilder()
    f = written.function("f")
    p = f.param("p", size=4)
    f.returns(f.emit("q", p, size=4))
    main = written.function("main")
    x = main.param("x", size=4)
    (a,) = main.call(f, x)
    with main.loop(trips=3):
        with main.choice(x):
            with main.branch():
                b = main.emit("b", a, size=2)
                main.run("use", b)
            with main.branch():
                main.run("change", a, into=[a])
        main.call(f, a)
    whole = program(
        function(
            call("f", "x -> q"),
            loop(
                choice(
                    [op("q -> b", name="b"), op("b ->", name="use")],
                    [op("q -> q", name="change")],
                )
                | {"inputs": ["x"]},
                call("f", "q -> q_2"),
                trips=3,
            ),
            takes="x",
            x=4,
            q=4,
            b=2,
            q_2=4,
        ),
        f=function(op("p -> q", name="q"), takes="p", gives="q", p=4, q=4),
    )
    assert written.operations().functions == whole.functions


def test_scopes_and_insides_are_written() -> None:
    def write(main: FunctionBuilder) -> None:
        t, y = main.buffer("t", size=4), main.buffer("y", size=4)
        main.alloc(t)
        with main.inside("fused", into=[y], temporaries=[2]):
            main.run("load", into=[t])
            main.run("store", t)
        main.free(t)

    rows: dict[str, Any] = {"t": 4, "y": 4, "fused_temporary": 2}
    inside = op("-> y", op("-> t", name="load"), op("t ->", name="store"), temporaries="fused_temporary", name="fused")
    assert built(write) == program(function({"alloc": ["t"]}, inside, {"free": ["t"]}, **rows))


def test_a_view_of_a_view_lies_in_the_buffer() -> None:
    def write(main: FunctionBuilder) -> None:
        a = main.emit("a", dtype="int8", shape=(4, 4))
        half = main.view(a, size=8, offset=8)
        main.run("use", main.view(half, size=4, offset=2), main.view(a))

    rows = {row.id: row for row in built(write).functions["main"].buffers}
    assert [(row.alias_of, row.alias_offset, row.bytes) for row in list(rows.values())[1:]] == [
        ("a", 8, 8),
        ("a", 10, 4),
        ("a", 0, 16),
    ]


def test_constants_and_state_are_told_apart() -> None:
    def write(main: FunctionBuilder) -> None:
        weights, state = main.constant("w", size=100), main.state("s", size=4)
        main.run("step", weights, state, into=[state])

    found = analyse(built(write))
    assert (found.constants, found.constant_bytes) == (("main/w",), 100)
    assert [(row.id, row.size) for row in found.problem.buffers] == [("main/s", 4)]


def test_the_rest_of_operations_is_given_to_the_program() -> None:
    written = ProgramBuilder(name="tiny", order="tentative", pools=({"name": "sram", "size": 64},))
    written.function("main").emit("a", size=8, pools=("sram",), alignment=4)
    found = written.operations()
    assert (found.name, found.order, found.pools[0].name) == ("tiny", "tentative", "sram")
    assert problem_of(found).buffers[0].pools == ("sram",)


def test_the_example_poses_the_same_problem_when_it_is_written_in_python() -> None:
    written = ProgramBuilder(pools=({"name": "sram", "alignment": 16},))
    convolve = written.function("convolve")
    padded = convolve.emit("pad", convolve.param(dtype="int8", shape=(96, 96, 3)), dtype="int8", shape=(98, 98, 3))
    sums = convolve.emit("matmul", padded, temporaries=[2592], dtype="int32", shape=(48, 8))
    convolve.returns(convolve.emit("requantise", sums, dtype="int8", shape=(48, 48, 8)))
    main = written.function("main")
    weights, state = main.constant(size=65536), main.state(size=256)
    (features,) = main.call(convolve, main.param(dtype="int8", shape=(96, 96, 3)))
    scores = main.buffer("scores", dtype="float32", shape=(10,))
    with main.choice(features):
        with main.branch():
            small = main.emit("pool", features, dtype="int8", shape=(24, 24, 16))
            main.run("classify", small, weights, into=[scores])
        with main.branch():
            large = main.emit("expand", features, dtype="int8", shape=(48, 48, 16))
            with main.loop(trips=4):
                main.run("refine", large, state, into=[large, state])
            main.run("classify", large, weights, into=[scores])
    main.returns(scores)
    example = operations_from(parse(EXAMPLE.read_bytes()))
    assert problem_hash(problem_of(written.operations())) == problem_hash(problem_of(example))


def test_what_the_document_shows_is_a_program() -> None:
    text = (EXAMPLE.parents[1] / "docs" / "liveness.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    known: dict[str, Any] = {}
    exec(compile(code, "liveness.md", "exec"), known)
    assert [row.size for row in known["problem"].buffers] == [27648, 18432, 2592, 40]


def test_a_call_may_write_what_is_there() -> None:
    written = ProgramBuilder()
    f = written.function("f")
    f.returns(f.emit("q", size=4))
    main = written.function("main")
    y = main.buffer("y", size=4)
    assert main.call(f, into=[y]) == (y,)
    assert (
        written.operations().functions["main"]
        == program(function(call("f", "-> y"), y=4), f=function(op("-> q", name="q"), gives="q", q=4)).functions["main"]
    )


@pytest.mark.parametrize(
    ("write", "sentence"),
    [
        (lambda main: main.emit("a"), "functions.main.buffers[0].size: is required where dtype and shape"),
        (
            lambda main: main.run("a", ProgramBuilder().function("f").param(size=1)),
            "main: must be a value of this function",
        ),
        (lambda main: main.free(main.param(size=1)), "functions.main.body[0].free[0]: must be the function's own"),
        (lambda main: main.view(main.buffer(size=4), size=5), "functions.main.buffers[1].alias_offset: must end"),
    ],
)
def test_what_is_wrong_is_said(write: Callable[[FunctionBuilder], None], sentence: str) -> None:
    with pytest.raises(OperationsError) as caught:
        built(write)
    assert caught.value.sentences[0].startswith(sentence)


def test_a_choice_has_branches_only() -> None:
    main = ProgramBuilder().function("main")
    with pytest.raises(OperationsError, match="main: a choice must have branches only, got"), main.choice():
        main.run("a")


def test_a_name_is_one_function() -> None:
    written = ProgramBuilder()
    written.function("main")
    with pytest.raises(OperationsError, match='functions: must be unique, got "main" again'):
        written.function("main")
