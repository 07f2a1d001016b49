"""Killed servers, workers and databases, and several processes on one port."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import time
from collections import Counter
from pathlib import Path

import psutil
import pytest

from lab.soak import soak
from memplan.solvers.processes.child import ChildProcess
from tests.support.fault_clients import ENDED, Client, easy, hard
from tests.support.machines import Machine, answers, machines, request, server, soon
from tests.support.postgresql import postgresql, why_not


def test_a_server_that_is_killed_with_jobs_in_all_states_ends_them_all(tmp_path: Path) -> None:
    draw = random.Random(1)
    only = server("server", tmp_path, workers="1")
    with machines(only):
        client = Client([only], draw)
        names = [client.submit((hard if k % 2 else easy)(draw), time_limit_s=0.1) for k in range(16)]
        slow = [client.submit(hard(draw), time_limit_s=1.0, seed=k) for k in range(4)]
        for name in (names[0], slow[-1]):
            client.call("DELETE", f"/v1/jobs/{name}")

        def states() -> Counter[str]:
            return Counter(job["state"] for job in client.call("GET", "/v1/jobs?limit=100").json()["jobs"])

        soon(lambda: {"queued", "running", "succeeded", "cancelled"} <= states().keys(), "jobs are in all states")
        ended = {name: client.plan(name) for name in client.accepted if client.job(name)["state"] in ENDED}
        only.kill()
        only.start()
        found = client.check_all()
        assert sum(found.values()) == 20
        assert found["cancelled"] >= 1
        assert client.call("GET", "/v1/jobs?limit=100").json()["next"] is None
        assert sum(states().values()) == 20, "no job is there twice"
        assert {name: client.plan(name) for name in ended} == ended, "what had ended is not done again"


@pytest.mark.slow
@pytest.mark.parametrize("with_postgres", [False, True], ids=["sqlite", "postgresql"])
def test_killing_servers_at_random_loses_no_job(tmp_path: Path, with_postgres: bool) -> None:
    if with_postgres and (reason := why_not()) is not None:
        pytest.skip(reason)
    found = soak(tmp_path, 2, random.Random(2), with_postgres)
    assert found["failed"] == 0


@pytest.mark.slow
def test_if_one_of_two_servers_on_postgresql_is_killed_the_other_completes_all_jobs(tmp_path: Path) -> None:
    if (reason := why_not()) is not None:
        pytest.skip(reason)
    draw = random.Random(3)
    with postgresql(is_safe=True) as database:
        left, right = (server(name, tmp_path, database_url=database.url(), workers="1") for name in ("left", "right"))
        with machines(left, right):
            client = Client([left], draw)
            for _ in range(5):
                client.submit(hard(draw), time_limit_s=0.7)
            client.servers = [right]
            soon(lambda: client.call("GET", "/v1/jobs?state=running").json()["jobs"] != [], "a job runs")
            left.kill()
            found = client.check_all()
            assert found == {"succeeded": 5}


_PROBLEM = {"buffers": [{"id": 1, "size": 8, "start": 0, "end": 2}, {"id": 2, "size": 4, "start": 1, "end": 3}]}


def processes(of: Machine) -> list[psutil.Process]:
    """Return the processes below a server that listen, as it does."""
    assert of.process is not None
    return [child for child in psutil.Process(of.process.pid).children(recursive=True) if listens(child)]


def listens(process: psutil.Process) -> bool:
    """Say whether a process lives and accepts connections."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return any(each.status == psutil.CONN_LISTEN for each in process.net_connections("inet"))
    return False


def planned(of: Machine) -> float:
    """Return how many plans all processes have counted."""
    lines = request("GET", f"{of.url}/metrics").text.splitlines()
    return sum(float(line.split()[-1]) for line in lines if line.startswith('memplan_requests_total{method="POST"'))


