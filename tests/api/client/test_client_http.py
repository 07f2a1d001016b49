"""The blocking and the asynchronous Python client of the service."""

import asyncio
import json
import random
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from pydantic_core import to_json

from memplan.api.client.http import Client
from memplan.api.client.http_async import AsyncClient
from memplan.api.client.values import AwayError, BusyError, RefusedError, WrongAnswerError, refusal_of
from memplan.api.options import Options
from memplan.planner.errors import InputError, OptionError
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify
from memplan.programs.operations.graph import graph_from
from memplan.programs.operations.order_check import peak_of
from memplan.questions import QUESTIONS
from tests.support.hard_requests import hard_request
from tests.support.renaming import problem_data, respell
from tests.support.server import RunningServer
from tests.support.values import require_value

TWO = Problem.model_validate(
    {"buffers": [{"id": "a", "size": 24, "start": 0, "end": 2}, {"id": "b", "size": 40, "start": 1, "end": 3}]}
)
HARD = Problem.model_validate(hard_request(11)["problem"])
SUMS = ({"in": [0, 1], "out": [4]}, {"in": [2, 3], "out": [5]})


@pytest.fixture
def client(server: RunningServer) -> Iterator[Client]:
    with Client(f"http://127.0.0.1:{server.port}") as found:
        yield found


def test_a_cached_plan_uses_the_buffer_ids_of_the_callers_problem(client: Client) -> None:
    other = Problem.model_validate(respell(problem_data(TWO), random.Random(3), 7))
    client.plan(TWO)
    known = require_value(client.known_plan(other))
    assert (known.status, known.peak, known.lower_bound) == ("optimal", 448, 448)
    assert verify(other, known) == ()


def test_a_job_is_submitted_followed_and_fetched(client: Client) -> None:
    job, again = (client.submit(TWO, priority=3, deadline_s=60, idempotency_key="just-once") for _ in range(2))
    assert (job.id, job.priority) == (again.id, 3)
    kinds = [event.kind for event in client.events(job.id)]
    assert (kinds[:2], kinds[-1]) == (["queued", "started"], "finished")
    ended = client.wait(job.id)
    assert (ended.state, ended.is_over) == ("succeeded", True)
    assert require_value(client.job_plan(job.id, TWO)).peak == 64


def test_jobs_are_listed_page_by_page(client: Client) -> None:
    named = TWO.model_copy(update={"name": "pages"})
    wanted = {client.submit(named).id for _ in range(3)}
    assert {job.id for job in client.jobs(name="pages", limit=2)} == wanted


def test_a_cancelled_job_keeps_its_best_plan(client: Client) -> None:
    job = client.submit(HARD, Options(time_limit_s=120))
    for event in client.events(job.id):
        if event.kind == "better":
            client.cancel(job.id)
    assert (client.wait(job.id).state, require_value(client.job_plan(job.id, HARD)).status) == ("cancelled", "feasible")


def test_the_client_yields_the_results_of_a_batch_one_by_one(client: Client) -> None:
    tight = TWO.model_copy(update={"pools": (TWO.pools[0].model_copy(update={"size": 40}),)})
    wrong = Options(solver="exact", time_limit_s=5)
    many = [TWO, tight, Problem.model_validate(problem_data(TWO) | {"pools": [{"name": "x"}, {"name": "y"}]})]
    found = {result.index: result for result in client.batch(many, wrong)}
    statuses = [None if found[k].plan is None else found[k].plan.status for k in range(3)]
    assert statuses == ["optimal", "infeasible", None]
    assert found[2].error is not None
    assert found[2].error.sentences == ("solver: exact does not support pools",)


def test_a_refused_call_raises_an_error_with_the_servers_messages(client: Client) -> None:
    with pytest.raises(RefusedError) as caught:
        client.plan(TWO, Options(accept="soon"))
    assert caught.value.status == 422
    assert caught.value.sentences == ('accept: must be fit or a percentage such as 5%, got "soon"',)


def test_the_client_reads_inputs_in_json_and_names_what_is_wrong_with_others(client: Client) -> None:
    problem = TWO.model_dump(mode="json", exclude_defaults=True)
    plan = client.plan(problem)
    assert plan.peak == client.plan(TWO).peak == 64
    assert client.verify(problem, plan).valid
    assert client.wait(client.submit(problem).id).state == client.wait(client.submit({"problem": problem}).id).state
    wrong: list[tuple[Callable[..., Any], tuple[Any, ...], str]] = [
        (client.plan, ("p.json",), 'problem: must be a value or a JSON object, got "p.json"'),
        (client.verify, (problem,), "plan: is required for verify, got problem"),
        (client.submit, ({"problem": problem, "graph": 1},), "graph: must be an input of plan (problem, keep)"),
        (client.plan, ({"problem": problem},), "problem: is not a known field"),
    ]
    for call, given, sentence in wrong:
        with pytest.raises(InputError, match=re.escape(sentence)):
            call(*given)


@pytest.mark.parametrize(
    ("name", "hint"), [("result", "did you mean job_result?"), ("plann", "did you mean plan?"), ("zzz", "job_plan, ")]
)
def test_a_wrong_method_of_the_client_is_refused_with_a_hint(client: Client, name: str, hint: str) -> None:
    assert {"plan", "job_result", "explain"} <= {*dir(client)}
    with pytest.raises(AttributeError, match=hint.replace("?", r"\?")):
        getattr(client, name)


