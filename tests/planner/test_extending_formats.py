"""The guide in docs/adding.md works: a toy format and a toy importer, added to a copy of the packages."""

from pathlib import Path

import pytest

from tests.support.house_copies import ROOT, Patch, copy_packages, extend, guide, insertion_before, run_beside

pytestmark = pytest.mark.slow

MOST_FILES = 3
FORMAT = '''"""Lines of words: id, start, end and size, and in a plan the offset."""

from memplan.planner.errors import FormatError
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem

SUFFIX = ".lines"
MEDIA_TYPE = "text/x-lines"


def recognises(data: bytes) -> bool:
    """Return True for bytes that begin with the format's name."""
    return data.startswith(b"lines\\n")


def _rows(data: bytes) -> list[list[str]]:
    rows = [line.split() for line in data.decode().splitlines()[1:]]
    if any(len(row) < 4 for row in rows):
        raise FormatError("must be lines of id, start, end and size")
    return rows


def read_problem(data: bytes, interval: object = None) -> Problem:
    """Read a problem."""
    rows = [{"id": row[0], "start": int(row[1]), "end": int(row[2]), "size": int(row[3])} for row in _rows(data)]
    return Problem.model_validate({"buffers": rows})


def write_problem(problem: Problem) -> bytes:
    """Write a problem."""
    rows = (f"{row.id} {row.start} {row.end} {row.size}" for row in problem.buffers)
    return "\\n".join(("lines", *rows, "")).encode()


def read_plan(data: bytes, problem: Problem) -> Plan:
    """Read a plan."""
    pool = problem.pools[0].name
    rows = [{"id": row[0], "pool": pool, "offset": int(row[4])} for row in _rows(data)]
    return Plan.model_validate({"placements": rows})


def write_plan(plan: Plan, problem: Problem) -> bytes:
    """Write a plan."""
    rows = (f"{row.id} {row.start} {row.end} {row.size} {plan.placement(row.id).offset}" for row in problem.buffers)
    return "\\n".join(("lines", *rows, "")).encode()
'''
IN_TABLE: Patch = {
    "planner/formats/__init__.py": [
        ("import memplan_json, minimalloc_csv", "import lines, memplan_json, minimalloc_csv"),
        ('"csv": minimalloc_csv', '"csv": minimalloc_csv, "lines": lines'),
    ]
}
USE_FORMAT = """
import json
from pathlib import Path

from fastapi.testclient import TestClient

import memplan
from memplan.api.cli.main import main
from memplan.api.http.app import create_app
from memplan.api.settings import Settings

Path("problem.lines").write_text("lines\\na 0 2 4\\nb 1 3 8\\n")
assert main(["plan", "problem.lines", "-o", "plan.lines"]) == 0
assert main(["verify", "problem.lines", "plan.lines"]) == 0
assert main(["convert", "problem.lines", "-o", "problem.csv"]) == 0
assert main(["convert", "problem.csv", "-o", "again.txt", "--to", "lines"]) == 0
assert main(["check", "problem.lines", "--plan", "plan.lines", "--budget", "12"]) == 0
data = Path("problem.lines").read_bytes()
assert Path("again.txt").read_bytes() == data
problem = memplan.read_problem("problem.lines")
plan = memplan.read_plan("plan.lines", problem)
assert memplan.write_plan(plan, problem, format="lines") == Path("plan.lines").read_bytes()
with TestClient(create_app(Settings(data_folder=Path("data"), workers=0, require_keys=False))) as client:
    sent = {"Content-Type": "text/x-lines", "Accept": "text/x-lines"}
    answer = client.post("/v1/plan", content=data, headers=sent)
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/x-lines"), answer.text
    assert memplan.verify(problem, memplan.read_plan(answer.content, problem)).valid
    body = {"problem": json.loads(memplan.write_problem(problem)), "options": {"format": "lines"}}
    assert client.post("/v1/plan", json=body).content.startswith(b"lines")
    schema = client.get("/openapi.json").json()
    assert "lines" in json.dumps(schema["components"]["schemas"]["Options"])
    assert "text/x-lines" in schema["paths"]["/v1/plan"]["post"]["requestBody"]["content"]
print("used")
"""
IMPORTER = '''"""Dumps of a toy compiler: a line of id, first and last step, and bytes for each tensor."""

from memplan.planner.foreign.imported import problem_of_rows, refuse_dims
from memplan.planner.foreign.imported import ImportedProblem
from memplan.planner.foreign.model_options import ModelOptions
from memplan.planner.systems import FileReader, System

IS_TOY = lambda data: data.startswith(b"TOY")
READER = FileReader("toy", IS_TOY, "memplan.runtimes.toy.system", suffixes=(".toy",))
SYSTEM = System(name="toy", title="toy", readers=(READER,))


def read(data: bytes, options: ModelOptions) -> ImportedProblem:
    """Read a dump."""
    refuse_dims(options, "toy dumps")
    rows = [line.split() for line in data.decode().splitlines()[1:]]
    buffers = [{"id": row[0], "start": int(row[1]), "end": int(row[2]) + 1, "size": int(row[3])} for row in rows]
    return ImportedProblem(problem_of_rows(buffers, ["ram"]))
'''
IN_IMPORTERS: Patch = {
    "runtimes/__init__.py": [
        insertion_before(
            "    from memplan.runtimes.tvm.", "    from memplan.runtimes.toy.system import SYSTEM as TOY\n"
        ),
        ("own = (TFLM,", "own = (TOY, TFLM,"),
    ]
}
TOY = [("", '"""A toy."""\n')]
USE_IMPORTER = """
from pathlib import Path

import memplan
from memplan.api.cli.main import main

Path("dump.txt").write_text("TOY 1\\na 0 1 4\\nb 1 2 8\\n")
assert main(["plan", "dump.txt", "-o", "plan.json"]) == 0
assert main(["convert", "dump.txt", "-o", "problem.json"]) == 0
assert memplan.read_problem("dump.txt") == memplan.read_problem("problem.json")
assert [pool.name for pool in memplan.read_problem("dump.txt").pools] == ["ram"]
print("used")
"""


@pytest.mark.parametrize(
    ("title", "files"),
    [
        ("a two-way format", {"planner/formats/NAME.py", *IN_TABLE, "tests/planner/formats/test_formats_NAME.py"}),
        ("an importer", {"runtimes/NAME/system.py", *IN_IMPORTERS, "tests/runtimes/NAME/test_importers_NAME.py"}),
    ],
)
def test_the_guide_lists_three_files_to_change_for_a_format_or_importer(title: str, files: set[str]) -> None:
    listed = guide(f"How to add {title}")
    assert listed == files
    assert len(listed) == MOST_FILES
    assert all((ROOT / name).exists() for name in listed if "NAME" not in name)


@pytest.mark.parametrize(
    ("patch", "use"),
    [
        ({"planner/formats/lines.py": [("", FORMAT)], **IN_TABLE}, USE_FORMAT),
        ({"runtimes/toy/__init__.py": TOY, "runtimes/toy/system.py": [("", IMPORTER)], **IN_IMPORTERS}, USE_IMPORTER),
    ],
    ids=["format", "importer"],
)
def test_a_toy_format_or_importer_works_after_the_changes_of_the_guide(tmp_path: Path, patch: Patch, use: str) -> None:
    copy_packages(tmp_path)
    extend(tmp_path, patch)
    (tmp_path / "work").mkdir()
    done = run_beside(tmp_path, use, cwd=tmp_path / "work")
    assert done.stdout.endswith("used\n"), done.stderr
