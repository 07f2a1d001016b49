"""The client resists a hostile service: control characters, slow or oversized answers, and false claims."""

import gzip
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from memplan.api.client import http_async
from memplan.api.client.http import Client
from memplan.api.client.trust import check_plan, escape_answer
from memplan.api.client.values import AwayError, RefusedError, WrongAnswerError, refusal_of
from memplan.api.options import Options
from memplan.planner.formats import read_problem
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.questions import QUESTIONS
from memplan.questions.certify.certify import certify
from memplan.solvers.portfolio.solve import solve
from tests.support.depth import GRACE_S
from tests.support.public_problems import FOLDER

TWO = Problem.model_validate(
    {"buffers": [{"id": "a", "size": 24, "start": 0, "end": 2}, {"id": "b", "size": 40, "start": 1, "end": 3}]}
)
CLEAR, ESCAPED = "\x1b[2J\u202e\x9b", "\\x1b[2J\\u202e\\x9b"


@contextmanager
def answering(*parts: bytes, status: int = 200, pause_s: float = 0.0, **headers: str) -> Iterator[Client]:
    """Yield a client of a service that answers every call with these body parts."""

    class Hostile(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            try:
                for part in parts:
                    self.wfile.write(part)
                    self.wfile.flush()
                    time.sleep(pause_s)
            except OSError:
                pass

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    service = ThreadingHTTPServer(("127.0.0.1", 0), Hostile)
    threading.Thread(target=service.serve_forever, daemon=True).start()
    try:
        with Client(f"http://127.0.0.1:{service.server_port}", patience_s=0.0) as client:
            yield client
    finally:
        service.shutdown()
        service.server_close()


def plan_of(**claims: Any) -> bytes:
    places = [{"id": "a", "pool": "default", "offset": 0}, {"id": "b", "pool": "default", "offset": 9960}]
    return json.dumps({"status": "feasible", "peak": 10_000, "placements": places, **claims}).encode()


def test_terminal_control_characters_in_a_refusal_are_escaped() -> None:
    error = refusal_of(422, json.dumps({"errors": [f"buffers: {CLEAR}", "x" * 10_000]}).encode())
    assert error.sentences == ("buffers: \\x1b[2J\\u202e\\x9b", "x" * 2_000)
    assert refusal_of(500, b"\x1b").sentences == ("service: answered with 500",)
    with answering(json.dumps({"errors": [CLEAR]}).encode(), status=422) as client, pytest.raises(RefusedError) as why:
        client.plan(TWO)
    assert str(why.value).isprintable()


def test_control_characters_in_an_answer_are_escaped_unless_the_request_contained_them() -> None:
    for ascii_only in (True, False):
        data = json.dumps({"message": CLEAR, "ids": ["\x1b[1m", "é"], CLEAR: [1.5, None]}, ensure_ascii=ascii_only)
        found = json.loads(escape_answer(data.encode(), json.dumps({"id": "\x1b[1m"}).encode()))
        escaped = "\\x1b[2J\\u202e\\x9b"
        assert found == {"message": escaped, "ids": ["\x1b[1m", "é"], escaped: [1.5, None]}
    assert escape_answer(b'{"id": "plain"}', b"") == b'{"id": "plain"}'


def test_a_slowly_arriving_answer_is_abandoned_at_its_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_async, "_ANSWER_S", 0.5)
    began = time.monotonic()
    with (
        answering(*[b" "] * 1000, pause_s=0.1) as client,
        pytest.raises(AwayError, match="no complete answer arrived within"),
    ):
        client.plan(TWO, Options(time_limit_s=0.5))
    assert time.monotonic() - began < GRACE_S + 10


def test_compressed_and_oversized_answers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_async, "_MOST_BYTES", 100_000)
    with (
        answering(gzip.compress(b" " * 10**7), content_encoding="gzip") as client,
        pytest.raises(WrongAnswerError, match="without a content coding"),
    ):
        client.plan(TWO)
    with answering(*[b" " * 50_000] * 100) as client, pytest.raises(WrongAnswerError, match="at most 100000 bytes"):
        client.plan(TWO)
    with answering(*[b" " * 50_000] * 100) as client, pytest.raises(WrongAnswerError, match="lines of at most 100000"):
        list(client.batch([TWO]))


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (plan_of(status="optimal", lower_bound=10_000), "64 suffice"),
        (plan_of(status="infeasible", peak=None, placements=[]), "but a plan of 64 bytes does"),
        (plan_of(peak=64), "plan: is not valid for this problem"),
    ],
)
def test_the_client_refuses_a_false_claim_of_a_service_about_a_plan(answer: bytes, sentence: str) -> None:
    with answering(answer) as client, pytest.raises(WrongAnswerError, match=sentence):
        client.plan(TWO)
    with answering(answer) as client, pytest.raises(WrongAnswerError):
        client.answer(QUESTIONS["plan"], {"problem": TWO}, Options())


def test_a_client_that_requests_proof_requires_a_certificate_of_a_claimed_bound() -> None:
    problem = read_problem((FOLDER / "minimalloc_small/e.12.csv").read_bytes(), "e.12.csv")
    best = solve(problem)
    assert best.status == "optimal"
    other = certify(TWO, solve(TWO)).text
    text = certify(problem, best).text
    bare = best.model_copy(update={"proof": None, "lower_bound": None, "pools": (), "gap": None})
    answer = {"kind": "lemmas", "lemmas": 0, "buffers": [], "reason": None, "left_open": None, "sha256": None}
    plan = json.loads(best.model_dump_json())
    assert check_plan(problem, bare) == bare
    with answering(json.dumps({**answer, "text": text, "plan": plan}).encode()) as client:
        assert client.proved(problem, bare) == bare
    for wrong in (other, "", text.replace("\n", "\nl 0 1\n", 1)):
        refused = pytest.raises(WrongAnswerError, match="plan: is not proved to be optimal")
        with answering(json.dumps({**answer, "text": wrong, "plan": plan}).encode()) as client, refused:
            client.proved(problem, bare)
    assert Plan.model_validate(plan) == best
