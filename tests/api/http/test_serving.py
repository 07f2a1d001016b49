"""Starting and stopping a server, its readiness, and its settings."""

import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor

import anyio
import httpx
import pytest

from memplan.api.http.serving.server import bind_socket
from memplan.api.readiness import Readiness
from memplan.api.settings import read_settings
from memplan.api.store.errors import StoreError
from memplan.planner.errors import OptionError
from tests.support.hard_requests import HARD, wait_until
from tests.support.server import RunningServer, run_server


def test_a_wrong_setting_is_reported_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMPLAN_SOLVES", "many")
    monkeypatch.setenv("MEMPLAN_WAITING", "-1")
    with pytest.raises(OptionError) as caught:
        read_settings()
    solves, waiting = caught.value.sentences
    assert solves == 'MEMPLAN_SOLVES: must be an integer, got "many"'
    assert waiting == 'MEMPLAN_WAITING: must be at least 0, got "-1"'


def test_a_port_in_use_is_reported() -> None:
    with bind_socket("127.0.0.1", 0) as listener:
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(OptionError, match=f"^port: cannot listen on 127.0.0.1:{port}: Address already in use"):
            bind_socket("127.0.0.1", port)


def test_a_stopping_server_answers_open_requests_with_the_best_plan_so_far() -> None:
    with ThreadPoolExecutor(1) as callers:
        with run_server() as server:
            url = f"http://127.0.0.1:{server.port}/v1/plan"
            asked: Future[httpx.Response] = callers.submit(httpx.post, url, content=HARD, timeout=60.0, trust_env=False)
            assert wait_until(lambda: server.service.queue.busy_slots == 1)
        answer = asked.result()
    assert (answer.status_code, answer.json()["stop_reason"]) == (200, "cancelled")


def test_readyz_states_why_the_server_is_not_ready(server: RunningServer, monkeypatch: pytest.MonkeyPatch) -> None:
    async def return_false() -> bool:
        return False

    lacking = Readiness({"memplan: could not solve": return_false, "memplan: could not store": return_false})
    monkeypatch.setattr(server.service, "readiness", lacking)
    answer = server.client.get("/readyz")
    assert (answer.status_code, answer.headers["content-type"]) == (503, "application/problem+json")
    assert answer.headers["retry-after"] == "1"
    assert answer.json()["errors"] == ["memplan: could not solve", "memplan: could not store"]


def test_a_readiness_check_that_fails_or_hangs_counts_as_failed() -> None:
    async def fails() -> bool:
        raise StoreError("the disk is full")

    async def sleep_forever() -> bool:
        await anyio.sleep_forever()
        return True

    async def return_true() -> bool:
        return True

    readiness = Readiness({"one": fails, "two": sleep_forever, "three": return_true}, patience_s=0.01)
    assert anyio.run(readiness.lacks) == ("one", "two")


def test_the_result_of_readiness_checks_is_cached_for_some_seconds() -> None:
    asked = []

    async def holds() -> bool:
        asked.append(1)
        return True

    async def ask_twice() -> None:
        readiness = Readiness({"one": holds})
        assert await readiness.lacks() == await readiness.lacks() == ()

    anyio.run(ask_twice)
    assert asked == [1]


def test_the_first_search_after_the_warm_up_imports_no_module() -> None:
    asks = "import sys; from memplan.api.readiness import warm_up; warm_up(); before = set(sys.modules)"
    solves = "from lab.families import draw_tight_problem; from memplan.solvers.portfolio.solve import solve"
    poses = "solve(draw_tight_problem(1, 60, 1000, 7, 3.0), time_limit_s=0.2, is_quick=True)"
    tells = "print(*sorted(set(sys.modules) - before))"
    done = subprocess.run(
        [sys.executable, "-c", "; ".join((asks, solves, poses, tells))], capture_output=True, text=True, check=True
    )
    assert [name for name in done.stdout.split() if not name.startswith("lab")] == []


def test_a_server_without_worker_processes_is_ready_because_it_can_fork_one() -> None:
    with run_server() as server:
        pool = server.service.workers.pool
        for child in list(pool._all):
            child.kill()
        assert wait_until(lambda: server.client.get("/readyz").status_code == 200)
        assert pool.count > 0
        assert any(not child.has_ended() for child in pool._all)


_SERVES = """
import sys
import memplan.api.http.serving.connections, memplan.api.http.app
print("httptools" in sys.modules, "h11" in sys.modules)
"""


def test_the_server_parses_http_with_httptools_and_does_not_import_h11() -> None:
    told = subprocess.run([sys.executable, "-c", _SERVES], capture_output=True, text=True, check=True, timeout=120)
    assert told.stdout.split() == ["True", "False"]
