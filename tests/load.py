"""Put a running server under a steady load: `python -m tests.load URL [--rate 200] [--seconds 60] [--hits 0.5]`.

Requests come at their times whether or not earlier ones were answered, and a latency counts from when its request was
due, so a server that stalls is not spared (no coordinated omission). Problems are a real one with its sizes drawn anew;
a hit is a problem that was asked before the clock started.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

from memplan.planner.formats import FORMATS
from memplan.planner.model.problem import Problem

_CONNECTIONS = 64


def main() -> None:
    """Run the load that the command line asks for, and print what came of it as one line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--rate", type=float, default=200.0, help="requests a second")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--hits", type=float, default=0.5, help="the part of the requests that were asked before")
    parser.add_argument(
        "--problem", type=Path, help="the problem, of which a tenth of the sizes are drawn anew", required=True
    )
    parser.add_argument("--time-limit", type=float, default=2.0)
    parser.add_argument("--key", help="a bearer key")
    parser.add_argument("--seed", type=int, default=0)
    print(json.dumps(asyncio.run(_load(parser.parse_args()))))


async def _load(asked: argparse.Namespace) -> dict[str, object]:
    draw = random.Random(asked.seed)
    problem = FORMATS["csv"].read_problem(asked.problem.read_bytes())
    url = urlsplit(asked.url)
    head = f"POST /v1/plan HTTP/1.1\r\nHost: {url.netloc}\r\nContent-Type: application/json\r\n"
    head += f"Authorization: Bearer {asked.key}\r\n" if asked.key else ""
    requests = _Requests(problem, head, asked.time_limit, draw)
    known = [requests.new() for _ in range(50)]
    line = _Line(url.hostname or "127.0.0.1", url.port or 80)
    await asyncio.gather(*(line.ask(request) for request in known))
    line.forget()
    count = int(asked.rate * asked.seconds)
    bodies = [draw.choice(known) if draw.random() < asked.hits else requests.new() for _ in range(count)]
    began, cpu = time.monotonic(), time.process_time()
    calls = []
    for k, body in enumerate(bodies):
        due = began + k / asked.rate
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        calls.append(asyncio.create_task(line.ask(body, due)))
    await asyncio.gather(*calls)
    took, cpu = time.monotonic() - began, time.process_time() - cpu
    times = sorted(line.latencies)
    return {
        "requests_per_s": round(count / took, 1),
        "p50_ms": round(1e3 * times[len(times) // 2], 1),
        "p99_ms": round(1e3 * times[int(0.99 * len(times))], 1),
        "max_ms": round(1e3 * times[-1], 1),
        "answers": dict(line.answers),
        "client_cpu_s": round(cpu, 1),
    }


class _Requests:
    """Makes requests of one problem with some sizes drawn anew."""

    def __init__(self, problem: Problem, head: str, time_limit_s: float, draw: random.Random) -> None:
        self._content = json.loads(FORMATS["json"].write_problem(problem))
        self._head, self._time_limit_s, self._draw = head, time_limit_s, draw

    def new(self) -> bytes:
        rows = [row | {"size": self._size(row["size"])} for row in self._content["buffers"]]
        asked = {"problem": self._content | {"buffers": rows}, "options": {"time_limit_s": self._time_limit_s}}
        body = json.dumps(asked).encode()
        return f"{self._head}Content-Length: {len(body)}\r\n\r\n".encode() + body

    def _size(self, size: int) -> int:
        return max(1, int(size * self._draw.uniform(0.5, 1.0))) if self._draw.random() < 0.1 else size


class _Line:
    """Connections that are kept, as many as are needed up to a limit, and what was answered on them."""

    def __init__(self, host: str, port: int) -> None:
        self._where = host, port
        self._free: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
        self._places = asyncio.Semaphore(_CONNECTIONS)
        self.forget()

    def forget(self) -> None:
        self.latencies: list[float] = []
        self.answers: Counter[str] = Counter()

    async def ask(self, request: bytes, due: float | None = None) -> None:
        due = time.monotonic() if due is None else due
        async with self._places:
            reader, writer = self._free.pop() if self._free else await asyncio.open_connection(*self._where)
            try:
                writer.write(request)
                answer = await _answer(reader)
            except (OSError, asyncio.IncompleteReadError) as error:
                writer.close()
                answer = type(error).__name__
            else:
                self._free.append((reader, writer))
        self.latencies.append(time.monotonic() - due)
        self.answers[answer] += 1


async def _answer(reader: asyncio.StreamReader) -> str:
    """Read one answer; return its status, and of a plan what became of it."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    status = head.split(" ", 2)[1]
    length = next(int(line.split(":")[1]) for line in head.split("\r\n") if line.startswith("content-length:"))
    body = await reader.readexactly(length)
    return f"{status} {json.loads(body)['status']}" if status == "200" else status


if __name__ == "__main__":
    main()
