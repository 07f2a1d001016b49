"""The static types of the public names: made from the definitions, and strict about options."""

import ast
from pathlib import Path

import pytest

from lab.stubs import STUB, stub

RIGHT = """
from pathlib import Path
from memplan import Buffer, Plan, PlanOptions, Problem, check, convert, plan, solve, verify

problem = Problem(buffers=[Buffer(id="a", size=3, start=0, end=2)])
found: Plan = solve(problem, time_limit_s=2, solver="greedy", accept="5%")
solve(problem, heaps="64MiB")
plan("model.tflite", keep=Path("old.json"), options=PlanOptions(solver="mine:planner"))
verify(problem, found, better=True)
check({"buffers": []}, budgets=["1KiB"], with_plan=True)
convert(b"", to="c", dims={"batch": 1})
"""
PLANTED = """
solve(problem, time_limit="2")
solve(problem, time_limit_s="2")
solve(problem, solver="cpsat")
Buffer(id="a", sise=3)
print(found.peek)
"""


def test_the_stub_is_made_from_the_definitions() -> None:
    made, kept = (ast.dump(ast.parse(text)) for text in (stub(), STUB.read_text(encoding="utf-8")))
    assert made == kept, "python -m lab.stubs writes it"


@pytest.mark.slow
def test_each_planted_mistake_is_found_and_nothing_else(tmp_path: Path) -> None:
    api = pytest.importorskip("mypy.api", reason="mypy checks the planted mistakes")
    file, settings = tmp_path / "planted.py", tmp_path / "mypy.ini"
    file.write_text(RIGHT + PLANTED)
    settings.write_text("[mypy]\nplugins = pydantic.mypy\n")
    said = api.run(["--strict", "--no-incremental", f"--config-file={settings}", str(file)])[0]
    lines = {int(line.split(":")[1]) for line in said.splitlines() if "planted.py" in line and ": error:" in line}
    first = RIGHT.count("\n") + 2
    assert lines == {*range(first, first + 5)}, said
