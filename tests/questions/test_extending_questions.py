"""The guides in docs/adding.md work: a toy question and a toy model option, added to a copy of memplan."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.house_copies import ROOT, copy_packages, extend, guide, insertion_before, run_beside

pytestmark = pytest.mark.slow

PLUGIN = (ROOT / "examples/plugin/memplan_bump/count.py").read_text()
COUNT = PLUGIN.replace("    lines=", '    status=lambda _: "counted",\n    lines=')
CALLS = """
import json
import sys
import time
from pathlib import Path

from fastapi.testclient import TestClient

import memplan
from memplan.api.cli.main import main
from memplan.api.http.app import create_app
from memplan.api.settings import Settings

buffers = [{"id": 0, "size": 8, "start": 0, "end": 2}, {"id": 1, "size": 4, "start": 1, "end": 3}]
problem, folder = {"buffers": buffers}, Path(sys.argv[1])
one = {"buffers": 1, "points": [{"size": 8, "buffers": 1}]}
two = {"buffers": 2, "points": [{"size": 4, "buffers": 1}, {"size": 8, "buffers": 1}]}
assert memplan.count(memplan.Problem.model_validate(problem)).buffers == 2
assert memplan.count(problem, least=5).buffers == memplan.count(problem, memplan.CountOptions(least=5)).buffers == 1
(folder / "problem.json").write_text(json.dumps(problem))
assert main(["count", str(folder / "problem.json"), "--least", "5", "-o", str(folder / "count.json")]) == 0
assert json.loads((folder / "count.json").read_text()) == one
assert main(["count", str(folder / "problem.json"), "--least", "-1"]) == 2

app = create_app(Settings(data_folder=folder / "data", workers=1, require_keys=True, admin_key="k" * 40))
key = {"Authorization": "Bearer " + "k" * 40}
with TestClient(app) as client:
    for answer, expected in [
        (client.post("/v1/count", json=problem, headers=key), two),
        (client.post("/v1/count", json={"problem": problem, "options": {"least": 5}}, headers=key), one),
        (client.post("/v1/count?least=5", json=problem, headers=key), one),
    ]:
        assert (answer.status_code, answer.json()) == (200, expected), answer.text
    for refusal, status in [
        (client.post("/v1/count", json=problem), 401),
        (client.post("/v1/count", content=b"{", headers=key), 400),
        (client.post("/v1/count", json={"buffers": 1}, headers=key), 422),
        (client.post("/v1/count?least=-1", json=problem, headers=key), 422),
        (client.post("/v1/jobs?kind=count", json={"buffers": 1}, headers=key), 422),
    ]:
        assert refusal.status_code == status, refusal.text
    described = client.get("/openapi.json").json()["paths"]["/v1/count"]["post"]
    assert described["security"] and "least" in {each["name"] for each in described["parameters"]}
    links = client.post("/v1/jobs?kind=count", json=problem, headers=key).json()["links"]
    give_up = time.monotonic() + 30
    while client.get(links["self"], headers=key).json()["state"] != "succeeded":
        assert time.monotonic() < give_up
        time.sleep(0.02)
    assert client.get(links["result"], headers=key).json() == two
    assert client.get(links["self"], headers=key).json()["plan_status"] == "counted"
    assert [job["kind"] for job in client.get("/v1/jobs?kind=count", headers=key).json()["jobs"]] == ["count"]
print("answered")
"""
PADDED = """
import json
import sys
from base64 import b64encode
from pathlib import Path

from fastapi.testclient import TestClient

import memplan
from memplan.api.cli.main import main
from memplan.api.http.app import create_app
from memplan.api.settings import Settings

model, folder = Path(sys.argv[1]), Path(sys.argv[2])
plain = [buffer.size for buffer in memplan.read_problem(model).buffers]
padded = [buffer.size for buffer in memplan.read_problem(model, padding=64).buffers]
assert padded == [size + 64 for size in plain]
for command in (["plan", str(model), "--padding", "64", "-q", "-o", str(folder / "plan.json")],
                ["convert", str(model), "-o", str(folder / "problem.json"), "--padding", "64", "-q"]):
    assert main(command) == 0
rows = json.loads((folder / "problem.json").read_text())["buffers"]
assert [row["size"] for row in rows] == padded
app = create_app(Settings(data_folder=folder / "data", workers=0))
with TestClient(app) as client:
    data = model.read_bytes()
    headers = {"content-type": "application/octet-stream"}
    answer = client.post("/v1/convert?padding=64", content=data, headers=headers)
    assert [row["size"] for row in answer.json()["problem"]["buffers"]] == padded, answer.text
    body = {"file": b64encode(data).decode(), "options": {"padding": 64}}
    assert client.post("/v1/convert", json=body).json()["problem"] == answer.json()["problem"]
print("padded")
"""


def test_the_guides_list_the_files_to_change_for_a_question_and_a_reading_option() -> None:
    assert guide("How to add a question") == {"questions/NAME/NAME.py", "questions/__init__.py", "memplan/__init__.py"}
    needed = {"planner/foreign/model_options.py", "runtimes/NAME/reader.py"}
    assert guide("How to add an option for reading models") == needed


def test_a_toy_question_is_answered_on_every_entrance(tmp_path: Path) -> None:
    copy_packages(tmp_path)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    rows = "OWN_ROWS: Mapping[str, Row] = {\n"
    extend(
        tmp_path,
        {
            "questions/count/__init__.py": [("", '"""The question `count`."""\n')],
            "questions/count/count.py": [("", COUNT)],
            "questions/__init__.py": [(rows, rows + '    "count": Row("memplan.questions.count.count:QUESTION"),\n')],
        },
    )
    done = run_beside(tmp_path, CALLS, str(tmp_path))
    assert done.stdout == "answered\n", done.stderr
    layers = run_beside(tmp_path, "from importlinter.cli import lint_imports_command as run; run(['--no-cache'])")
    assert " 0 broken." in layers.stdout, layers.stdout + layers.stderr


def test_a_toy_option_for_models_is_accepted_on_every_entrance(tmp_path: Path) -> None:
    copy_packages(tmp_path)
    padding = '    padding: int = Field(0, ge=0, description="Bytes behind each buffer.")\n'
    extend(
        tmp_path,
        {
            "planner/foreign/model_options.py": [
                insertion_before('    views: Views = Field(\n        "alias"', padding)
            ],
            "planner/foreign/imported.py": [
                insertion_before("    if options.alignment is not None:\n", "    size += options.padding\n")
            ],
        },
    )
    trace = [{"action": "alloc", "addr": 512 * k, "size": 512} for k in range(2)]
    model = tmp_path / "snapshot.json"
    model.write_text(json.dumps({"segments": [], "device_traces": [trace]}))
    done = run_beside(tmp_path, PADDED, str(model), str(tmp_path))
    assert done.stdout == "padded\n", done.stderr
