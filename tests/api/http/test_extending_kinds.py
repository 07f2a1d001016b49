"""The guide in docs/extending.md, followed: a toy kind of job, in a copy of the packages, is called and queued."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.house_copies import copy_packages, run_beside

ROOT = Path(__file__).parents[3]
MOST_FILES = 4
KIND = '''"""The kind `count`: the buffers of a problem, counted one by one."""

from pydantic import BaseModel, create_model
from pydantic_core import to_json

from memplan.api.cluster.task import WorkAnswer
from memplan.api.service.kinds.kind import JobKind, KindOptions, Subject
from memplan.planner.instance.canonical import problem_hash
from memplan.planner.model.problem import Problem


class CountAnswer(BaseModel):
    """How many buffers there are."""

    buffers: int


def _run(problem, options, control):
    for k, _ in enumerate(problem.buffers):
        control.tell({"seen": k + 1})
    return WorkAnswer(to_json({"buffers": len(problem.buffers)}), "counted")


KIND = JobKind(
    name="count",
    summary="Count buffers",
    description="Answer with the number of buffers.",
    fields=("problem",),
    read=lambda content: Problem.model_validate(content["problem"]),
    about=lambda problem: Subject(problem_hash(problem), problem.name, len(problem.buffers), len(problem.pools)),
    run=_run,
    request=create_model("CountRequest", problem=Problem, options=(KindOptions, KindOptions())),
    answer=CountAnswer,
    example={"problem": {"buffers": [{"id": 0, "size": 8, "start": 0, "end": 2}]}},
)
'''
CALL = """
import sys
import time
from pathlib import Path

from fastapi.testclient import TestClient

from memplan.api.http.app import create_app
from memplan.api.settings import Settings

app = create_app(Settings(data_folder=Path(sys.argv[1]), workers=0, require_keys=True, admin_key="k" * 40))
problem = {"buffers": [{"id": 0, "size": 8, "start": 0, "end": 2}, {"id": 1, "size": 4, "start": 1, "end": 3}]}
key = {"Authorization": "Bearer " + "k" * 40}
with TestClient(app) as client:
    answer = client.post("/v1/count", json=problem, headers=key)
    assert (answer.status_code, answer.json()) == (200, {"buffers": 2}), answer.text
    for refusal, status in [
        (client.post("/v1/count", json=problem), 401),
        (client.post("/v1/count", content=b"{", headers=key), 400),
        (client.post("/v1/count", json={"buffers": 1}, headers=key), 422),
        (client.post("/v1/jobs?kind=count", json={"buffers": 1}, headers=key), 422),
    ]:
        assert refusal.status_code == status, refusal.text
    assert client.get("/openapi.json").json()["paths"]["/v1/count"]["post"]["security"]
    links = client.post("/v1/jobs?kind=count", json=problem, headers=key).json()["links"]
    give_up = time.monotonic() + 30
    while client.get(links["self"], headers=key).json()["state"] != "succeeded":
        assert time.monotonic() < give_up
        time.sleep(0.02)
    assert client.get(links["result"], headers=key).json() == {"buffers": 2}
    assert client.get(links["self"], headers=key).json()["plan_status"] == "counted"
    assert [job["kind"] for job in client.get("/v1/jobs?kind=count", headers=key).json()["jobs"]] == ["count"]
print("answered")
"""


def test_the_guide_lists_the_files_of_a_kind_and_they_are_few() -> None:
    section = (ROOT / "docs/extending.md").read_text().split("## How to add a kind of job")[1].split("\n## ")[0]
    listed = set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))
    assert {"api/service/kinds/NAME.py", "api/service/kinds/registry.py"} <= listed
    assert len(listed) <= MOST_FILES
    assert all((ROOT / name).exists() for name in listed if "NAME" not in name)


def test_a_toy_kind_is_answered_queued_listed_and_described_as_others_are(tmp_path: Path) -> None:
    copy_packages(tmp_path)
    (tmp_path / "api/service/kinds/count.py").write_text(KIND)
    registry = tmp_path / "api/service/kinds/registry.py"
    text = registry.read_text()
    assert text.count("_MODULES = (") == 1, "the guide expects the list of modules"
    registry.write_text(text.replace("_MODULES = (", '_MODULES = ("count", '))
    done = run_beside(tmp_path, CALL, str(tmp_path / "data"))
    assert done.stdout == "answered\n", done.stderr