def sessions(of: Machine) -> set[int]:
    """Return the sessions of all processes of a server."""
    assert of.process is not None
    return {os.getsid(child.pid) for child in psutil.Process(of.process.pid).children(recursive=True)}


def ask(of: Machine) -> int:
    """Ask for a plan on a separate connection."""
    return request("POST", f"{of.url}/v1/plan", json=_PROBLEM).status_code


@pytest.mark.slow
def test_two_processes_answer_count_together_and_are_replaced_when_killed(tmp_path: Path) -> None:
    both = server("server", tmp_path, processes="2", workers="1")
    with machines(both):
        soon(lambda: len(processes(both)) == 2, "two are up")
        first = processes(both)
        assert sessions(both) == {os.getsid(first[0].ppid())}, "or the niceness of workers would not count"
        assert [ask(both) for _ in range(10)] == [200] * 10
        soon(lambda: planned(both) == 10, "a request is counted after its answer is sent")
        job = request("POST", f"{both.url}/v1/jobs", json=_PROBLEM).json()["id"]
        soon(lambda: planned(both) == 11, "the job is counted, too")
        first[0].suspend()
        time.sleep(1.0)  # meanwhile its parent asks it for a sign of life
        first[0].kill()
        soon(lambda: len(processes(both)) == 2 and first[0] not in processes(both), "it is replaced")
        soon(lambda: answers(f"{both.url}/readyz"), "the others answer")
        assert [ask(both) for _ in range(4)] == [200] * 4
        soon(lambda: planned(both) == 15, "what the killed one counted stays counted")
        url = f"{both.url}/v1/jobs/{job}"
        soon(lambda: request("GET", url).json()["state"] == "succeeded", "its job ends")
        left = [*processes(both)]
        both.kill(signal.SIGTERM)
        assert not any(process.is_running() and process.status() != "zombie" for process in left)


@pytest.mark.slow
def test_the_process_that_servers_are_forked_from_has_no_secret_and_is_replaced_with_them(tmp_path: Path) -> None:
    both = server("server", tmp_path, processes="2", workers="0", admin_key="secret" * 8)
    with machines(both):
        soon(lambda: len(processes(both)) == 2, "two are up")
        for _ in range(2):
            first = processes(both)
            forks = psutil.Process(first[0].ppid())
            environments = [each.environ() for each in (forks, *forks.children(recursive=True))]
            assert all("secret" not in text for environment in environments for text in environment.values())
            forks.kill()
            psutil.wait_procs(first, timeout=10.0)
            assert not any(process.is_running() for process in first)
            soon(lambda: len(processes(both)) == 2, "they are replaced")
            soon(lambda: answers(f"{both.url}/readyz"), "they answer")


@pytest.mark.slow
def test_a_server_of_one_process_begins_without_secrets_and_replaces_its_template(tmp_path: Path) -> None:
    only = server("server", tmp_path, workers="0", admin_key="secret" * 8)
    with machines(only):
        assert only.process is not None
        process = psutil.Process(only.process.pid)
        [template] = process.children()
        around = (process, *process.children(recursive=True))
        assert all("secret" not in text for each in around for text in each.environ().values())
        assert template.cmdline() == process.cmdline(), "it is forked, and loads nothing"
        template.kill()
        soon(lambda: answers(f"{only.url}/readyz") and template not in process.children(), "another takes its place")
        assert len(process.children()) == 1


@pytest.mark.slow
def test_server_processes_end_with_their_parent(tmp_path: Path) -> None:
    both = server("server", tmp_path, processes="2", workers="0")
    with machines(both):
        left = processes(both)
        both.kill(signal.SIGKILL)
        soon(lambda: not any(process.is_running() for process in left), "they end", 10.0)


def test_a_child_process_has_a_group_of_its_own_in_the_session_of_its_parent() -> None:
    with ChildProcess("memplan.solvers.reference.own") as child:
        assert (os.getsid(child.pid), os.getpgid(child.pid)) == (os.getsid(0), child.pid)
