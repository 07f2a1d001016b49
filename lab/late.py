"""Ask problems of all kinds with short limits, and count late answers: `python -m lab.late N SEED [--at-once 8]`.

A server of its own is started as `memplan serve` starts it. Problems have 5 to 100,000 buffers and up to three features
each, every solver is asked for, limits are 0.05 to 3 s. Late is an answer more than half a second after its limit, from
its first byte sent to its last one read. Of each late one it is told how much of that time its client was kept from
running itself, by a thread that wakes every 5 ms: on a busy machine that is what the machine, not the server, took.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.support.served import Served, exchanged, served
from memplan.solvers.portfolio import registry

_LATE_S = 0.5
_WAKES_S = 0.005
_MADE_AT_ONCE = 100
_FEWEST, _MOST = 5, 100_000
Rows = list[dict[str, Any]]
Data = dict[str, Any]


def main() -> None:
    """Ask, and print what came of it as one line of JSON, and one for each late answer."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("count", type=int)
    parser.add_argument("seed", type=int)
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--most", type=int, default=_MOST, help="the most buffers of a problem")
    parser.add_argument("--fewest", type=int, default=_FEWEST, help="the fewest")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memplan-late-") as folder, served(Path(folder)) as own:
        found = asyncio.run(_asked(own, asked))
    for row in found.late:
        print(json.dumps(row))
    print(json.dumps(found.told(asked)))
    raise SystemExit(bool(found.late or found.refused or found.failed))


