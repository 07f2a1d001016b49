"""Killed servers, workers and databases."""

import os
import random
import signal
from collections import Counter
from pathlib import Path

import psutil
import pytest

from lab.soak import soak
from memplan.solvers.processes.child import ChildProcess
from tests.support.fault_clients import ENDED, Client, easy_problem, hard_problem
from tests.support.machines import answers, machines, server, wait_until
from tests.support.postgresql import obstacle, postgresql


def test_a_restarted_server_ends_all_jobs_that_were_open_when_it_was_killed(tmp_path: Path) -> None:
    draw = random.Random(1)
    only = server("server", tmp_path, workers="1")
    with machines(only):
        client = Client([only], draw)
        names = [client.submit((hard_problem if k % 2 else easy_problem)(draw), time_limit_s=0.1) for k in range(16)]
        slow = [client.submit(hard_problem(draw), time_limit_s=1.0, seed=k) for k in range(4)]
        for name in (names[0], slow[-1]):
            client.call("DELETE", f"/v1/jobs/{name}")

        def states() -> Counter[str]:
            return Counter(job["state"] for job in client.call("GET", "/v1/jobs?limit=100").json()["jobs"])

        wait_until(lambda: {"queued", "running", "succeeded", "cancelled"} <= states().keys(), "jobs are in all states")
        ended = {name: client.plan(name) for name in client.accepted if client.job(name)["state"] in ENDED}
        only.kill()
        only.start()
        found = client.check_all()
        assert sum(found.values()) == 20
        assert found["cancelled"] >= 1
        assert client.call("GET", "/v1/jobs?limit=100").json()["next"] is None
        assert sum(states().values()) == 20, "no job is there twice"
        assert {name: client.plan(name) for name in ended} == ended, "what had ended is not done again"


@pytest.mark.deep
@pytest.mark.parametrize("with_postgres", [False, True], ids=["sqlite", "postgresql"])
def test_killing_servers_at_random_loses_no_job(tmp_path: Path, with_postgres: bool) -> None:
    if with_postgres and (reason := obstacle()) is not None:
        pytest.skip(reason)
    found = soak(tmp_path, 2, random.Random(2), with_postgres)
    assert found["failed"] == 0


@pytest.mark.slow
def test_if_one_of_two_servers_on_postgresql_is_killed_the_other_completes_all_jobs(tmp_path: Path) -> None:
    if (reason := obstacle()) is not None:
        pytest.skip(reason)
    draw = random.Random(3)
    with postgresql(is_safe=True) as database:
        left, right = (server(name, tmp_path, database_url=database.url(), workers="1") for name in ("left", "right"))
        with machines(left, right):
            client = Client([left], draw)
            for _ in range(5):
                client.submit(hard_problem(draw), time_limit_s=0.7)
            client.servers = [right]
            wait_until(lambda: client.call("GET", "/v1/jobs?state=running").json()["jobs"] != [], "a job runs")
            left.kill()
            found = client.check_all()
            assert found == {"succeeded": 5}


@pytest.mark.slow
def test_child_processes_get_no_secrets_and_a_killed_template_is_replaced(tmp_path: Path) -> None:
    only = server("server", tmp_path, workers="0", admin_key="secret" * 8)
    with machines(only):
        assert only.process is not None
        process = psutil.Process(only.process.pid)
        [template] = process.children()
        below = process.children(recursive=True)
        assert all("secret" not in text for each in below for text in each.environ().values())
        assert {os.getsid(each.pid) for each in below} == {os.getsid(process.pid)}, "or niceness would not count"
        template.kill()
        wait_until(
            lambda: answers(f"{only.url}/readyz") and template not in process.children(), "another takes its place"
        )
        assert len(process.children()) == 1


@pytest.mark.slow
def test_all_child_processes_of_a_killed_server_end(tmp_path: Path) -> None:
    only = server("server", tmp_path, workers="1")
    with machines(only):
        assert only.process is not None
        left = psutil.Process(only.process.pid).children(recursive=True)
        assert left
        only.kill(signal.SIGKILL)
        wait_until(lambda: not any(process.is_running() for process in left), "they end", 10.0)


def test_a_child_process_has_its_own_group_in_the_session_of_its_parent() -> None:
    with ChildProcess("memplan.solvers.reference.own") as child:
        assert (os.getsid(child.pid), os.getpgid(child.pid)) == (os.getsid(0), child.pid)
