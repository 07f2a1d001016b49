"""Send random requests to a running server: `python -m lab.fuzz_service [--count 10000] [--at-once 4] [--seed 0]`.

Headers, queries and bodies have errors in combination, and some requests cost the server far more than their sender.
The run ends at the first response with a status of 500 or more, at a request without a response, or at a traceback in
the log. A request depends only on the seed and its number, except for job ids. A status of 503 with `Retry-After`, and
a 504, are counted but are no failures, because the random time limits are short. At the same time, `/healthz` is
requested every five milliseconds on its own connection; its latency counts from the scheduled time.
"""

import argparse
import asyncio
import base64
import json
import random
import re
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from lab.support.drawn_requests import draw_request
from tests.support.machines import Machine, machines, server

_PATIENCE_S, _STREAM_S = 120.0, 10.0
"""The seconds to wait for the start and for the end of a response; a waiting job's event stream may take long."""
_HEALTH_EVERY_S = 0.005
_IDS = 50
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_JOB = re.compile(rb'"id":"([0-9a-f-]{36})"')


@dataclass
class _Findings:
    """The outcomes of all requests so far.

    - `statuses`: the number of responses with each status.
    - `job_ids`: the ids of submitted jobs, for later requests about them.
    - `health`: the latency in seconds of each response of `/healthz`.
    - `wrong`: descriptions of the wrong responses, with their requests.
    """

    statuses: Counter[str] = field(default_factory=Counter)
    job_ids: list[str] = field(default_factory=list)
    health: list[float] = field(default_factory=list)
    wrong: list[dict[str, str]] = field(default_factory=list)


def main() -> int:
    """Send all requests until a response is wrong; print the outcomes as one line of JSON; return 1 after a fault."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--at-once", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    given, began = parser.parse_args(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="memplan-fuzz-") as folder:
        # Many of the requests set no time limit, so the server stops each request after ten seconds.
        own = server("fuzzed", Path(folder), max_time_limit_s="10")
        with machines(own):
            found = asyncio.run(_ask_server(own, given))
        log = Path(folder, "fuzzed.log").read_text().splitlines()
    tracebacks = [line for line in log if line.startswith(("Traceback", "  File"))]
    health = sorted(found.health)
    row = {
        "requests": sum(found.statuses.values()),
        "seconds": round(time.monotonic() - began, 1),
        "statuses": dict(sorted(found.statuses.items())),
        "healthz_p50_p99_max_ms": [round(1e3 * health[int(p * (len(health) - 1))], 1) for p in (0.5, 0.99, 1.0)],
        "wrong": found.wrong,
        "tracebacks": tracebacks[:20],
        "replaced": [line for line in log if "is replaced" in line],
    }
    print(json.dumps(row))
    return 1 if found.wrong or tracebacks else 0


async def _ask_server(own: Machine, given: argparse.Namespace) -> _Findings:
    """Send the requests on several connections while measuring the latency of `/healthz`; return the outcomes."""
    found, numbers = _Findings(), iter(range(given.count))

    async def ask() -> None:
        """Send random requests in turn and record their outcomes, until all are sent or a response is wrong."""
        for number in numbers:
            if found.wrong:
                return
            name, request = draw_request(random.Random(f"{given.seed} {number}"), found.job_ids[-_IDS:])
            answer = await _exchange(own, request)
            status = _STATUS.match(answer)
            found.statuses[status[1].decode() if status else "none"] += 1
            found.job_ids += [one.decode() for one in _JOB.findall(answer)[:1]]
            is_wrong = status is None or status[1] >= b"500"
            is_late = status is not None and status[1] == b"504" and b"its time limit" in answer
            if is_wrong and not is_late and not (status and status[1] == b"503" and b"retry-after" in answer.lower()):
                row = {"name": name, "number": str(number), "answer": repr(answer[:2000])}
                found.wrong.append(row | {"request": base64.b64encode(request).decode()})

    probe = asyncio.create_task(_probe_health(own, found.health))
    await asyncio.gather(*(ask() for _ in range(given.at_once)))
    probe.cancel()
    return found


async def _connect(own: Machine) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    url = httpx.URL(own.url or "")
    return await asyncio.open_connection(url.host, url.port)


async def _probe_health(own: Machine, latencies: list[float]) -> None:
    """Request `/healthz` until cancelled, and record each latency in seconds, counted from the scheduled time."""
    reader, writer = await _connect(own)
    due = time.monotonic()
    while True:
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        at = head.index(b"content-length:") + 15
        await reader.readexactly(int(head[at : head.index(b"\r", at)]))
        latencies.append(time.monotonic() - due)
        due = max(due + _HEALTH_EVERY_S, time.monotonic())


async def _exchange(own: Machine, request: bytes) -> bytes:
    """Send a request on a new connection, and return all bytes received until the server closes it."""
    reader, writer = await _connect(own)
    parts: list[bytes] = []
    try:
        async with asyncio.timeout(_PATIENCE_S) as patience:
            writer.write(request)
            while part := await reader.read(2**16):
                if not parts:
                    patience.reschedule(asyncio.get_running_loop().time() + _STREAM_S)
                parts.append(part)
    except (OSError, TimeoutError) as error:
        parts.append(f"\n{type(error).__name__}".encode())
    finally:
        writer.close()
    return b"".join(parts)


if __name__ == "__main__":
    sys.exit(main())
