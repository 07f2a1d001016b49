"""Ask a server many mixed requests, and look whether its memory grows: `python -m lab.steady N [--seed 0]`.

A server of its own is started as `memplan serve` starts it. Requests are plans of new problems, of the same again, in
several formats and with several features, wrong ones, calls of all other capabilities, jobs of all kinds and reading
calls. The memory that its
processes share with nobody is told at each tenth, and by how much it grew in the second half.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.support.drawn_calls import drawn_call
from lab.support.hostile_requests import posted, written
from lab.support.served import Served, served
from memplan.planner.formats import FORMATS
from tests.support.small_problems import small_problems

_CONNECTIONS = 8
_TENTHS = 10


def main() -> None:
    """Ask, and print what came of it as one line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memplan-steady-") as folder, served(Path(folder)) as own:
        print(json.dumps(asyncio.run(_steady(own, asked.count, random.Random(asked.seed)))))


def _rows(draw: random.Random, most: int) -> list[dict[str, Any]]:
    count = draw.randrange(1, most)
    return [
        {"id": k, "size": draw.randrange(1, 2**20), "start": (low := draw.randrange(count)), "end": low + 1 + k % 9}
        for k in range(count)
    ]


def _new(draw: random.Random) -> bytes:
    return posted("/v1/plan", {"problem": {"buffers": _rows(draw, 300)}, "options": {"time_limit_s": 0.1}})


def _again(draw: random.Random) -> bytes:
    return _new(random.Random(draw.randrange(500)))


def _of_any_kind(draw: random.Random) -> bytes:
    (problem,) = small_problems(draw.randrange(2**40), 1)
    content = json.loads(FORMATS["json"].write_problem(problem))
    return posted("/v1/plan", {"problem": content, "options": {"time_limit_s": 0.1}})


def _in_another_format(draw: random.Random) -> bytes:
    wanted = draw.choice(("csv", "c", "svg"))
    return posted("/v1/plan", {"problem": {"buffers": _rows(draw, 20)}, "options": {"format": wanted}})


def _wrong(draw: random.Random) -> bytes:
    rows = _rows(draw, 30)
    rows[0][draw.choice(("size", "end", "another"))] = -draw.randrange(1, 9)
    return posted("/v1/plan", {"buffers": rows})


def _broken(draw: random.Random) -> bytes:
    return written("POST", "/v1/plan", b'{"buffers": [' * draw.randrange(1, 200))


def _verified(draw: random.Random) -> bytes:
    rows = _rows(draw, 30)
    places = [{"id": row["id"], "pool": "default", "offset": draw.randrange(2**21)} for row in rows]
    return posted("/v1/verify", {"problem": {"buffers": rows}, "plan": {"placements": places}})


def _of_any_capability(draw: random.Random) -> bytes:
    name, body, _, _ = drawn_call(draw, most=300)
    return written("POST", f"/v1/{name}", body)


def _job(draw: random.Random) -> bytes:
    name, body, _, _ = drawn_call(draw, most=40)
    return written("POST", f"/v1/jobs?kind={name}", body)


def _read(draw: random.Random) -> bytes:
    path = draw.choice(("/v1/solvers", "/healthz", "/readyz", "/metrics", "/v1/jobs?limit=3", "/v1/jobs/none", "/docs"))
    return written("GET", path)


_KINDS: tuple[tuple[int, Callable[[random.Random], bytes]], ...] = (
    *((25, _new), (27, _again), (10, _of_any_kind), (5, _in_another_format), (5, _wrong)),
    *((5, _broken), (5, _verified), (10, _of_any_capability), (1, _job), (7, _read)),
)


async def _steady(own: Served, count: int, draw: random.Random) -> dict[str, Any]:
    answers: Counter[str] = Counter()
    makers, weights = [make for _, make in _KINDS], [weight for weight, _ in _KINDS]
    memory, descriptors = [own.memory_bytes()], [own.descriptors()]
    began, cpu = time.monotonic(), own.cpu_s()
    for _ in range(_TENTHS):
        left = iter(range(count // _TENTHS))

        async def ask_on(left: Any = left) -> None:
            reader, writer = await asyncio.open_connection(own.host, own.port)
            for _ in left:
                writer.write(draw.choices(makers, weights)[0](draw))
                status, is_open = await _answer(reader)
                answers[status] += 1
                if not is_open:
                    writer.close()
                    reader, writer = await asyncio.open_connection(own.host, own.port)
            writer.close()

        await asyncio.gather(*(ask_on() for _ in range(_CONNECTIONS)))
        memory.append(own.memory_bytes())
        descriptors.append(own.descriptors())
        print(f"{memory[-1] / 2**20:.1f} MiB, {descriptors[-1]} descriptors", own.memory_by_process(), flush=True)
    grown = memory[-1] / memory[_TENTHS // 2] - 1
    return {
        "figure": f"memory grew by {100 * grown:.1f} % over the last {count // 2} of {count} requests",
        "requests": count // _TENTHS * _TENTHS,
        "memory_mib": [round(value / 2**20, 1) for value in memory],
        "descriptors": descriptors,
        "answers": dict(sorted(answers.items())),
        "server_cpu_s": round(own.cpu_s() - cpu, 1),
        "wall_s": round(time.monotonic() - began, 1),
    }


async def _answer(reader: asyncio.StreamReader) -> tuple[str, bool]:
    """Read an answer; return its status, and True if the connection stays open."""
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    at = head.index(b"content-length:") + 15
    await reader.readexactly(int(head[at : head.index(b"\r", at)]))
    return head[9:12].decode(), b"connection: close" not in head


if __name__ == "__main__":
    main()
