"""Large bodies are read in processes of their own, which are kept for the next ones."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from threading import Timer

import pytest
from starlette.datastructures import QueryParams

from memplan.api.http.problem_details import TooLargeError
from memplan.api.http.requests.job_requests import read_new_job
from memplan.api.http.requests.keep_requests import read_keeping
from memplan.api.http.requests.readers import Readers
from memplan.api.http.requests.submissions import read_submission
from memplan.api.jobs.serialization import problem_json
from memplan.api.refusals import NotInTimeError, UnavailableError
from memplan.api.settings import Settings
from memplan.capabilities.registry import CAPABILITIES
from memplan.planner.errors import FormatError, InputError
from memplan.planner.instance.canonical import problem_hash
from tests.support.server import running

JSON = "application/json"
ROWS = [{"id": f"b{k}", "size": k + 1, "start": k, "end": k + 2} for k in range(50)]


@pytest.fixture(scope="module")
def readers() -> Iterator[Readers]:
    found = Readers(Settings(max_pairs=100))
    yield found
    found.close()


def test_what_another_process_reads_is_the_same(readers: Readers) -> None:
    body = json.dumps({"problem": {"buffers": ROWS}, "options": {"time_limit_s": 60.5}}).encode()
    begun = readers.plan(JSON, body, "", time.monotonic())
    problem, options = read_submission(JSON, body, QueryParams())
    assert begun.options == options
    assert begun.rows == len(ROWS)
    assert begun.compiled is not None
    found = begun.compiled()
    assert found.problem == problem
    assert found.hash == problem_hash(problem)
    assert problem_hash(found.problem, found.instance) == found.hash


def test_what_is_wrong_is_told_as_ever_and_the_reader_is_kept(readers: Readers) -> None:
    before, _ = readers.take()
    readers.leave(before)
    with pytest.raises(FormatError) as caught:
        readers.plan(JSON, b"[1,1", "", time.monotonic())
    with pytest.raises(FormatError) as expected:
        read_submission(JSON, b"[1,1", QueryParams())
    assert caught.value.sentences == expected.value.sentences
    rows = [row | {"size": -1} for row in ROWS]
    begun = readers.plan(JSON, json.dumps({"buffers": rows}).encode(), "", time.monotonic())
    with pytest.raises(InputError) as many:
        begun.problem()
    assert "buffers[0].size: must be at least 0, got -1 (bytes, as 4096)" in many.value.sentences
    assert len(many.value.sentences) > 1
    banked = {"buffers": ROWS, "pools": [{"name": "a", "bank_size": 8}], "bank": [{"buffers": [r["id"] for r in ROWS]}]}
    with pytest.raises(TooLargeError, match="must make at most 100 pairs on this server, got 1225"):
        readers.plan(JSON, json.dumps(banked).encode(), "", time.monotonic()).problem()
    assert readers.take() == (before, True)
    readers.leave(before)


def test_a_body_without_a_caller_is_forgotten(readers: Readers) -> None:
    begun = readers.plan(JSON, json.dumps({"buffers": ROWS * 2000}).encode(), "", time.monotonic())
    assert begun.end is not None
    begun.end()
    with pytest.raises(NotInTimeError):
        begun.problem()
    again = readers.plan(JSON, json.dumps({"buffers": ROWS}).encode(), "", time.monotonic())
    assert again.problem().buffers[7].id == "b7"


def test_a_reader_ends_what_takes_too_long_by_itself_and_one_that_was_killed_is_replaced(readers: Readers) -> None:
    rows = [{"id": k, "size": 1, "lifetimes": [[0, 1], [2, 3]]} for k in range(40_000)]
    body = json.dumps({"problem": {"buffers": rows}, "options": {"time_limit_s": 0.01}}).encode()
    begun = readers.plan(JSON, body, "", time.monotonic())
    with pytest.raises(NotInTimeError, match="within its time limit"):
        begun.problem()
    killed, _ = readers.take()
    killed.kill()
    readers.leave(killed)
    assert readers.plan(JSON, json.dumps({"buffers": ROWS}).encode(), "", time.monotonic()).problem()


def test_brief_answers_and_jobs_are_read_the_same_way(readers: Readers) -> None:
    plan = {"placements": [{"id": row["id"], "pool": "default", "offset": 64 * k} for k, row in enumerate(ROWS)]}
    body = json.dumps({"problem": {"buffers": ROWS}, "plan": plan}).encode()
    begun, brief = readers.work(CAPABILITIES["verify"], JSON, body, "", time.monotonic())
    assert begun.is_brief
    assert json.loads(brief())["valid"]
    said = {"key_id": "me", "idempotency_key": None}
    job = json.dumps({"problem": {"buffers": ROWS}, "priority": 3}).encode()
    for query in ("", "kind=explain"):
        found = readers.job(JSON, job, query, said)
        expected = read_new_job(JSON, job, QueryParams(query), Settings(), **said)
        kept = json.loads(json.dumps(found.options))  # as the store has them
        assert replace(found, id=expected.id, created_at=expected.created_at, options=kept) == expected


def test_what_keeps_an_old_plan_and_the_problem_of_a_job_are_read_the_same_way(readers: Readers) -> None:
    plan = {"placements": [{"id": row["id"], "pool": "default", "offset": 64 * k} for k, row in enumerate(ROWS)]}
    for keep in (plan, {"plan_hash": f"sha256:{64 * 'a'}"}):
        body = json.dumps({"problem": {"buffers": ROWS}, "keep": keep, "options": {"time_limit_s": 60.5}}).encode()
        assert readers.keeping(body, "", time.monotonic()) == read_keeping(body, QueryParams(), Settings())
    assert readers.keeping(b'{"buffers": [], "name": "keep"}', "", time.monotonic()) is None
    stored = problem_json(readers.job(JSON, json.dumps({"buffers": ROWS}).encode(), "", {}).problem)
    here, apart = (readers.compiled(stored, apart=apart) for apart in (False, True))
    assert (here.problem, here.hash, here.is_small) == (apart.problem, apart.hash, apart.is_small)


@pytest.mark.slow
def test_a_caller_of_what_is_read_apart_gets_the_same_answers() -> None:
    rows = [{"id": k, "size": 1 + k % 7, "start": k, "end": k + 1, "pools": ["a"]} for k in range(9)]
    body = json.dumps({"buffers": rows, "pools": [{"name": "a"}]}, separators=(",", ":")).encode()
    spaced = b"{" + b" " * 2**24 + body[1:]
    with running() as server:
        one, other = (server.client.post("/v1/plan", content=content).json() for content in (body, spaced))
        assert one["status"] == other["status"] == "optimal"
        assert one["problem_hash"] == other["problem_hash"]
        assert one["placements"] == other["placements"]
        wrong = server.client.post("/v1/plan", content=b"[" + b"1," * 2**20 + b"1]")
        assert wrong.status_code == 422
        assert wrong.json()["detail"].startswith("body: must be an object, got [1, 1")


def test_a_server_that_stops_reads_no_more() -> None:
    readers = Readers(Settings())
    Timer(0.1, readers.stop).start()  # while the reader starts
    with pytest.raises(UnavailableError, match="this server stops, and reads no more"):
        readers.plan(JSON, json.dumps({"buffers": ROWS}).encode(), "", time.monotonic())
    readers.close()


def test_a_reader_that_starts_is_kept_though_its_first_body_is_late() -> None:
    readers = Readers(Settings())
    body = json.dumps({"problem": {"buffers": ROWS}, "options": {"time_limit_s": 0.2}}).encode()
    begun = readers.plan(JSON, body, "", time.monotonic() - 5.0)
    assert begun.end is not None
    begun.end()
    reader, has_waited = readers.take()
    assert has_waited
    reader.close()


def test_a_parser_that_takes_all_the_time_is_ended_with_its_reader(readers: Readers) -> None:
    names = ",".join(f'"p{k}":[1]' for k in range(20_000))
    body = f'{{"problem":{{"buffers":[]}},"sizes":{{{names}}},"options":{{"time_limit_s": 0.01}}}}'.encode()
    with pytest.raises(NotInTimeError, match="could not be read within its time limit"):
        readers.work(CAPABILITIES["sweep"], JSON, body, "", time.monotonic() - 9.0)
    assert readers.plan(JSON, json.dumps({"buffers": ROWS}).encode(), "", time.monotonic()).problem()
