"""Observability for operators: metrics, request ids and log lines; and security headers for browsers."""

import json
import logging
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from memplan.api.http.openapi import NDJSON, PROBLEM_EXAMPLE
from memplan.api.metrics import Metrics
from memplan.api.store.tables.jobs import JobCounts
from memplan.planner.model.plan import Plan
from memplan.solvers.search.result import SolveResult
from tests.support.hard_requests import wait_until
from tests.support.server import RunningServer

ROOT = Path(__file__).resolve().parents[3]
STORED = JobCounts(open={"queued": 3}, ended={"failed": 4}, kept_bytes=70, oldest_s=5.5, workers=2)


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Parse metrics; return the value of each sample, keyed by its name followed by its label values."""
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {(sample.name, *sample.labels.values()): sample.value for sample in found}


def samples_of(metrics: Metrics) -> dict[tuple[str, ...], float]:
    return samples(metrics.render(STORED, {"workers": 2}).decode())


def test_request_metrics_use_the_declared_route_not_the_raw_path(server: RunningServer) -> None:
    server.client.post("/v1/plan", json=PROBLEM_EXAMPLE)
    server.client.post("/v1/plan", content=b"")
    for path in ("/nothing", "/v1/plan/../../etc", "/v1/jobs/some-id"):
        server.client.get(path)
    server.client.request("PROPFIND", "/v1/plan")
    answer = server.client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    found = samples(answer.text)
    assert found["memplan_requests_total", "POST", "/v1/plan", "200"] >= 1
    assert found["memplan_requests_total", "POST", "/v1/plan", "400"] >= 1
    assert found["memplan_requests_total", "GET", "none", "404"] >= 1
    assert found["memplan_requests_total", "GET", "/v1/jobs/{job_id}", "404"] >= 1
    assert found["memplan_requests_total", "other", "/v1/plan", "405"] >= 1
    assert not any("nothing" in label for labels in found for label in labels)


def test_refusals_are_counted_and_logged_by_reason(server: RunningServer, caplog: pytest.LogCaptureFixture) -> None:
    before = samples(server.client.get("/metrics").text)
    with caplog.at_level(logging.INFO, "memplan"):
        server.client.post("/v1/plan", content=b"{", headers={"content-type": "application/json"})
        server.client.post("/v1/plan", json={"buffers": [{"id": "secret"}]})
    after = samples(server.client.get("/metrics").text)
    for reason, about in (("format", "body"), ("problem", "size")):
        key = ("memplan_refusals_total", about, reason, "/v1/plan")
        assert after[key] == before.get(key, 0) + 1
        assert f"refused for {reason}: /v1/plan" in caplog.messages
    assert "secret" not in caplog.text


def test_an_internal_error_has_the_same_fault_id_in_response_log_and_metrics(
    server: RunningServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    name = "secret"

    async def fail(*_: object) -> None:
        raise KeyError(name)

    monkeypatch.setattr(server.service.answering, "run", fail)
    body = json.dumps({"buffers": [{"id": "secret", "size": 31, "start": 0, "end": 1}]}).encode()
    headers = {"X-Request-ID": "r7", "content-type": "application/json"}
    answer = server.client.post("/v1/plan", content=body, headers=headers)
    (line,) = server.client.post("/v1/batch", content=body, headers={"content-type": NDJSON}).text.splitlines()
    details = answer.json()["detail"], json.loads(line)["error"]["detail"]
    kinds = [detail.removeprefix("memplan: failed; memplan's log shows where, at fault ") for detail in details]
    assert (answer.status_code, answer.headers["x-request-id"], json.loads(line)["error"]["status"]) == (500, "r7", 500)
    found = samples(server.client.get("/metrics").text)
    assert (found["memplan_faults_total", kinds[0], "plan"], found["memplan_faults_total", kinds[1], "batch"]) == (1, 1)
    told = [vars(record) for record in caplog.records if hasattr(record, "fault")]
    digest = sha256(body).hexdigest()
    assert [(facts["fault"], facts["body_sha256"]) for facts in told] == [(kind, digest) for kind in kinds]
    assert "in fail" in caplog.text
    assert "secret" not in caplog.text


def test_metrics_report_current_jobs_and_workers(server: RunningServer) -> None:
    def current_samples() -> dict[tuple[str, ...], float]:
        server.service.store.jobs._counts = None  # counts are kept for a while
        return samples(server.client.get("/metrics").text)

    assert wait_until(lambda: current_samples()["memplan_jobs", "queued"] == 0), "jobs of other tests are taken"
    assert wait_until(lambda: current_samples()["memplan_workers",] >= 1), "a worker that other tests end starts again"
    found = current_samples()
    assert found["memplan_open_streams",] == 0
    assert "process_resident_memory_bytes" in {labels[0] for labels in found}


def test_solve_metrics_are_labelled_by_place_solver_and_option() -> None:
    metrics = Metrics()
    metrics.count_solve(SolveResult(Plan(solver="greedy:size", gap=0.03), elapsed_s=0.2), "auto", "server")
    metrics.count_solve(SolveResult(Plan(status="unknown"), elapsed_s=2.0), "cp-sat", "worker")
    found = samples_of(metrics)
    assert found["memplan_solve_seconds_count", "server", "greedy", "auto"] == 1
    assert found["memplan_solve_seconds_sum", "worker", "none", "cp-sat"] == 2.0
    assert found["memplan_plans_total", "unknown"] == 1
    assert (found["memplan_plan_gap_bucket", "0.02"], found["memplan_plan_gap_bucket", "0.05"]) == (0, 1)


def test_each_counted_event_increments_its_metric() -> None:
    metrics = Metrics()
    metrics.looked_up("hit")
    metrics.missed_deadline()
    metrics.count_lost_worker()
    metrics.count_refused_result("core")
    metrics.count_fault("order", "0123456789ab")
    found = samples_of(metrics)
    assert (found["memplan_cache_lookups_total", "hit"], found["memplan_deadline_misses_total",]) == (1, 1)
    assert found["memplan_workers_lost_total",] == 1
    assert (found["memplan_refused_results_total", "core"], found["memplan_jobs_finished_total", "failed"]) == (1, 4)
    assert found["memplan_jobs_finished_total", "expired"] == found["memplan_jobs", "running"] == 0
    assert (found["memplan_oldest_job_seconds",], found["memplan_job_workers",]) == (5.5, 2)
    assert (found["memplan_kept_bytes",], found["memplan_faults_total", "0123456789ab", "order"]) == (70, 1)
    assert (found["memplan_jobs", "queued"], found["memplan_workers",]) == (3, 2)


def test_a_valid_request_id_is_kept_and_an_unsafe_one_is_replaced(server: RunningServer) -> None:
    assert server.client.get("/healthz", headers={"X-Request-ID": "build-7.1"}).headers["x-request-id"] == "build-7.1"
    for wrong in ("", "a b", "x" * 65):
        given = server.client.get("/healthz", headers={"X-Request-ID": wrong}).headers["x-request-id"]
        assert given != wrong
        assert len(given) == 16
    assert server.client.get("/healthz", headers={"X-Request-ID": "a\x1b[31m"}).status_code == 400


@pytest.mark.parametrize("path", ["/healthz", "/v1/solvers", "/nothing", "/openapi.json"])
def test_response_headers_forbid_browsers_to_execute_frame_or_cache_answers(server: RunningServer, path: str) -> None:
    headers = server.client.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


def is_ours(record: logging.LogRecord) -> bool:
    return record.name == "memplan.requests" and record.getMessage().startswith("POST /v1/plan 200 ")


def test_a_log_line_has_caller_and_route_but_no_body(server: RunningServer, caplog: pytest.LogCaptureFixture) -> None:
    body = {"buffers": [{"id": "secret-conv", "size": 987654321, "start": 0, "end": 1}], "name": "secret-net"}
    with caplog.at_level(logging.INFO):
        server.client.post("/v1/plan?seed=987654321", json=body, headers={"X-Request-ID": "r1"})
        assert wait_until(lambda: any(is_ours(record) for record in caplog.records))
    (line,) = filter(is_ours, caplog.records)  # another test's late log line must not count
    assert (line.__dict__["route"], line.__dict__["status"]) == ("/v1/plan", 200)
    told = " ".join(str(vars(record)) for record in caplog.records if record.name != "httpx")
    assert "secret" not in told
    assert "987654321" not in told


_LOGS = """
import logging, logging.config, sys
from memplan.api.logs import log_context, log_config
logging.config.dictConfig(log_config(sys.argv[1]))
logging.getLogger("memplan").info("begun")
with log_context("r1", "j1"):
    logging.getLogger("memplan").warning("in it", extra={"status": 7})
logging.getLogger("sqlalchemy").info("chatter")
"""


def log_lines(*arguments: str) -> list[str]:
    """Return the lines logged by a separate process, because logging is configured once per process."""
    done = subprocess.run(
        [sys.executable, "-c", _LOGS, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    return done.stderr.splitlines()


def test_log_lines_in_json_carry_the_ids_of_their_request_and_job() -> None:
    first, second = (json.loads(line) for line in log_lines("json"))
    assert first.keys() == {"time", "level", "logger", "message"}
    assert second.pop("time").endswith("+00:00")
    own = {"message": "in it", "status": 7, "request_id": "r1", "job_id": "j1"}
    assert second == own | {"level": "WARNING", "logger": "memplan"}


def test_text_log_lines_end_with_the_ids_of_request_and_job() -> None:
    first, second = log_lines("text")
    assert first.endswith(" INFO    memplan begun")
    assert second.endswith(" WARNING memplan in it request_id=r1 job_id=j1")
