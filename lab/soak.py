"""Kill what a service is made of, at random, while jobs come: `python -m lab.soak ROUNDS [--seed N] [--postgres]`.

Two servers on one database and two workers, each a process. A round submits jobs, kills one process with
SIGKILL in the middle of their work, and starts it again after a moment. At the end no accepted job may be lost, none
may have ended twice or failed, and every plan must pass the verifier. Half of the jobs are plans, easy and hard; the
others are of all other kinds in turn.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from lab.support.drawn_calls import example
from memplan.capabilities.registry import CAPABILITIES
from tests.support.fault_clients import Client, easy, hard
from tests.support.machines import machines, server, worker
from tests.support.postgresql import postgresql

_JOBS_A_ROUND = 4
_KINDS = sorted(CAPABILITIES.keys() - {"plan"})


def main() -> None:
    """Soak, and print what came of it as one line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rounds", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--postgres", action="store_true", help="also a PostgreSQL server, which is killed, too")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memplan-soak-") as folder:
        print(json.dumps(soak(Path(folder), asked.rounds, random.Random(asked.seed), asked.postgres)))


def soak(folder: Path, rounds: int, draw: random.Random, with_postgres: bool = False) -> dict[str, object]:
    """Run the rounds and check what is left; returns how many were killed, and how many jobs ended in each state."""
    began = time.monotonic()
    url = f"sqlite:///{folder}/data/memplan.db"
    killed: Counter[str] = Counter()
    with ExitStack() as stack:
        victims: list[tuple[str, Callable[[], None], Callable[[], None]]] = []
        if with_postgres:
            database = stack.enter_context(postgresql(is_safe=True))
            url = database.url()
            victims.append(("postgresql", database.kill, database.start))
        servers = [server(f"server-{k}", folder, database_url=url, workers="0") for k in (1, 2)]
        workers = [worker(f"worker-{k}", folder, url) for k in (1, 2)]
        victims += [(machine.name, machine.kill, machine.start) for machine in (*servers, *workers)]
        stack.enter_context(machines(*servers, *workers))
        client = Client(servers, draw)
        for _ in range(rounds):
            _submit_some(client, draw)
            name, kill, start = draw.choice(victims)
            time.sleep(draw.uniform(0.0, 1.5))
            kill()
            killed[name] += 1
            time.sleep(draw.uniform(0.0, 2.0))
            start()
        states = client.check_all()
        names = (*client.accepted, *client.others)
        errors = [job["error"] for name in names if (job := client.job(name))["state"] == "failed"]
    failed = len(errors)
    told = f"{sum(killed.values())} kills, {sum(states.values())} jobs, none lost, none twice, {failed} failed"
    seconds = round(time.monotonic() - began)
    found = {"figure": told, "killed": dict(killed), "jobs": states, "failed": failed, "errors": errors}
    return found | {"seconds": seconds}


def _submit_some(client: Client, draw: random.Random) -> None:
    """Submit quick jobs and slow ones, and cancel one now and then."""
    for k in range(_JOBS_A_ROUND):
        limit_s = draw.choice((0.5, 1.0, 2.0))
        if k % 2:
            name = client.submit(draw.choice((easy, hard))(draw), time_limit_s=limit_s)
        else:
            kind = _KINDS[len(client.others) % len(_KINDS)]
            name = client.submit_other(kind, example(kind), time_limit_s=limit_s)
        if draw.random() < 0.1:
            client.call("DELETE", f"/v1/jobs/{name}")


if __name__ == "__main__":
    main()
