"""The guide in docs/adding.md works: a toy route, added to a copy of the packages, is served like all routes."""

from pathlib import Path

from tests.support.house_copies import ROOT, copy_packages, extend, guide, run_beside

MOST_FILES = 4
ROUTE = '''"""`POST /v1/load`: the bytes that are alive over time."""

from fastapi import APIRouter, Request
from pydantic import BaseModel

from memplan.api.http.app_state import Service
from memplan.api.http.auth import may
from memplan.api.http.receiving import media_type, read_body
from memplan.api.http.problem_details import error_answers
from memplan.api.request_bodies import JSON
from memplan.planner.bounds.lower_bound import live_bytes
from memplan.planner.formats import FORMATS
from memplan.planner.instance.compile import compile_problem

router = APIRouter()
BODY = {"content": {JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}}, "required": True}


class Load(BaseModel):
    """The times at which the most is alive, and how much."""

    load: list[tuple[int, int]]


@router.post(
    "/v1/load",
    summary="Tell the load",
    responses=error_answers(400, 413, 415, 422),
    openapi_extra={"requestBody": BODY},
    dependencies=[may("plan")],
)
async def load(request: Request) -> Load:
    """Answer with the bytes alive at each time at which others begin to live."""
    service = Service.find_service(request)
    media_type(request, JSON)
    body = await read_body(request, service.settings.max_body_bytes)
    problem = FORMATS["json"].read_problem(body)
    return await service.run_work(lambda: Load(load=live_bytes(compile_problem(problem))), len(body))
'''
CALL = """
import sys
from pathlib import Path

from fastapi.testclient import TestClient

from memplan.api.http.app import create_app
from memplan.api.settings import Settings

app = create_app(Settings(data_folder=Path(sys.argv[1]), workers=0, require_keys=True, admin_key="k" * 40))
problem = {"buffers": [{"id": 0, "size": 8, "start": 0, "end": 2}, {"id": 1, "size": 4, "start": 1, "end": 3}]}
key = {"Authorization": "Bearer " + "k" * 40}
with TestClient(app) as client:
    answer = client.post("/v1/load", json=problem, headers=key)
    assert (answer.status_code, answer.json()) == (200, {"load": [[1, 12]]}), answer.text
    assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["x-request-id"]
    refusals = [
        (client.post("/v1/load", json=problem), 401),
        (client.post("/v1/load", content=b"{", headers=key), 400),
        (client.post("/v1/load", json={"buffers": 1}, headers=key), 422),
        (client.post("/v1/load", content=b"", headers=key | {"Content-Type": "text/html"}), 415),
    ]
    for refusal, status in refusals:
        assert refusal.status_code == status, refusal.text
        assert refusal.headers["content-type"] == "application/problem+json"
    described = client.get("/openapi.json").json()["paths"]["/v1/load"]["post"]
    assert {"200", "400", "401", "403", "413", "415", "422", "429", "503"} <= described["responses"].keys()
    assert described["security"]
    assert 'route="/v1/load"' in client.get("/metrics", headers=key).text
print("answered")
"""


def test_the_guide_lists_at_most_four_files_to_change_for_a_new_route() -> None:
    listed = guide("How to add a route")
    assert {"api/http/routes/NAME.py", "api/http/app.py"} <= listed
    assert len(listed) <= MOST_FILES
    assert all((ROOT / name).exists() for name in listed if "NAME" not in name)


def test_a_route_added_by_the_guide_gets_authentication_errors_schema_and_metrics(tmp_path: Path) -> None:
    copy_packages(tmp_path)
    in_app = [("jobs, plans,", "jobs, load, plans,"), ("(questions, plans,", "(load, questions, plans,")]
    extend(tmp_path, {"api/http/routes/load.py": [("", ROUTE)], "api/http/app.py": in_app})
    done = run_beside(tmp_path, CALL, str(tmp_path / "data"))
    assert done.stdout == "answered\n", done.stderr
