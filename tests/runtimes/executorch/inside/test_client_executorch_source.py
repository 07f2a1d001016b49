"""Sources of plans for ExecuTorch: this process, or a service that may be unavailable, refuse, or be wrong."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from memplan.api.client.values import RefusedError, WrongAnswerError
from memplan.planner.errors import OptionError
from memplan.planner.model.buffer_table import parse_buffers
from memplan.planner.model.problem import Pool, Problem
from memplan.planner.model.rows import Buffer
from memplan.runtimes.executorch.inside.source import NoPlanError, NothingFitsError, ServiceAwayError, Source
from tests.support.server import RunningServer

BUFFERS = [Buffer(id="a", size=8, start=0, end=2), Buffer(id="b", size=4, start=1, end=3)]
PROBLEM = Problem(buffers=parse_buffers(BUFFERS))


@contextmanager
def answering(status: int, body: bytes) -> Iterator[str]:
    """Run a server that gives the same answer to every request; yield its URL."""

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def test_a_source_with_a_url_returns_the_plan_of_the_service(server: RunningServer) -> None:
    plan = Source(f"http://127.0.0.1:{server.port}/", time_limit_s=5, deterministic=True).plan(PROBLEM)
    assert (plan.status, plan.peak, plan.wall_time_s) == ("optimal", 12, None)


def test_a_refusal_by_the_service_raises_its_error(server: RunningServer) -> None:
    of_nobody = PROBLEM.model_copy(update={"conflicts": (("a", "nobody"),)})
    with pytest.raises(RefusedError, match=r"conflicts\[0\]"):
        Source(f"http://127.0.0.1:{server.port}").plan(of_nobody)


@pytest.mark.parametrize("url", [None, "http://127.0.0.1:1"])
def test_an_invalid_option_is_refused_before_a_request_is_sent(url: str | None) -> None:
    with pytest.raises(OptionError, match=r"time_limit_s: must be"):
        Source(url, time_limit_s=1e6).plan(PROBLEM)


def test_a_service_that_does_not_run_raises_a_service_away_error() -> None:
    with socket.socket() as taken:
        # The port is bound, but no server listens on it.
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(ServiceAwayError, match=r"http://127\.0\.0\.1:\d+"):
            Source(f"http://127.0.0.1:{taken.getsockname()[1]}", patience_s=0).plan(PROBLEM)


@pytest.mark.parametrize("status", [429, 500, 502, 503])
def test_a_busy_or_failing_service_raises_a_service_away_error(status: int) -> None:
    with answering(status, b"") as url, pytest.raises(ServiceAwayError, match=str(status)):
        Source(url, patience_s=0).plan(PROBLEM)


A_AT_0, B_AT_0 = (b'{"id": "%s", "pool": "default", "offset": 0}' % name for name in (b"a", b"b"))


@pytest.mark.parametrize(
    ("body", "error", "sentence"),
    [
        (b'{"status": "feasible", "placements": [%s, %s]}' % (A_AT_0, B_AT_0), WrongAnswerError, "share bytes"),
        (b'{"status": "feasible", "placements": [%s]}' % A_AT_0, WrongAnswerError, '"b"'),
        (b'{"status": "unknown"}', NoPlanError, "status unknown"),
    ],
    ids=["overlapping buffers", "a buffer without a place", "no plan"],
)
def test_a_wrong_or_missing_plan_of_a_service_is_refused(body: bytes, error: type[Exception], sentence: str) -> None:
    with answering(200, body) as url, pytest.raises(error, match=sentence):
        Source(url).plan(PROBLEM)


def test_an_infeasible_problem_raises_an_error_with_the_reason() -> None:
    small = PROBLEM.model_copy(update={"pools": (Pool(name="default", size=10),)})
    with pytest.raises(NothingFitsError, match="2 bytes"):
        Source().plan(small)
