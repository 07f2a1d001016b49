"""The installed `examples/plugin` adds to every entrance without any change of memplan."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "examples" / "plugin"
MOST_LINES = 160
CALLS = """
import json
import sys
from pathlib import Path
from types import SimpleNamespace

from fastapi.testclient import TestClient

import memplan
from lab.manual import manual
from memplan.api.cli.main import main
from memplan.api.http.app import create_app
from memplan.api.settings import Settings
from memplan.planner.instance.compile import compile_problem
from memplan.solvers.portfolio import registry

folder = Path(sys.argv[1])
log, answer = folder / "heap.log", folder / "answer.json"
log.write_text("bump 1\\na 8 0 4\\nb 4 0 4\\nc 8 4 6\\n")
rows = [{"id": 0, "size": 8, "start": 0, "end": 4}, {"id": 1, "size": 4, "start": 0, "end": 4, "at_most": 3}]
problem = memplan.Problem.model_validate({"buffers": rows})

# In Python: the importer, the question and its options, the kind and its checker.
assert memplan.solve(log).peak == 12
assert memplan.count(log, least=5).buffers == memplan.count(log, memplan.CountOptions(least=5)).buffers == 2
assert {"count", "CountOptions"} <= {*dir(memplan)}
assert problem == memplan.Problem.model_validate_json(problem.model_dump_json(exclude_defaults=True))
plan = memplan.solve(problem)
assert (plan.status, plan.placement(1).offset, plan.placement(0).offset) == ("optimal", 0, 4)
assert memplan.solve({"buffers": [*rows, {**rows[1], "id": 2}]}).status == "infeasible"
moved = {"placements": [{"id": 0, "pool": "default", "offset": 0}, {"id": 1, "pool": "default", "offset": 8}]}
assert [each.rule for each in memplan.verify(problem, moved).violations] == ["above-most"]

# The solver: it offers a plan, which the verifier checks, and runs where it is named.
plan = memplan.solve({"buffers": rows[:1] + [{"id": 1, "size": 4, "start": 2, "end": 6}]}, solver="first-fit")
assert (plan.status, plan.peak) == ("optimal", 12)
offers = []
found = SimpleNamespace(is_over=False, offer=lambda pool, offset, by: offers.append((offset.tolist(), by)))
registry.find("first-fit").function(compile_problem(memplan.Problem(buffers=[rows[0], {**rows[0], "id": 2}])), found)
assert offers == [([0, 1], "first-fit")]  # in units of 8 bytes

# As commands, in their help and in the list of them, and in the reference that is made of the definitions.
assert main(["plan", str(log), "--solver", "reference:bump", "-q", "-o", str(answer)]) == 0
assert json.loads(answer.read_text())["peak"] == 20
assert main(["count", str(log), "--least", "5", "-o", str(answer)]) == 0
assert json.loads(answer.read_text()) == {"buffers": 2, "points": [{"size": 8, "buffers": 2}]}
assert main(["count", str(log), "--least", "-1"]) == 2
assert main(["-h"]) == main(["count", "-h"]) == 0
assert "## count\\n" in manual() and "| Bump allocator |" in manual()

# Over HTTP: calls, the schema, and the page's list, which is made of it.
with TestClient(create_app(Settings(data_folder=folder / "data", workers=0))) as client:
    assert client.post("/v1/count?least=5", json={"buffers": rows}).json()["buffers"] == 1
    assert client.post("/v1/plan", json={"buffers": rows}).json()["status"] == "optimal"
    data = {"content": log.read_bytes(), "headers": {"content-type": "application/octet-stream"}}
    assert len(client.post("/v1/convert", **data).json()["problem"]["buffers"]) == 3
    described = client.get("/openapi.json").json()
    # What the page draws of its answer, without a line of the page: a chart.
    assert described["paths"]["/v1/count"]["post"]["x-view"]["name"] == ["size", "buffers"]
    assert "at_most" in json.dumps(described["components"]["schemas"])
print("found")
"""
BROKEN = """[project]
name = "broken"
version = "2.0"
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project.entry-points."memplan.systems"]
gone = "broken_of_memplan:SYSTEM"
[project.entry-points."memplan.kinds"]
at_least = "memplan.planner.extensions:OffsetKind"
"""


def install(project: Path, target: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    subprocess.run([*pip, "--target", str(target), str(project)], check=True, capture_output=True)
    return target


def run_with(folders: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(folders)])}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, env=environment, text=True, capture_output=True, check=False, timeout=200)


@pytest.mark.slow
def test_additions_of_an_installed_plugin_are_available_on_every_entrance(tmp_path: Path) -> None:
    sources = [path for path in PLUGIN.rglob("*") if path.suffix in (".py", ".toml", ".md")]
    assert sum(len(path.read_text().splitlines()) for path in sources) <= MOST_LINES
    done = run_with(install(PLUGIN, tmp_path / "site"), CALLS, str(tmp_path))
    assert done.stdout.endswith("found\n"), done.stderr
    assert "count " in done.stdout


@pytest.mark.slow
def test_a_plugin_that_cannot_be_imported_is_named_and_skipped(tmp_path: Path) -> None:
    (tmp_path / "broken" / "broken").mkdir(parents=True)
    (tmp_path / "broken" / "broken" / "__init__.py").touch()
    (tmp_path / "broken" / "pyproject.toml").write_text(BROKEN)
    code = "from memplan.api.cli.main import main; main(['plan', 'examples/mobilenet_v2.csv', '-q']); main(['solvers'])"
    done = run_with(install(tmp_path / "broken", tmp_path / "site"), code)
    assert '"status":"optimal"' in done.stdout
    reason = "cannot be imported: ModuleNotFoundError: No module named 'broken_of_memplan'"
    assert f"systems gone of broken 2.0: is left out, as it {reason}" in done.stderr
    assert "kinds at_least: is left out, because no checker of that name" in done.stderr