def test_a_request_about_an_unknown_job_is_refused(client: Client) -> None:
    with pytest.raises(RefusedError) as caught:
        client.job("0" * 8)
    assert caught.value.status == 404


def test_an_unreachable_service_raises_away_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with Client(f"http://127.0.0.1:{port}", patience_s=0.0) as client, pytest.raises(AwayError, match="/v1/plan"):
        client.plan(TWO)


def test_the_asynchronous_client_plans_and_follows_jobs(server: RunningServer) -> None:
    async def day() -> None:
        async with AsyncClient(f"http://127.0.0.1:{server.port}") as client:
            assert (await client.plan(TWO)).peak == 64
            job = await client.submit(TWO.model_copy(update={"name": "in a loop"}))
            assert [event.kind async for event in client.events(job.id)][-1] == "finished"
            assert [one.id async for one in client.jobs(name="in a loop")] == [job.id]

    asyncio.run(day())


@contextmanager
def answering(*answers: str) -> Iterator[Client]:
    """Yield a client of a server that sends the given answers, one to each successive connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def work() -> None:
            for answer in answers:
                connection, _ = listener.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer.encode())

        threading.Thread(target=work, daemon=True).start()
        with Client(f"http://127.0.0.1:{listener.getsockname()[1]}") as client:
            yield client


def http(status: str, body: str, *headers: str) -> str:
    head = "\r\n".join((f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers))
    return f"{head}\r\n\r\n{body}"


PLAN = json.dumps({"placements": [{"id": k, "pool": "default", "offset": o} for k, o in (("a", 0), ("b", 24))]})
LATER = http("429 Too Many Requests", '{"errors": ["full"]}', "Retry-After: 0")


def test_a_request_to_a_busy_service_is_repeated() -> None:
    with answering(LATER, "", http("200 OK", PLAN)) as client:
        assert len(client.plan(TWO).placements) == 2


def test_the_client_stops_retrying_a_busy_service_after_its_patience() -> None:
    with answering(http("503 Away", "", "Retry-After: 60")) as client, pytest.raises(BusyError) as caught:
        client.plan(TWO)
    assert (caught.value.status, caught.value.retry_after_s) == (503, 60.0)


@pytest.mark.parametrize("body", ["", "[]", '{"peak": 5}', PLAN.replace("24", "23")])
def test_a_malformed_plan_from_a_service_is_an_error(body: str) -> None:
    with answering(http("200 OK", body)) as client, pytest.raises(WrongAnswerError):
        client.plan(TWO)


def test_the_client_resumes_an_event_stream_after_a_broken_connection() -> None:
    def stream(*lines: str) -> str:
        return "\r\n".join(("HTTP/1.1 200 OK", "Connection: close", "", "\n".join(lines)))

    first = stream(": hello", "", "id: 1", "event: queued", 'data: {"at": "now"}', "", "id: 2", "event: star")
    second = stream("id: 2", "event: started", "data: {}", "", "id: 3", "event: finished", "data: {}", "", "")
    with answering(first, second) as client:
        assert [(one.seq, one.kind) for one in client.events("1")] == [(1, "queued"), (2, "started"), (3, "finished")]


def test_a_malformed_event_from_a_service_is_an_error() -> None:
    broken = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ndata: {\n\n"
    with answering(broken) as client, pytest.raises(WrongAnswerError):
        list(client.events("1"))


def test_every_error_response_becomes_an_error_with_the_messages_of_its_body() -> None:
    assert refusal_of(502, b"").sentences == ("service: answered with 502",)
    assert refusal_of(422, b'{"errors": ["a", "b"]}').sentences == ("a", "b")
    assert isinstance(refusal_of(503, b"[]"), BusyError)


GRAPH = graph_from({"size": [8, 8, 8, 8, 1, 1], "kept": [4, 5], "ops": [*({"out": [k]} for k in range(4)), *SUMS]})


def test_the_client_orders_operations_and_checks_the_answer(client: Client) -> None:
    found = client.order(GRAPH, time_limit_s=60.0)
    assert (found.status, found.peak, peak_of(GRAPH, found.order)) == ("optimal", 18, 18)
    with pytest.raises(OptionError, match="seed: is not a known field"):
        client.order(GRAPH, seed=1)


def test_the_client_submits_an_ordering_question_as_a_job(client: Client) -> None:
    job = client.submit({"graph": GRAPH}, QUESTIONS["order"].options(time_limit_s=60.0), kind="order", priority=2)
    assert (job.kind, job.priority) == ("order", 2)
    assert (client.wait(job.id).state, require_value(client.job_result(job.id))["peak"]) == ("succeeded", 18)


@pytest.mark.parametrize(
    ("order", "sentence"),
    [
        ([0, 1, 2, 3, 4, 5], "order: has a peak of 33, and not of 18"),
        ([0, 1, 4], "order: is not one of this graph's operations"),
        ([4, 0, 1, 2, 3, 5], "order: is not a legal one"),
    ],
)
def test_the_client_refuses_an_order_beside_its_peak_or_graph(client: Client, order: list[int], sentence: str) -> None:
    body = json.dumps(json.loads(to_json(client.order(GRAPH))) | {"order": order})
    with answering(http("200 OK", body)) as other, pytest.raises(WrongAnswerError, match=sentence):
        other.order(GRAPH)
