"""Jobs over HTTP: submission, status, event streams, results and cancellation."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from memplan.api.http.openapi import PROBLEM_EXAMPLE
from memplan.api.settings import Settings
from memplan.api.store.job import MEANINGS
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from tests.support.hard_requests import HARD
from tests.support.server import RunningServer, run_server

NOBODY = "00000000-0000-7000-8000-000000000000"
CSV_EXAMPLE = "id,lower,upper,size\nconv1,0,3,401408\nconv2,2,5,200704\n"
CSV_PLAN_EXAMPLE = "id,lower,upper,size,offset\nconv1,0,3,401408,0\nconv2,2,5,200704,401408\n"


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    with run_server(Settings(max_jobs=20)) as found:
        found.service.streams.limit = 3
        yield found


def submit(server: RunningServer, content: object = PROBLEM_EXAMPLE, **headers: str) -> dict[str, Any]:
    answer = server.client.post("/v1/jobs", json=content, headers=headers)
    assert answer.status_code == 202, answer.text
    found: dict[str, Any] = answer.json()
    assert answer.headers["location"] == found["links"]["self"]
    return found


def hard_request(limit_s: float = 100.0, **said: Any) -> dict[str, Any]:
    return {"problem": json.loads(HARD)["problem"], "options": {"time_limit_s": limit_s}} | said


def look(server: RunningServer, job: dict[str, Any]) -> dict[str, Any]:
    return dict(server.client.get(job["links"]["self"]).json())


def wait(server: RunningServer, job: dict[str, Any], is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    give_up = time.monotonic() + 30
    while not is_so(found := look(server, job)):
        assert time.monotonic() < give_up, found
        time.sleep(0.02)
    return found


def wait_for_end(server: RunningServer, job: dict[str, Any]) -> dict[str, Any]:
    return wait(server, job, lambda found: found["finished_at"] is not None)


def events_of(text: str) -> list[dict[str, str]]:
    blocks = [block for block in text.split("\n\n") if block and not block.startswith(":")]
    return [dict(line.split(": ", 1) for line in block.split("\n")) for block in blocks]


def test_the_query_parameter_name_names_a_job(server: RunningServer) -> None:
    accepted = server.client.post("/v1/jobs?name=nightly", json=PROBLEM_EXAMPLE | {"name": "two"}).json()
    assert accepted["name"] == "nightly"
    listed = server.client.get("/v1/jobs", params={"name": "nightly"}).json()["jobs"]
    assert [job["id"] for job in listed] == [accepted["id"]]
    refused = server.client.post("/v1/jobs", params={"name": ""}, json=PROBLEM_EXAMPLE)
    assert (refused.status_code, refused.json()["detail"][:5]) == (422, "name:")


def test_a_job_is_accepted_and_solved(server: RunningServer) -> None:
    accepted = submit(server, PROBLEM_EXAMPLE | {"name": "two"})
    assert (accepted["state"], accepted["meaning"]) == ("queued", MEANINGS["queued"])
    assert (accepted["name"], accepted["buffers"], accepted["priority"], accepted["attempts"]) == ("two", 2, 0, 0)
    told = wait_for_end(server, accepted)
    assert (told["state"], told["plan_status"], told["error"], told["late_s"]) == ("succeeded", "optimal", None, None)
    assert told["progress"]["peak"] == told["progress"]["lower_bound"] == 602112
    assert told["created_at"] <= told["started_at"] <= told["finished_at"]
    assert told["created_at"].endswith("Z")


def test_a_jobs_stored_request_is_returned_as_a_sandboxed_attachment(server: RunningServer) -> None:
    page = b"<script>alert(1)</script>"
    job = server.client.post("/v1/jobs", content=page, headers={"content-type": "text/html"}).json()
    answer = server.client.get(f"{job['links']['self']}/request")
    assert (answer.content, answer.headers["content-disposition"]) == (page, "attachment")
    assert answer.headers["content-security-policy"].startswith("sandbox; default-src 'none'")


def test_the_plan_of_a_job_is_written_in_the_requested_format(server: RunningServer) -> None:
    job = submit(server)
    wait_for_end(server, job)
    assert server.client.get(job["links"]["plan"], headers={"accept": "text/csv"}).text == CSV_PLAN_EXAMPLE
    triples = submit(server, {"problem": PROBLEM_EXAMPLE, "options": {"format": "triples"}})
    wait_for_end(server, triples)
    assert server.client.get(triples["links"]["plan"]).json()[0] == ["conv1", "default", 0]


def test_a_csv_job_takes_time_limit_priority_and_deadline_from_the_query(server: RunningServer) -> None:
    said = {"time_limit_s": 3, "priority": -7, "deadline_s": 1000}
    answer = server.client.post("/v1/jobs", content=CSV_EXAMPLE, params=said, headers={"content-type": "text/csv"})
    job = answer.json()
    assert (answer.status_code, job["priority"], job["options"]["time_limit_s"]) == (202, -7, 3.0)
    assert job["deadline_at"] > job["created_at"]
    assert wait_for_end(server, job)["progress"]["peak"] == 602112


def test_the_event_stream_of_a_job_starts_with_its_first_event(server: RunningServer) -> None:
    with server.client.stream("GET", submit(server)["links"]["events"]) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = events_of(answer.read().decode())
    assert [event["event"] for event in events] == ["queued", "started", "finished"]
    assert [event["id"] for event in events] == ["1", "2", "3"]
    last = json.loads(events[-1]["data"])
    assert (last["state"], last["peak"], last["plan_status"]) == ("succeeded", 602112, "optimal")


def test_a_reconnecting_client_receives_only_the_events_after_its_last_event_id(server: RunningServer) -> None:
    job = submit(server)
    wait_for_end(server, job)
    answer = server.client.get(job["links"]["events"], headers={"last-event-id": "2"})
    assert [event["event"] for event in events_of(answer.text)] == ["finished"]
    answer = server.client.get(job["links"]["events"], headers={"last-event-id": "3"})
    assert (answer.status_code, answer.content) == (204, b"")  # 204 stops a browser's EventSource from reconnecting


def test_a_job_streams_better_plans_and_keeps_the_best_one_when_cancelled(server: RunningServer) -> None:
    job, kinds = submit(server, hard_request(priority=100)), []
    with server.client.stream("GET", job["links"]["events"]) as answer:
        lines = answer.iter_lines()
        for line in lines:
            kinds += [line.removeprefix("event: ")] if line.startswith("event: ") else []
            if kinds.count("better") == 2:
                break
        wait(server, job, lambda found: server.client.get(job["links"]["plan"]).status_code == 200)
        so_far = server.client.get(job["links"]["result"])
        assert (so_far.status_code, so_far.headers["retry-after"]) == (202, "1")
        assert server.client.delete(job["links"]["self"]).status_code == 200
        kinds += [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert (kinds[:2], kinds[-1], kinds.count("finished")) == (["queued", "started"], "finished", 1)
    found = wait_for_end(server, job)
    assert (found["state"], found["plan_status"]) == ("cancelled", "feasible")
    assert server.client.get(job["links"]["result"]).status_code == 200
    plan = Plan.model_validate_json(server.client.get(job["links"]["plan"]).content)
    assert plan.peak == found["progress"]["peak"]
    assert verify(Problem.model_validate(hard_request()["problem"]), plan) == ()
    again = server.client.delete(job["links"]["self"])
    assert (again.status_code, again.json()["finished_at"]) == (200, found["finished_at"])


def test_a_queued_job_has_no_plan_and_is_cancelled_immediately(server: RunningServer) -> None:
    first = [submit(server, hard_request(100 + k, priority=100)) for k in range(server.service.settings.workers)]
    job = submit(server, hard_request(priority=-100))
    answer = server.client.get(job["links"]["plan"])
    assert (answer.status_code, answer.headers["retry-after"]) == (404, "1")
    assert answer.json()["detail"] == "plan: the job has no answer; its state is queued"
    assert server.client.delete(job["links"]["self"]).json()["state"] == "cancelled"
    answer = server.client.get(job["links"]["plan"])
    assert (answer.status_code, "retry-after" in answer.headers) == (404, False)
    for one in first:
        server.client.delete(one["links"]["self"])
        wait_for_end(server, one)


def test_an_equal_request_with_the_same_idempotency_key_is_the_same_job(server: RunningServer) -> None:
    first = submit(server, **{"Idempotency-Key": "once"})
    assert submit(server, **{"Idempotency-Key": "once"})["id"] == first["id"]
    answer = server.client.post("/v1/jobs", json=PROBLEM_EXAMPLE | {"name": "x"}, headers={"Idempotency-Key": "once"})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("Idempotency-Key: must be new for a new request")


def test_a_job_can_be_renamed_searched_by_name_and_removed(server: RunningServer) -> None:
    job = submit(server)
    at = job["links"]["self"]
    wait_for_end(server, job)
    assert server.client.patch(at, json={"name": "Büro_50%"}).json()["name"] == "Büro_50%"
    for part, count in (("ÜRO", 0), ("bü", 1), ("RO_5", 1), ("0%", 1), ("r%5", 0), ("", None)):
        answer = server.client.get("/v1/jobs", params={"search": part})
        assert answer.status_code == 422 if count is None else len(answer.json()["jobs"]) == count, part
    for body in ({"name": ""}, {"name": 5}, {"title": "x"}, {}):
        assert server.client.patch(at, json=body).status_code == 422
    assert server.client.patch(at, content=b"[").status_code == 400
    assert server.client.delete(at, params={"forget": "perhaps"}).status_code == 422
    assert server.client.delete(at, params={"forget": "true"}).json()["id"] == job["id"]
    for path in ("", "/events", "/plan", "/problem", "/request", "/result"):
        assert server.client.get(at + path).status_code == 404
    assert server.client.delete(at, params={"forget": "true"}).status_code == 404


def test_a_running_job_cannot_be_removed(server: RunningServer) -> None:
    job = submit(server, hard_request(priority=100))
    answer = server.client.delete(job["links"]["self"], params={"forget": "true"})
    rule = "forget: applies only to a job that has ended, but this"
    assert (answer.status_code, answer.json()["detail"][:54]) == (409, rule)
    server.client.delete(job["links"]["self"])
    wait_for_end(server, job)


def test_jobs_can_be_listed_by_the_hash_of_their_problem(server: RunningServer) -> None:
    job = submit(server, {"buffers": [{"id": "lonely", "size": 12345, "start": 0, "end": 1}]})
    same = submit(server, {"buffers": [{"id": "renamed", "size": 12345, "start": 5, "end": 9}]})
    found = server.client.get("/v1/jobs", params={"problem_hash": job["problem_hash"]}).json()["jobs"]
    assert {one["id"] for one in found} == {job["id"], same["id"]}


def test_a_repeated_option_of_a_job_is_refused(server: RunningServer) -> None:
    answer = server.client.post("/v1/jobs", json={"problem": PROBLEM_EXAMPLE, "priority": 1}, params={"priority": 2})
    assert answer.json()["detail"] == "priority: must be given once, got it twice: in the body and in the query"
    answer = server.client.post("/v1/jobs", json=PROBLEM_EXAMPLE, params=[("priority", "1"), ("priority", "2")])
    assert answer.json()["detail"] == "priority: must be given once"


@pytest.mark.parametrize("job_id", [NOBODY, "nobody", "%00", "a" * 36])
def test_calls_about_an_unknown_job_get_404(server: RunningServer, job_id: str) -> None:
    for method, path in (("GET", ""), ("GET", "/events"), ("GET", "/plan"), ("DELETE", "")):
        answer = server.client.request(method, f"/v1/jobs/{job_id}{path}")
        assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")


@pytest.mark.parametrize("header", ["first", "-1", "1.5", "9" * 30])
def test_an_invalid_last_event_id_header_is_reported(server: RunningServer, header: str) -> None:
    answer = server.client.get(submit(server)["links"]["events"], headers={"last-event-id": header})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("Last-Event-ID: must be the number of an event")


def test_an_invalid_idempotency_key_is_reported(server: RunningServer) -> None:
    answer = server.client.post("/v1/jobs", json=PROBLEM_EXAMPLE, headers={"idempotency-key": "x" * 201})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith("Idempotency-Key: must be at most 200 visible ASCII characters")


def test_a_job_above_the_limit_of_open_jobs_is_refused() -> None:
    with run_server(Settings(max_jobs=2)) as server:
        first = submit(server, hard_request())
        submit(server, hard_request())
        answer = server.client.post("/v1/jobs", json=PROBLEM_EXAMPLE)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        assert answer.json()["detail"] == "jobs: must be at most 2 unfinished, got one more"
        server.client.delete(first["links"]["self"])
        wait_for_end(server, first)
        submit(server)


def test_an_event_stream_above_the_limit_of_streams_is_refused(server: RunningServer) -> None:
    job = submit(server, hard_request())
    with httpx.Client(base_url=server.client.base_url, trust_env=False) as client:
        answers = [client.send(client.build_request("GET", job["links"]["events"]), stream=True) for _ in range(4)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
        for answer in answers:
            answer.close()
    server.client.delete(job["links"]["self"])
    wait_for_end(server, job)


def test_a_stopping_server_closes_event_streams_and_keeps_its_jobs(tmp_path: Any) -> None:
    settings = Settings(data_folder=tmp_path)
    with httpx.Client(trust_env=False, timeout=30.0) as client:
        with run_server(settings) as server:
            job = submit(server, hard_request())
            url = f"{server.client.base_url}{job['links']['events']}"
            events = client.send(client.build_request("GET", url), stream=True)
            wait(server, job, lambda found: found["progress"] is not None)
        text = events.read().decode()
    assert "event: finished" not in text
    with run_server(settings) as server:
        found = look(server, job)
        assert (found["state"] in ("queued", "running"), found["progress"] is not None) == (True, True)
        server.client.delete(job["links"]["self"])
        assert wait_for_end(server, job)["state"] == "cancelled"


def test_an_event_stream_resumed_after_a_future_event_id_ends_with_its_job(server: RunningServer) -> None:
    job = submit(server, hard_request())
    with server.client.stream("GET", job["links"]["events"], headers={"last-event-id": "999"}) as stream:
        server.client.delete(job["links"]["self"])
        assert "event: finished" in stream.read().decode()
