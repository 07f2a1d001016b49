"""Drawn requests for a running server: `python -m lab.fuzz_service [--seconds 3600] [--at-once 4] [--seed 0]`.

Headers, queries and bodies are wrong together. It ends at the first answer with a status of 500 or more, at a request
without an answer, and at a traceback in the log; each request follows from the seed and its number alone, but for the
ids of jobs. A status of 503 is counted, and is no failure where the answer says when to come back; nor is a 504, as
drawn time limits are short.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from lab.support.drawn_requests import drawn_request
from tests.support.ports import free_port

_PATIENCE_S = 120.0
_SETTINGS = {"MEMPLAN_MAX_TIME_LIMIT_S": "10", "MEMPLAN_BODY_TIMEOUT_S": "2"}
"""Settings of the server by which what never ends is soon over."""
_IDS = 50
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_JOB = re.compile(rb'"id":"([0-9a-f-]{36})"')


@dataclass
class _Found:
    """The statuses that came, the ids of jobs, and what is wrong, with the request that it came of."""

    statuses: Counter[str] = field(default_factory=Counter)
    job_ids: list[str] = field(default_factory=list)
    wrong: list[dict[str, str]] = field(default_factory=list)


def main() -> None:
    """Ask until the time is over or something is wrong; print what came as one line of JSON; fail where it is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    port, began = free_port(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="memplan-fuzz-") as folder:
        settings = {"MEMPLAN_DATA_FOLDER": f"{folder}/data", **_SETTINGS}
        with (Path(folder) / "log").open("wb") as log:
            command = [sys.executable, "-m", "memplan.api.cli.main", "serve", "--port", str(port)]
            server = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, env=os.environ | settings)
        found = asyncio.run(_asked(port, asked))
        server.terminate()
        ended = server.wait(_PATIENCE_S)
        written = (Path(folder) / "log").read_text()
    tracebacks = [line for line in written.splitlines() if line.startswith(("Traceback", "  File"))]
    told = {
        "requests": sum(found.statuses.values()),
        "seconds": round(time.monotonic() - began, 1),
        "statuses": dict(sorted(found.statuses.items())),
        "wrong": found.wrong,
        "tracebacks": tracebacks[:20],
        "replaced": [line for line in written.splitlines() if "is replaced" in line],
        "exit_status": ended,
    }
    print(json.dumps(told))
    if found.wrong or tracebacks:
        sys.exit(1)


async def _asked(port: int, asked: argparse.Namespace) -> _Found:
    """Ask with several connections at once."""
    found, numbers = _Found(), iter(range(2**62))
    end = time.monotonic() + asked.seconds
    while time.monotonic() < end:
        try:
            (await asyncio.open_connection("127.0.0.1", port))[1].close()
            break
        except OSError:
            await asyncio.sleep(0.05)

    async def ask() -> None:
        while time.monotonic() < end and not found.wrong:
            number = next(numbers)
            name, request = drawn_request(random.Random(f"{asked.seed} {number}"), found.job_ids[-_IDS:])
            answer = await _answered(port, request)
            status = _STATUS.match(answer)
            found.statuses[status[1].decode() if status else "none"] += 1
            found.job_ids += [one.decode() for one in _JOB.findall(answer)[:1]]
            is_wrong = status is None or status[1] >= b"500"
            is_late = status is not None and status[1] == b"504" and b"within its time limit" in answer
            if is_wrong and not is_late and not (status and status[1] == b"503" and b"retry-after" in answer.lower()):
                sent = base64.b64encode(request).decode()
                found.wrong.append(
                    {"name": name, "number": str(number), "request": sent, "answer": repr(answer[:2000])}
                )

    await asyncio.gather(*(ask() for _ in range(asked.at_once)))
    return found


async def _answered(port: int, request: bytes) -> bytes:
    """Send a request on a connection of its own; return what came until the server hung up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    parts: list[bytes] = []
    try:
        async with asyncio.timeout(_PATIENCE_S):
            writer.write(request)
            while part := await reader.read(2**16):
                parts.append(part)
    except (OSError, TimeoutError) as error:
        parts.append(f"\n{type(error).__name__}".encode())
    finally:
        writer.close()
    return b"".join(parts)


if __name__ == "__main__":
    main()
