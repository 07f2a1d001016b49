"""Measure a server under load: `python -m lab.load [--rate 200] [--seconds 20] [--hits 0.5]`.

The program starts a server as `memplan serve` does. Each request has a real problem with a tenth of its sizes redrawn,
or `--buffers` random buffers. A hit repeats a request that was sent before the measurement. With a rate, requests are
sent at their scheduled times even if earlier ones have no response yet. Latency counts from the scheduled time, so that
stalls count (no coordinated omission). Without a rate, each connection sends its next request after each response. The
CPU time of the client is reported separately.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from lab.support.served import ServerProcess, run_server
from memplan.planner.formats import FORMATS

_WARM = 100
_PROBLEM = Path(__file__).parents[1] / "examples/problems/executorch/bert_4l.csv"


def main() -> None:
    """Run the load that the command's arguments describe, and print the outcomes as one line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rate", type=float, default=0.0, help="requests a second; 0: as many as are answered")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--hits", type=float, default=0.0, help="the part of the requests that were asked before")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--problem", type=Path, default=_PROBLEM, help="of which a tenth of the sizes are drawn anew")
    parser.add_argument("--buffers", type=int, help="draw problems of so many buffers, in place of that")
    parser.add_argument("--time-limit", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memplan-load-") as folder, run_server(Path(folder)) as own:
        print(json.dumps(asyncio.run(_run_load(asked, own))))


async def _run_load(asked: argparse.Namespace, own: ServerProcess) -> dict[str, object]:
    """Send the requests that the arguments describe, and return the measured rates, latencies and CPU times."""
    draw = random.Random(asked.seed)
    requests = _Requests(asked, f"{own.host}:{own.port}", draw)
    known = [requests.new_request() for _ in range(_WARM)]
    line = _Connections((own.host, own.port), asked.connections)
    await asyncio.gather(*(line.send_request(request) for request in known))
    line.forget()
    most = int(asked.seconds * (asked.rate or 3000.0))
    bodies = [draw.choice(known) if draw.random() < asked.hits else b"" for _ in range(most)]
    count = most if asked.rate else min(most, 4000)
    bodies = [body or requests.new_request() for body in bodies[:count]]
    gc.collect()
    gc.freeze()  # Collecting old objects would pause the client for 40 ms, so exclude these objects.
    used = own.cpu_s()
    began, cpu = time.monotonic(), time.process_time()
    await (_ask_at_rate(line, bodies, asked.rate) if asked.rate else _ask_closed_loop(line, bodies, asked))
    took, cpu = time.monotonic() - began, time.process_time() - cpu
    each = (own.cpu_s() - used) / len(line.latencies)
    mine, times = cpu / len(line.latencies), sorted(line.latencies)
    return {
        "requests": len(times),
        "requests_per_s": round(len(times) / took, 1),
        "p50_ms": round(1e3 * times[len(times) // 2], 1),
        "p99_ms": round(1e3 * times[int(0.99 * len(times))], 1),
        "max_ms": round(1e3 * times[-1], 1),
        "answers": dict(line.answers),
        "client_cpu_ms_each": round(1e3 * mine, 3),
        "server_cpu_ms_each": round(1e3 * each, 3),
        "per_s_by_cpu": round((os.cpu_count() or 1) / (each + mine)),
    }


async def _ask_at_rate(line: _Connections, bodies: list[bytes], rate: float) -> None:
    """Send `rate` requests per second at scheduled times, then wait for the missing responses."""
    began, calls = time.monotonic(), []
    for k, body in enumerate(bodies):
        due = began + k / rate
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        calls.append(asyncio.create_task(line.send_request(body, due)))
    await asyncio.gather(*calls)


async def _ask_closed_loop(line: _Connections, bodies: list[bytes], asked: argparse.Namespace) -> None:
    """Send a request on each connection after the previous response, until the time is over or all are sent."""
    until, waiting = time.monotonic() + asked.seconds, iter(bodies)

    async def ask_on() -> None:
        """Send requests on one connection, each after the response to the previous one."""
        for body in waiting:
            await line.send_request(body)
            if time.monotonic() >= until:
                return

    await asyncio.gather(*(ask_on() for _ in range(asked.connections)))


class _Requests:
    """A source of requests with new problems: the given problem with some sizes redrawn, or random problems."""

    def __init__(self, asked: argparse.Namespace, netloc: str, draw: random.Random) -> None:
        """Read the given problem, and prepare the headers of the requests."""
        self._content = json.loads(
            FORMATS["json"].write_problem(FORMATS["csv"].read_problem(asked.problem.read_bytes()))
        )
        self._asked, self._draw = asked, draw
        self._head = f"POST /v1/plan HTTP/1.1\r\nHost: {netloc}\r\nContent-Type: application/json\r\n"

    def new_request(self) -> bytes:
        body = json.dumps({"problem": self._problem(), "options": {"time_limit_s": self._asked.time_limit}}).encode()
        return f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def _problem(self) -> Any:
        """Return a new problem as JSON values: random buffers, or the given problem with some sizes redrawn."""
        if (count := self._asked.buffers) is not None:
            return {"buffers": [self._draw_buffer(k, count) for k in range(count)]}
        rows = [row | {"size": self._draw_size(row["size"])} for row in self._content["buffers"]]
        return self._content | {"buffers": rows}

    def _draw_buffer(self, k: int, count: int) -> dict[str, Any]:
        """Return a random buffer as a JSON object; it is alive for 1 to 8 of about 2 * `count` steps."""
        start, size = self._draw.randrange(2 * count), 64 * self._draw.randrange(1, 4096)
        return {"id": f"b{k}", "size": size, "start": start, "end": start + self._draw.randrange(1, 9)}

    def _draw_size(self, size: int) -> int:
        """Return `size` or, in a tenth of cases, a random size between half of `size` and `size`."""
        return max(1, int(size * self._draw.uniform(0.5, 1.0))) if self._draw.random() < 0.1 else size


class _Connections:
    """The connections to a server, at most `connections` at once, and the responses received on them."""

    def __init__(self, where: tuple[str, int], connections: int) -> None:
        """Start without open connections."""
        self._where = where
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._places = asyncio.Semaphore(connections)
        self.forget()

    def forget(self) -> None:
        """Forget the responses received so far, which are not part of the measurement."""
        self.latencies: list[float] = []
        self.answers: Counter[str] = Counter()

    async def send_request(self, request: bytes, due: float | None = None) -> None:
        """Send a request on a free connection, and record its latency and status; `due` is its scheduled time."""
        due = time.monotonic() if due is None else due
        async with self._places:
            reader, writer = self._free.pop() if self._free else await asyncio.open_connection(*self._where)
            try:
                writer.write(request)
                answer = await _read_answer(reader)
            except (OSError, asyncio.IncompleteReadError) as error:
                writer.close()
                answer = type(error).__name__
            else:
                self._free.append((reader, writer))
        self.latencies.append(time.monotonic() - due)
        self.answers[answer] += 1


async def _read_answer(reader: asyncio.StreamReader) -> str:
    """Read one response, and return its HTTP status and its plan's status as one text."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    status = head[9:12].decode()
    at = head.index(b"content-length:") + 15
    body = await reader.readexactly(int(head[at : head.index(b"\r", at)]))
    word = body[:60].split(b'"')[3].decode() if status == "200" else ""
    return f"{status} {word}".strip()


if __name__ == "__main__":
    main()