def _sized(draw: random.Random, count: int) -> Rows:
    length = draw.choice((3, 10, count // 10 + 2))
    starts = (draw.randrange(count) for _ in range(count))
    size = draw.choice((2**10, 2**20, 2**40))
    return [
        {"id": k, "size": draw.randrange(1, size), "start": start, "end": start + draw.randrange(1, length)}
        for k, start in enumerate(starts)
    ]


def _aligned(draw: random.Random, data: Data) -> None:
    for row in data["buffers"]:
        row["alignment"] = draw.choice((1, 16, 64, 100))


def _several_pools(draw: random.Random, data: Data) -> None:
    total = sum(row["size"] for row in data["buffers"])
    data["pools"] = [{"name": "a", "size": total // draw.choice((3, 10, 50)) + 1}, {"name": "b", "cost": 2.0}]
    data["objective"] = draw.choice(("peak", "fit", "cost"))


def _limited(draw: random.Random, data: Data) -> None:
    data["pools"] = [{"name": "a", "size": sum(row["size"] for row in data["buffers"]) // draw.choice((1, 3, 10)) + 1}]


def _with_holes(draw: random.Random, data: Data) -> None:
    for row in draw.sample(data["buffers"], max(1, len(data["buffers"]) // 4)):
        low, high = row.pop("start"), row.pop("end")
        row["lifetimes"] = [[low, high], *([high + 2 * k, high + 2 * k + 1] for k in range(1, draw.randrange(2, 20)))]


def _conflicting(draw: random.Random, data: Data) -> None:
    count, wanted = len(data["buffers"]), draw.choice((10, 1_000, 20_000))
    pairs = {tuple(sorted(draw.sample(range(count), 2))) for _ in range(min(wanted, count * (count - 1) // 4))}
    data["conflicts"] = sorted(map(list, pairs))


def _reserved(draw: random.Random, data: Data) -> None:
    pools = data.setdefault("pools", [{"name": "a"}])
    pools[0]["reserved"] = [
        [200 * k + draw.randrange(50), 1 + draw.randrange(60)] for k in range(draw.choice((3, 500)))
    ]


def _pinned(draw: random.Random, data: Data) -> None:
    for row in draw.sample(data["buffers"], max(1, len(data["buffers"]) // 50)):
        row["hint" if draw.random() < 0.8 else "offset"] = draw.randrange(2**30)


def _sharing(draw: random.Random, data: Data) -> None:
    ids = range(len(data["buffers"]))
    data["may_share"] = [draw.sample(ids, 2) for _ in range(min(200, len(ids) // 3))]


def _relative(draw: random.Random, data: Data) -> None:
    ids = list(range(len(data["buffers"])))
    draw.shuffle(ids)
    for k in range(0, min(200, len(ids) // 2), 2):
        data["buffers"][ids[k]]["relative"] = {"to": ids[k + 1], "offset": draw.randrange(-64, 64)}


def _banked(draw: random.Random, data: Data) -> None:
    data.setdefault("pools", [{"name": "a"}])[0]["bank_size"] = 4096
    ids = range(len(data["buffers"]))
    data["bank"] = [{"buffers": draw.sample(ids, min(4, len(ids)))} for _ in range(20)]


FEATURES: tuple[Callable[[random.Random, Data], None], ...] = (
    *(_aligned, _several_pools, _limited, _with_holes, _conflicting),
    *(_reserved, _pinned, _sharing, _relative, _banked),
)


def request(draw: random.Random, fewest: int, most: int) -> tuple[bytes, float, str]:
    """Return the body of a request, its limit in seconds, and in a few words what it is."""
    count = round(math.exp(draw.uniform(math.log(fewest), math.log(most))))
    limit_s = round(math.exp(draw.uniform(math.log(0.05), math.log(3.0))), 3)
    data: Data = {"buffers": _sized(draw, count)}
    chosen = draw.sample(FEATURES, draw.choice((0, 1, 1, 2, 3)))
    for feature in chosen:
        feature(draw, data)
    options: Data = {"time_limit_s": limit_s}
    if draw.random() < 0.4:
        options["solver"] = draw.choice([row.name for row in registry.SOLVERS])
    words = " ".join(feature.__name__.strip("_") for feature in chosen)
    body = json.dumps({"problem": data, "options": options}, separators=(",", ":")).encode()
    return body, limit_s, f"{count} {options.get('solver', 'auto')} {words}".strip()


class _Stalls:
    """A thread that wakes again and again, and notes by how much it was late each time."""

    def __init__(self) -> None:
        self._late: list[tuple[float, float]] = []
        self._end = threading.Event()
        threading.Thread(target=self._wake, daemon=True).start()

    def _wake(self) -> None:
        before = time.monotonic()
        while not self._end.wait(_WAKES_S):
            now = time.monotonic()
            self._late.append((now, now - before - _WAKES_S))
            before = now

    def between(self, since: float, until: float) -> float:
        """Return the seconds for which it was kept from running."""
        return sum(late for at, late in reversed(self._late[-20_000:]) if since <= at <= until)

    def end(self) -> None:
        """Wake no more."""
        self._end.set()


@dataclass
class _Found:
    """What was answered."""

    answers: Counter[str] = field(default_factory=Counter)
    late: list[Data] = field(default_factory=list)
    over: list[float] = field(default_factory=list)
    refused: int = 0
    failed: int = 0
    cpu_s: float = 0.0
    wall_s: float = 0.0

    def told(self, asked: argparse.Namespace) -> Data:
        """Return the summary."""
        over = sorted(self.over)
        excused = sum(row["stalled_s"] >= row["late_s"] - _LATE_S for row in self.late)
        return {
            "requests": len(over),
            "seed": asked.seed,
            "at_once": asked.at_once,
            "late": len(self.late),
            "late_by_no_more_than_the_client_was_stalled": excused,
            "refused": self.refused,
            "5xx_or_none": self.failed,
            "p50_p99_max_after_the_limit_s": [round(over[int(p * (len(over) - 1))], 3) for p in (0.5, 0.99, 1.0)],
            "server_cpu_s": round(self.cpu_s, 1),
            "wall_s": round(self.wall_s, 1),
            "answers": dict(self.answers),
        }


async def _asked(own: Served, asked: argparse.Namespace) -> _Found:
    found, stalls, draw = _Found(), _Stalls(), random.Random(asked.seed)
    began, cpu = time.monotonic(), own.cpu_s()

    async def ask_on(left: Iterator[tuple[bytes, float, str]]) -> None:
        for body, limit_s, words in left:
            since = time.monotonic()
            status, word = await _answer(own, body)
            until = time.monotonic()
            found.answers[f"{status} {word}".strip()] += 1
            found.over.append(until - since - limit_s)
            found.refused += status == "429"
            found.failed += status[:1] not in ("2", "4")
            if until - since - limit_s > _LATE_S:
                late_s, stalled_s = round(until - since - limit_s, 3), round(stalls.between(since, until), 3)
                row = {"what": words, "limit_s": limit_s, "late_s": late_s, "stalled_s": stalled_s, "answer": word}
                found.late.append(row | {"bytes": len(body)})

    for first in range(0, asked.count, _MADE_AT_ONCE):
        # Ahead: what makes bodies would hold up those that wait for answers.
        count = min(_MADE_AT_ONCE, asked.count - first)
        left = iter([request(draw, asked.fewest, asked.most) for _ in range(count)])
        await asyncio.gather(*(ask_on(left) for _ in range(asked.at_once)))
    found.cpu_s, found.wall_s = own.cpu_s() - cpu, time.monotonic() - began
    stalls.end()
    return found


async def _answer(own: Served, body: bytes) -> tuple[str, str]:
    """Ask on a connection of its own; return the status, and of a plan what became of it."""
    try:
        answer = await exchanged(own, "/v1/plan", body)
    except OSError as error:
        return type(error).__name__, ""
    status, _, content = answer[9:12].decode(), *answer.partition(b"\r\n\r\n")[1:]
    return status, content[:60].split(b'"')[3].decode() if status == "200" else ""


if __name__ == "__main__":
    main()
