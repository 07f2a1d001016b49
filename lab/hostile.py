"""Ask `/healthz` while hostile requests run: `python -m lab.hostile [--requests 300] [--at-once 8] [--seed 0]`.

A server of its own is started as `memplan serve` starts it, unless `--url` names one that runs. `/healthz` is asked on
a connection of its own every five milliseconds, first while the server rests and then while the others run; a request
that is late counts from when it was due. The longest steps of the server's event loop are told in seconds of its
thread's processor time, which other programs on the machine do not lengthen.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from lab.support.hostile_requests import hostile_requests, written
from tests.support.ports import free_port

_EVERY_S = 0.005
_RESTS_S = 2.0
_PATIENCE_S = 120.0
_HEALTH = written("GET", "/healthz")


def main() -> None:
    """Run what the command line asks for, and print what came of it as one line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--url", help="a server that runs without keys, instead of one of its own")
    parser.add_argument("--requests", type=int, default=300)
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--only", help="one family of requests")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if asked.url:
        print(json.dumps(asyncio.run(_attacked(asked.url, asked))))
        return
    with tempfile.TemporaryDirectory(prefix="memplan-hostile-") as folder:
        with _server(Path(folder)) as url:
            found = asyncio.run(_attacked(url, asked))
        log = (Path(folder) / "log").read_text()
    failed = [line for line in log.splitlines() if "Error" in line or line.startswith("  File")]
    found["tracebacks"] = failed[:20]
    found["loop_steps"] = [json.loads(line) for line in _steps(log)]
    print(json.dumps(found))


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    """Start a server, whose output goes to `folder/log`, and end it with the block."""
    port = free_port()
    command = [sys.executable, "-m", "lab.support.stepped_server", str(port)]
    settings = {"MEMPLAN_DATA_FOLDER": str(folder / "data")}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=os.environ | settings)
    try:
        give_up = time.monotonic() + _PATIENCE_S
        while time.monotonic() < give_up:
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE_S) as line:
                line.sendall(_HEALTH)
                line.recv(1)
                break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(_PATIENCE_S)


def _steps(log: str) -> list[str]:
    return [line.partition(" ")[2] for line in log.splitlines() if line.startswith("loop-steps ")]


async def _attacked(url: str, asked: argparse.Namespace) -> dict[str, object]:
    where = urlsplit(url)
    host, port = where.hostname or "127.0.0.1", where.port or 80
    requests = list(hostile_requests(random.Random(asked.seed), asked.requests))
    if asked.only:
        requests = [found for found in requests if found[0] == asked.only]
    rested = await _probed(host, port, asyncio.create_task(asyncio.sleep(_RESTS_S)))
    answers: dict[str, Counter[str]] = defaultdict(Counter)
    worst: dict[str, float] = defaultdict(float)
    waiting, running = iter(requests), set[str]()

    async def attack() -> None:
        for name, request in waiting:
            running.add(name)
            answers[name][await _answered(host, port, request)] += 1
            running.discard(name)

    def late(seconds: float) -> None:
        for name in running:
            worst[name] = max(worst[name], seconds)

    began = time.monotonic()
    attacks = asyncio.gather(*(attack() for _ in range(asked.at_once)))
    attacked = await _probed(host, port, asyncio.ensure_future(attacks), late)
    return {
        "requests": len(requests),
        "seconds": round(time.monotonic() - began, 1),
        "healthz_at_rest": _told(rested),
        "healthz": _told(attacked),
        "answers": dict(sum(answers.values(), Counter())),
        "by_family": {name: dict(counts) for name, counts in sorted(answers.items())},
        "worst_ms_beside": {name: round(1e3 * s, 1) for name, s in sorted(worst.items(), key=lambda one: -one[1])[:10]},
    }


async def _probed(host: str, port: int, until: asyncio.Future[object], late: object = None) -> list[float]:
    """Ask `/healthz` until something has ended; return the seconds of each answer from when it was due."""
    latencies: list[float] = []
    reader, writer = await asyncio.open_connection(host, port)
    due = time.monotonic()
    while not until.done():
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        writer.write(_HEALTH)
        await _read(reader)
        latencies.append(time.monotonic() - due)
        if callable(late):
            late(latencies[-1])
        due = max(due + _EVERY_S, time.monotonic())
    writer.close()
    await until
    return latencies


async def _answered(host: str, port: int, request: bytes) -> str:
    """Send a request on a connection of its own; return the status of its answer, or what else became of it."""
    try:
        reader, writer = await asyncio.open_connection(host, port)
        try:
            writer.write(request)
            return await asyncio.wait_for(_read(reader), _PATIENCE_S)
        finally:
            writer.close()
    except (OSError, asyncio.IncompleteReadError, TimeoutError) as error:
        return type(error).__name__


async def _read(reader: asyncio.StreamReader) -> str:
    """Read an answer to its end; return its status."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)
    if "content-length" in fields:
        await reader.readexactly(int(fields["content-length"]))
    elif "chunked" in fields.get("transfer-encoding", ""):
        while size := int(await reader.readline(), 16):
            await reader.readexactly(size + 2)
        await reader.readline()
    return head.split(" ", 2)[1]


def _told(latencies: list[float]) -> dict[str, float]:
    found = sorted(latencies)
    return {
        "count": len(found),
        "p50_ms": round(1e3 * found[len(found) // 2], 1),
        "p99_ms": round(1e3 * found[int(0.99 * len(found))], 1),
        "worst_ms": round(1e3 * found[-1], 1),
    }


if __name__ == "__main__":
    main()
