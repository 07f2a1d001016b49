"""The HTTP calls of the service: plan, verify, solvers, health, schema, and cached responses."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import jsonschema_rs
import pytest

from memplan.api.http.openapi import PROBLEM_EXAMPLE
from memplan.api.options import Options
from memplan.api.service.cache.written_plans import WrittenPlans
from memplan.planner import __version__
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.systems import reference_planners
from memplan.planner.verify.verifier import verify
from memplan.questions import QUESTIONS
from memplan.questions.reading import ReadOptions
from memplan.solvers.portfolio import registry
from memplan.solvers.portfolio.registry import SOLVERS
from tests.support.depth import GRACE_S
from tests.support.server import RunningServer

CSV_EXAMPLE = "id,lower,upper,size\nconv1,0,3,401408\nconv2,2,5,200704\n"
CSV_PLAN_EXAMPLE = "id,lower,upper,size,offset\nconv1,0,3,401408,0\nconv2,2,5,200704,401408\n"
TOO_TIGHT: dict[str, Any] = {**PROBLEM_EXAMPLE, "pools": [{"name": "sram", "size": 500_000}]}


def plan(server: RunningServer, content: object, **options: object) -> Any:
    answer = server.client.post("/v1/plan", json=content, params={name: str(value) for name, value in options.items()})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return answer.json()


def test_a_plan_request_may_consist_of_the_problem_alone(server: RunningServer) -> None:
    found = plan(server, PROBLEM_EXAMPLE)
    assert (found["status"], found["stop_reason"]) == ("optimal", "proved")
    assert (found["peak"], found["lower_bound"], found["gap"]) == (602112, 602112, 0.0)
    assert found["proof"] == {"kind": "live-set", "time": 2, "buffers": ["conv1", "conv2"], "by": None}
    assert found["version"] == __version__
    assert verify(Problem.model_validate(PROBLEM_EXAMPLE), Plan.model_validate(found)) == ()


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("text/csv", "text/csv"),
        ("text/csv, */*;q=0.5", "text/csv"),
        ("application/json;q=0.4, text/csv;q=0.5", "text/csv"),
        ("application/json, text/csv", "application/json"),
        ("text/csv;q=0", "application/json"),
        ("text/csv;q=nan", "application/json"),
        ("*/*", "application/json"),
        ("", "application/json"),
    ],
)
def test_a_plan_is_csv_if_the_accept_header_prefers_it(server: RunningServer, accept: str, kind: str) -> None:
    answer = server.client.post("/v1/plan", json=PROBLEM_EXAMPLE, headers={"accept": accept})
    assert answer.headers["content-type"].partition(";")[0] == kind
    if kind == "text/csv":
        assert answer.text == CSV_PLAN_EXAMPLE


@pytest.mark.parametrize("accept", ["text/csv", "text/plain"])
def test_an_infeasible_problem_is_answered_in_json_whatever_is_accepted(server: RunningServer, accept: str) -> None:
    answer = server.client.post("/v1/plan", json=TOO_TIGHT, headers={"accept": accept})
    assert answer.status_code == 200
    found = answer.json()
    assert (found["status"], found["placements"]) == ("infeasible", [])
    assert found["explanation"]["message"]


def test_the_query_parameter_capacity_sets_the_pool_size(server: RunningServer) -> None:
    assert plan(server, PROBLEM_EXAMPLE, capacity="1MiB")["pools"][0]["size"] == 2**20
    assert plan(server, PROBLEM_EXAMPLE, capacity="100kB")["status"] == "infeasible"


@pytest.mark.parametrize("capacity", [48, "48", [48], ["48B"]])
def test_a_capacity_in_the_body_may_be_a_number_or_text_with_a_unit(server: RunningServer, capacity: object) -> None:
    found = plan(server, {"buffers": [{"id": "a", "size": 64, "start": 0, "end": 3}], "capacity": capacity})
    said = (
        'pool "default" lacks 16 bytes at time 0; 1 buffer ("a": 64 bytes, more than 48) alone does not fit; 64 bytes'
    )
    assert (found["status"], found["explanation"]["message"]) == ("infeasible", f"{said} would do")


def test_repeated_capacity_parameters_define_named_pools(server: RunningServer) -> None:
    sizes, in_csv = {"capacity": ["fast=250kB", "slow=1MB"]}, {"content-type": "text/csv", "accept": "text/csv"}
    answer = server.client.post("/v1/plan", params=sizes, content=CSV_EXAMPLE, headers=in_csv)
    assert answer.text == "id,lower,upper,size,offset,pool\nconv1,0,3,401408,0,slow\nconv2,2,5,200704,0,fast\n"


def test_buffer_ids_are_returned_unchanged(server: RunningServer) -> None:
    ids = [0, -5, 10**30, "0", "é\u0000\U0001f40d", '"quoted"\n', " "]
    found = plan(server, {"buffers": [{"id": name, "size": 8, "start": 0, "end": 1} for name in ids]})
    assert [row["id"] for row in found["placements"]] == ids


def test_verify_returns_the_violations_of_an_invalid_plan(server: RunningServer) -> None:
    rows = [{"id": name, "pool": "default", "offset": 0} for name in ("conv1", "conv2")]
    answer = server.client.post("/v1/verify", json={"problem": PROBLEM_EXAMPLE, "plan": {"placements": rows}})
    assert answer.status_code == 200
    found = answer.json()
    assert not found["valid"]
    (violation,) = (one for one in found["violations"] if one["rule"] == "overlap")
    assert {violation["first"], violation["second"]} == {"conv1", "conv2"}
    assert (violation["bytes"], violation["time"]) == ([0, 200704], [2, 3])


def test_the_service_lists_all_solvers_and_reference_planners(server: RunningServer) -> None:
    listed = server.client.get("/v1/solvers").json()["solvers"]
    assert [row["name"] for row in listed] == [*(row.name for row in SOLVERS), *reference_planners()]
    assert all(row["installed"] and row["can"] for row in listed)
    assert all((row["source"] is None) == (row["name"] in registry.BY_NAME) for row in listed)


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_healthz_and_readyz_answer_ok(server: RunningServer, path: str) -> None:
    answer = server.client.get(path)
    assert (answer.status_code, answer.json()) == (200, {"status": "ok", "version": __version__})


def test_the_schema_lists_every_call_with_examples_that_the_service_accepts(server: RunningServer) -> None:
    schema = server.client.get("/openapi.json").json()
    calls = {"/v1/plan", "/v1/verify", "/v1/liveness", "/v1/solvers", "/healthz", "/readyz", "/metrics"}
    assert calls <= set(schema["paths"])
    for path in ("/v1/plan", "/v1/verify", "/v1/liveness"):
        for kind, content in schema["paths"][path]["post"]["requestBody"]["content"].items():
            if "example" in content:
                example = content["example"]
                body = {"content": example} if isinstance(example, str) else {"json": example}
                answer = server.client.post(path, headers={"content-type": kind}, **body)
                assert answer.status_code == 200, answer.text


def test_the_schema_lists_every_plan_option_as_a_query_parameter(server: RunningServer) -> None:
    schema = server.client.get("/openapi.json").json()
    asked = [one["name"] for one in schema["paths"]["/v1/plan"]["post"]["parameters"]]
    assert asked == list(dict.fromkeys((*Options.model_fields, *ReadOptions.model_fields, "fields", "fail")))


def _parts(value: object) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        yield value
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _parts(each)


def test_the_schema_has_resolvable_references_and_unique_titles_for_client_generators(server: RunningServer) -> None:
    schema = server.client.get("/openapi.json").json()
    components, parts = schema["components"], [*_parts(schema)]
    references = {part["$ref"] for part in parts if isinstance(part.get("$ref"), str)}
    assert references <= {f"#/components/schemas/{name}" for name in components["schemas"]}
    titles = [model.get("title", name) for name, model in components["schemas"].items()]
    assert len(titles) == len(set(titles))
    fields = [part for part in parts if "default" in part and ("anyOf" in part or isinstance(part.get("type"), str))]
    every = {"properties": {str(k): field for k, field in enumerate(fields)}, "components": components}
    wrong = jsonschema_rs.validator_for(every).iter_errors({str(k): field["default"] for k, field in enumerate(fields)})
    assert [(error.instance_path, error.message) for error in wrong] == []
    assert len(fields) > 100


def test_symbol_ranges_and_values_of_shapes_can_be_query_parameters(server: RunningServer) -> None:
    example = QUESTIONS["shapes"].example
    query = {"symbol": "n=2..16,b=1..4", "limits": "true", "within": "1048576", "at": "b=2"}
    answer = server.client.post("/v1/shapes", json={"problem": example["problem"]}, params=query)
    assert answer.status_code == 200, answer.text
    assert answer.json()["symbols"]["n"] == {"min": 2, "max": 16, "multiple_of": 1}


_ROWS = [{"id": 1, "size": 8, "start": 0, "end": 2}, {"id": ',"wall_time_s":1', "size": 4, "start": 1, "end": 3}]


def post_plan(server: RunningServer, body: object, **headers: str) -> httpx.Response:
    answer = server.client.post("/v1/plan", content=json.dumps(body).encode(), headers=headers)
    assert answer.status_code == 200, answer.text
    return answer


def count_kept(server: RunningServer) -> int:
    return len(server.service.written._plans)


def test_a_repeated_request_gets_the_same_answer_except_its_time(server: RunningServer) -> None:
    first, before = post_plan(server, {"buffers": _ROWS}), count_kept(server)
    again = post_plan(server, {"buffers": _ROWS})
    assert count_kept(server) == before >= 1
    one, other = first.json(), again.json()
    assert 0 <= other.pop("wall_time_s") < 5 + GRACE_S
    assert one.pop("wall_time_s") >= 0
    assert one == other
    assert first.headers["link"] == again.headers["link"]


def test_the_response_cache_distinguishes_body_query_and_format(server: RunningServer) -> None:
    post_plan(server, {"buffers": _ROWS})
    assert post_plan(server, {"buffers": _ROWS}, accept="text/csv").headers["content-type"].startswith("text/csv")
    in_json = post_plan(server, {"problem": {"buffers": _ROWS}, "options": {"format": "json"}}, accept="text/csv")
    assert in_json.json()["status"] == "optimal"
    assert post_plan(server, {"buffers": _ROWS[:1]}).json()["peak"] == 8
    small = server.client.post("/v1/plan?capacity=11", content=json.dumps({"buffers": _ROWS}).encode())
    assert small.json()["status"] == "infeasible"
    assert server.client.post("/v1/plan?capacity=11", content=json.dumps({"buffers": _ROWS})).json()["explanation"]


def test_the_response_cache_skips_unproved_plans_and_plans_of_named_solvers(server: RunningServer) -> None:
    before = count_kept(server)
    for options in ({"deterministic": True}, {"solver": "greedy"}):
        post_plan(server, {"problem": {"buffers": _ROWS}, "options": options})
    post_plan(server, {"problem": {"buffers": _ROWS, "objective": "fit", "pools": [{"name": "a", "size": 99}]}})
    assert count_kept(server) <= before + 1  # that which fits may be proved, too


def test_the_response_cache_evicts_its_oldest_entries_above_its_memory_limit() -> None:
    plans = WrittenPlans(10_000)
    content = b'{"peak":1,"wall_time_s":0.1,"version":"1"}'
    for k in range(40):
        plans.keep(b"%d" % k, content, "optimal")
    assert plans.find(b"0") is None
    latest = plans.find(b"39")
    assert latest is not None
    assert json.loads(latest.content(0.0)).keys() == json.loads(content).keys()
    plans.keep(b"large", content + b" " * 5_000, "optimal")
    assert plans.find(b"large") is None


def test_the_header_x_memplan_cache_states_hit_or_miss(server: RunningServer) -> None:
    rows = [{"id": k, "size": 17 + k, "start": 0, "end": 2} for k in range(3)]
    first, again = (post_plan(server, {"buffers": rows}).headers["x-memplan-cache"] for _ in range(2))
    renamed = post_plan(server, {"buffers": [row | {"id": f"b{row['id']}"} for row in rows]})
    assert (first, again, renamed.headers["x-memplan-cache"]) == ("miss", "hit", "hit")


def test_bytes_moved_from_the_body_into_the_query_do_not_hit_the_response_cache(server: RunningServer) -> None:
    body = json.dumps({"buffers": _ROWS}).encode()
    post_plan(server, {"buffers": _ROWS})
    assert server.client.post(f"/v1/plan?{body[:11].decode()}", content=body[11:]).status_code == 400
