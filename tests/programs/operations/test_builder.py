"""Programs written in Python by the program builder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from memplan.programs.operations.builder import ProgramBuilder
from tests.support.programs import call, choice, function, loop, op, program

EXAMPLE = Path(__file__).parents[3] / "examples" / "operations.json"


def test_program_builder_writes_calls_loops_and_choices() -> None:
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
    body = [call("f", "x -> q"), loop(branches | {"inputs": ["x"]}, call("f", "q -> q_2"), trips=3), {"free": ["q"]}]
    scratch = op("p -> q", temporaries="q_temporary", name="q")
    whole = program(
        function(*body, takes="x", x=4, q=4, b=2, q_2=4),
        f=function(scratch, takes="p", gives="q", p=4, q=4, q_temporary=3),
    )
    found = written.operations()
    assert (found.functions, found.name, found.order) == (whole.functions, "tiny", "tentative")


def test_the_python_program_in_liveness_md_can_be_built() -> None:
    text = (EXAMPLE.parents[1] / "docs" / "liveness.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    known: dict[str, Any] = {}
    exec(compile(code, "liveness.md", "exec"), known)
    assert [row.size for row in known["problem"].buffers] == [27648, 18432, 2592, 40]
