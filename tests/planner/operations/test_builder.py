"""Programs that are written in Python."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from memplan.planner.errors import OperationsError
from memplan.planner.formats.memplan_json import parse
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.liveness import problem_of
from memplan.planner.operations.builder import ProgramBuilder
from memplan.planner.operations.operations import operations_from
from tests.support.programs import call, choice, function, loop, op, program

EXAMPLE = Path(__file__).parents[3] / "examples" / "operations.json"


def test_calls_loops_and_choices_are_written_as_they_are_run() -> None:
    written = ProgramBuilder(name="tiny", order="tentative")
    f = written.function("f")
    p = f.param("p", size=4)
    f.returns(f.emit("q", p, size=4, temporaries=[3]))
    main = written.function("main")
    x = main.param("x", size=4)
    (a,) = main.call(f, x)
    with main.loop(trips=3):
        with main.choice(x):
            with main.branch():
                main.run("use", main.emit("b", a, size=2))
            with main.branch():
                main.run("change", a, into=[a])
        main.call(f, a)
    main.add({"free": [a]})
    branches = choice([op("q -> b", name="b"), op("b ->", name="use")], [op("q -> q", name="change")])
    body = [
        call("f", "x -> q"),
        loop(branches | {"inputs": ["x"]}, call("f", "q -> q_2"), trips=3),
        {"free": ["q"]},
    ]
    scratch = op("p -> q", temporaries="q_temporary", name="q")
    whole = program(
        function(*body, takes="x", x=4, q=4, b=2, q_2=4),
        f=function(scratch, takes="p", gives="q", p=4, q=4, q_temporary=3),
    )
    found = written.operations()
    assert (found.functions, found.name, found.order) == (whole.functions, "tiny", "tentative")


def test_the_example_poses_the_same_problem_when_it_is_written_in_python() -> None:
    written = ProgramBuilder(pools=({"name": "sram", "alignment": 16},))
    convolve = written.function("convolve")
    padded = convolve.emit("pad", convolve.param(dtype="int8", shape=(96, 96, 3)), dtype="int8", shape=(98, 98, 3))
    sums = convolve.emit("matmul", padded, temporaries=[2592], dtype="int32", shape=(48, 8))
    convolve.returns(convolve.emit("requantise", sums, dtype="int8", shape=(48, 48, 8)))
    main = written.function("main")
    weights, state = main.constant(size=65536), main.buffer("state", size=256, persistent=True)
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


def test_what_is_wrong_is_said() -> None:
    written = ProgramBuilder()
    main = written.function("main")
    main.emit("a", "x", size=1)
    with pytest.raises(OperationsError, match=r'body\[0\].inputs\[0\]: must be the id of a buffer of .*, got "x"'):
        written.operations()
