"""Kill processes of a service while jobs arrive: `python -m lab.soak ROUNDS [--seed N] [--postgres]`.

Two server processes share one database with two worker processes. Each round submits jobs and causes one fault while
they run: it kills a process with SIGKILL and restarts it soon, restarts both servers one after the other, or changes
the time of day by up to two hours. The time changes for all processes; with PostgreSQL, which provides the time of the
service, for a single process. At the end, no accepted job may be lost or have finished twice or failed, and every plan
must pass the verifier. Half of the jobs are plans, both easy and hard; the others cycle through all other kinds of
questions.
"""

import argparse
import json
import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from lab.support.drawn_calls import example
from memplan.questions import QUESTIONS
from tests.support.fault_clients import Client, easy_problem, hard_problem
from tests.support.machines import Machine, machines, server, worker
from tests.support.postgresql import postgresql

_JOBS_A_ROUND = 4
_KINDS = sorted(QUESTIONS.keys() - {"plan"})
_STEP_S = 7200
_STEPPED = """
import os, pathlib, time
_now, _shift_clock = time.time, pathlib.Path(os.environ["SOAK_STEP"])
time.time = lambda: _now() + float(_shift_clock.read_text() or 0)
"""
"""Python code that each process runs when it starts, and that shifts the time of day by the seconds in a file."""


def main() -> None:
    """Run the requested number of rounds, and print the outcome as one line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rounds", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--postgres", action="store_true", help="also a PostgreSQL server, which is killed, too")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memplan-soak-") as folder:
        print(json.dumps(soak(Path(folder), asked.rounds, random.Random(asked.seed), asked.postgres)))


def soak(folder: Path, rounds: int, draw: random.Random, with_postgres: bool = False) -> dict[str, object]:
    """Run the rounds, check the final state, and return the number of faults caused and of jobs in each state."""
    began = time.monotonic()
    url = f"sqlite:///{folder}/data/memplan.db"
    faults: Counter[str] = Counter()
    with ExitStack() as stack:
        victims: list[tuple[str, Callable[[], None], Callable[[], None]]] = []
        if with_postgres:
            database = stack.enter_context(postgresql(is_safe=True))
            url = database.url()
            victims.append(("postgresql", database.kill, database.start))
        servers = [server(f"server-{k}", folder, database_url=url, workers="0") for k in (1, 2)]
        workers = [worker(f"worker-{k}", folder, url) for k in (1, 2)]
        victims += [(machine.name, machine.kill, machine.start) for machine in (*servers, *workers)]
        victims.append(("rolling restart", lambda: _restart_in_turn(servers), lambda: None))
        steps = _shift_clocks((*servers, *workers), folder, is_one=not with_postgres)
        victims.append(("clock", lambda: _shift_clock(draw.choice(steps), draw), lambda: None))
        stack.enter_context(machines(*servers, *workers))
        client = Client(servers, draw)
        for _ in range(rounds):
            _submit_some(client, draw)
            name, kill, start = draw.choice(victims)
            time.sleep(draw.uniform(0.0, 1.5))
            kill()
            faults[name] += 1
            time.sleep(draw.uniform(0.0, 2.0))
            start()
        states = client.check_all()
        names = (*client.accepted, *client.others)
        errors = [job["error"] for name in names if (job := client.job(name))["state"] == "failed"]
    failed = len(errors)
    told = f"{sum(faults.values())} faults, {sum(states.values())} jobs, none lost, none twice, {failed} failed"
    seconds = round(time.monotonic() - began)
    found = {"figure": told, "faults": dict(faults), "jobs": states, "failed": failed, "errors": errors}
    return found | {"seconds": seconds}


def _restart_in_turn(servers: Sequence[Machine]) -> None:
    """Restart the servers one after the other; wait until one is ready before the next one is stopped."""
    for machine in servers:
        machine.kill(signal.SIGTERM)
        machine.start()
        machine.wait_until_ready()


def _shift_clocks(all_of_them: Sequence[Machine], folder: Path, is_one: bool) -> list[Path]:
    """Make the machines read their clock shift in seconds from files, and return these files.

    With `is_one`, all machines share one file; otherwise each has its own.
    """
    (folder / "sitecustomize.py").write_text(_STEPPED)
    files = [folder / ("step" if is_one else f"{machine.name}.step") for machine in all_of_them]
    for machine, file in zip(all_of_them, files, strict=True):
        file.write_text("0")
        machine.settings = {**machine.settings, "PYTHONPATH": str(folder), "SOAK_STEP": str(file)}
    return files


def _shift_clock(file: Path, draw: random.Random) -> None:
    """Write a new random clock shift, up to two hours in either direction, to a file that machines read."""
    file.write_text(str(draw.uniform(-_STEP_S, _STEP_S)))


def _submit_some(client: Client, draw: random.Random) -> None:
    """Submit a few jobs, both plans and other questions, and cancel each job with probability 0.1."""
    for k in range(_JOBS_A_ROUND):
        limit_s = draw.choice((0.5, 1.0, 2.0))
        if k % 2:
            name = client.submit(draw.choice((easy_problem, hard_problem))(draw), time_limit_s=limit_s)
        else:
            kind = _KINDS[len(client.others) % len(_KINDS)]
            name = client.submit_other(kind, example(kind), time_limit_s=limit_s)
        if draw.random() < 0.1:
            client.call("DELETE", f"/v1/jobs/{name}")


if __name__ == "__main__":
    main()
