"""Servers, workers and databases that are killed in the middle of their work."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from lab.soak import soak
from tests.support.fault_clients import ENDED, Client, easy, hard
from tests.support.machines import machines, server, soon
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
def test_kills_at_random_lose_nothing(tmp_path: Path, with_postgres: bool) -> None:
    if with_postgres and (reason := why_not()) is not None:
        pytest.skip(reason)
    found = soak(tmp_path, 2, random.Random(2), with_postgres)
    assert found["failed"] == 0


@pytest.mark.slow
def test_of_two_servers_on_one_postgresql_the_one_that_is_left_ends_all_jobs(tmp_path: Path) -> None:
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
