"""Programs in the wire format and by the program builder: bytes of buffers, and buffers of exclusive branches."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from memplan.programs.lifetimes import problem_of
from memplan.programs.lifetimes.shadow import shadow
from memplan.programs.operations.builder import ProgramBuilder
from memplan.programs.operations.operations import DeclaredBuffer, operations_from
from memplan.solvers.portfolio.solve import solve
from tests.support.programs import call, choice, function, loop, op, program


@pytest.mark.parametrize(
    ("dtype", "shape", "size"),
    [
        ("int8", [3, 5], 15),
        ("float32", [2, 3], 24),
        ("bfloat16", [7], 14),
        ("float8_e4m3fn", [7], 7),
        ("complex64", [2], 16),
        ("int4", [5], 3),
        ("uint2", [5], 2),
        ("bool", [5], 5),
        ("float32x4", [3], 48),
        ("int8", [], 1),
        ("int64", [0, 9], 0),
    ],
)
def test_a_declared_buffer_has_the_bytes_of_its_type_and_shape(dtype: str, shape: list[int], size: int) -> None:
    assert DeclaredBuffer(id="a", dtype=dtype, shape=shape).bytes == size


def test_the_json_program_in_liveness_md_is_valid() -> None:
    text = (Path(__file__).parents[3] / "docs" / "liveness.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```json\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert set(operations_from(json.loads(block)).functions) == {"main", "convolve"}


EXAMPLE = Path(__file__).parents[3] / "examples" / "operations.json"


def test_program_builder_writes_calls_loops_and_choices() -> None:
    written = ProgramBuilder(name="tiny", order="tentative")
    f = written.function("f")
    f.returns(f.emit("q", f.param("p", size=4), size=4, temporaries=[3]))
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
    body = [call("f", "x -> q"), loop(branches | {"inputs": ["x"]}, call("f", "q -> q_2"), trips=3), {"free": ["q"]}]
    inner = function(op("p -> q", temporaries="q_temporary", name="q"), takes="p", gives="q", p=4, q=4, q_temporary=3)
    whole = program(function(*body, takes="x", x=4, q=4, b=2, q_2=4), f=inner)
    found = written.operations()
    assert (found.functions, found.name, found.order) == (whole.functions, "tiny", "tentative")


def test_the_python_program_in_liveness_md_can_be_built() -> None:
    text = (EXAMPLE.parents[1] / "docs" / "liveness.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    known: dict[str, Any] = {}
    exec(compile(code, "liveness.md", "exec"), known)
    assert [row.size for row in known["problem"].buffers] == [27648, 18432, 2592, 40]


def _writes(name: str) -> dict[str, Any]:
    return {"op": "write", "outputs": [name]}


def _reads(name: str) -> dict[str, Any]:
    return {"op": "read", "inputs": [name], "outputs": ["r"]}


CHOICE = {"inputs": ["c"], "branches": [[_writes("s")], [_writes("t")]]}
READ = {"inputs": ["c"], "branches": [[_reads("s")], [_reads("t")]]}
ALSO = {"inputs": ["c"], "branches": [[_writes("s")], [_writes("s"), _writes("t")]]}


@pytest.mark.parametrize(
    ("body", "peak"),
    [
        ([CHOICE, READ], 65),
        ([CHOICE, CHOICE, READ], 129),
        ([ALSO, READ], 129),
        ([{"trips": 2, "loop": [CHOICE]}, READ], 129),
        ([_writes("s"), CHOICE, READ], 129),
    ],
)
def test_buffers_share_bytes_only_if_no_execution_writes_both(body: list[Any], peak: int) -> None:
    rows = [{"id": "c", "size": 1}, {"id": "s", "size": 64}, {"id": "t", "size": 64}, {"id": "r", "size": 1}]
    function = {"params": ["c"], "results": ["r"], "buffers": rows, "body": body}
    operations = operations_from({"functions": {"main": function}})
    plan = solve(problem_of(operations), time_limit_s=20)
    assert (plan.status, plan.peak) == ("optimal", peak)
    assert not [*shadow(operations, plan)]
