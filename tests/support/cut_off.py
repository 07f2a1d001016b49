"""Three hosts on one machine, one of which is cut off: `unshare --net python -m tests.support.cut_off FOLDER`, as root.

A server and a scheduler on one, a worker on each of two others, each in a network namespace of its own. While both
solve, the link to one goes down, without a word to anybody. All jobs must end with valid plans.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from tests.support.fault_clients import Client, hard
from tests.support.machines import Machine, machines, scheduler, server, soon, worker


def main() -> None:
    """Cut one off, and print what became of the jobs as one line of JSON."""
    folder = Path(sys.argv[1])
    _ip("link set lo up")
    with ExitStack() as stack:
        here = scheduler(folder, host="0.0.0.0")
        port = str(here.url).rpartition(":")[2]
        there = []
        for k in (1, 2):
            enter = stack.enter_context(_host(k))
            away = replace(here, url=f"tcp://10.99.{k}.1:{port}")
            machine = worker(f"worker-{k}", folder, away)
            there.append(replace(machine, command=(*enter, *machine.command)))
        print(json.dumps(_run([here, *there], server("server", folder, scheduler=f"tcp://127.0.0.1:{port}"))))


def _run(others: list[Machine], front: Machine) -> dict[str, object]:
    with machines(*others, front):
        draw = random.Random(4)
        client = Client([front], draw)
        for _ in range(4):
            client.submit(hard(draw), time_limit_s=2.0)
        soon(lambda: len(client.call("GET", "/v1/jobs?state=running").json()["jobs"]) == 2, "both workers solve")
        _ip("link set hub2 down")
        began = time.monotonic()
        states = client.check_all()
        return {"jobs": states, "seconds": round(time.monotonic() - began, 1)}


@contextmanager
def _host(k: int) -> Iterator[tuple[str, ...]]:
    """Make a host behind the link `hub{k}`; gives what a command begins with that runs there."""
    holder = subprocess.Popen(["unshare", "--net", "sleep", "600"])
    try:
        enter = ("nsenter", "--target", str(holder.pid), "--net")
        mine = Path("/proc/self/ns/net").readlink()
        soon(lambda: Path(f"/proc/{holder.pid}/ns/net").readlink() != mine, "the host is there", 10.0)
        _ip(f"link add hub{k} type veth peer name eth{k}")
        _ip(f"link set eth{k} netns {holder.pid}")
        _ip(f"addr add 10.99.{k}.1/24 dev hub{k}")
        _ip(f"link set hub{k} up")
        for command in ("link set lo up", f"addr add 10.99.{k}.2/24 dev eth{k}", f"link set eth{k} up"):
            subprocess.run([*enter, "ip", *command.split()], check=True)
        yield enter
    finally:
        holder.kill()
        holder.wait()


def _ip(command: str) -> None:
    subprocess.run(["ip", *command.split()], check=True)


if __name__ == "__main__":
    main()
