"""Send calls of all capabilities with short limits: `python -m lab.calls_late mixed|late|fair|build|plans`.

A server of its own is started as `memplan serve` starts it. `mixed` draws `--count` calls of all capabilities, of 5 to
100,000 rows, features and limits, `--at-once` of them at a time; `late` sends the heaviest body of each call with each
of `--limits`. Late is an answer more than half a second after its limit, from its first byte sent to its last one read;
of each it is told what the server, its readers and its workers took of the processor meanwhile, and how much of that
time this client was kept from running itself, by a thread that wakes every 5 ms: on a busy machine that is what the
machine took. `fair` sends the four worst bodies of one key beside another's light calls. `build` draws 150 calls of all
capabilities as a build sends them, of 10 to 5,000 rows with limits of 0.5 to 5 s, from eight callers; `plans` sends as
many plans of 200 buffers that are not proved soon, with a limit of 2 s. Both run beside `--busy` loops, and say how
soon refusals came. Each call that had no answer in its time is sent once more at the end, alone, so that it is seen
which could be answered. At each tenth of the calls, when none is on its way, the memory that no other process has is
measured, of the processes that serve and of their workers. The last line but one begins with the figure.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import psutil

from lab.families import tight
from lab.support.drawn_calls import drawn_call
from lab.support.heavy_bodies import bank, graph, heavy, problem, written
from lab.support.served import Served, exchanged, served
from memplan.planner.formats import FORMATS

_LATE_S = 0.5
_LIGHT_S, _PLAN_S = 1.0, 2.0
_WAKES_S = 0.005
_MADE_AT_ONCE = 100
_TENTHS = 10
_MISSES = re.compile(rb"^memplan_deadline_misses_total(?:\{[^}]*\})? ([0-9.e+]+)", re.MULTILINE)


def main() -> None:
    """Run what the command line asks for, and print what came of it as lines of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("mixed", "late", "fair", "build", "plans"))
    parser.add_argument("--limits", default="0.2,1,3")
    parser.add_argument("--rows", type=float, default=1.0, help="the part of the long bodies' rows")
    parser.add_argument("--at-once", type=int, help="callers: one, or eight of `build` and `plans`")
    parser.add_argument("--count", type=int, help="calls: 10,000 of `mixed`, 150 of `build` and `plans`")
    parser.add_argument("--busy", type=int, default=0, help="loops beside it that take a processor each")
    parser.add_argument("--seed", type=int, help="drawn anew where it is not given, and printed")
    parser.add_argument("--most", type=int, default=100_000, help="the most rows of a call of `mixed`")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--only", default="", help="the calls whose name has this")
    asked = parser.parse_args()
    asked.is_build = asked.what in ("build", "plans")
    asked.at_once = asked.at_once or (8 if asked.is_build else 1)
    asked.count = asked.count or (150 if asked.is_build else 10_000)
    asked.seed = random.SystemRandom().randrange(2**32) if asked.seed is None else asked.seed
    print(json.dumps({"seed": asked.seed}), flush=True)
    settings = {"require_keys": "true"} if asked.what == "fair" else {}
    with tempfile.TemporaryDirectory(prefix="memplan-calls-") as folder:
        asked.keys = [_key(folder, name) for name in ("heavy", "light")] if asked.what == "fair" else []
        with served(Path(folder), **settings) as own, _busy(asked.busy):
            run = _fair if asked.what == "fair" else _late
            print(json.dumps(asyncio.run(run(own, asked))), flush=True)
            log = own.log.read_text()
    told = [line for line in log.splitlines() if "replaced" in line or "Error" in line or "  File" in line]
    print(json.dumps({"tracebacks": log.count("Traceback"), "replaced": log.count("is replaced"), "log": told[-40:]}))


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


Call = tuple[str, str, bytes, float]
"""The capability, in a few words what the body is about, the body, and the limit in seconds."""


def _calls(asked: argparse.Namespace) -> Iterator[Call]:
    """Make the calls, some ahead: what makes bodies would hold up those that wait for answers."""
    draw = random.Random(asked.seed)
    if asked.what == "plans":
        for k in range(asked.count):
            rows = json.loads(FORMATS["json"].write_problem(tight(asked.seed + k, 200, 20, turnover=3.0)))
            yield "plan", "200 buffers", written({"problem": rows}, _PLAN_S), _PLAN_S
        return
    if asked.what != "late":
        range_of = {"fewest": 10, "most": 5_000, "limits": (0.5, 5.0)} if asked.is_build else {"most": asked.most}
        for _ in range(asked.count):
            name, body, limit_s, words = drawn_call(draw, **range_of)
            yield name, words, body, limit_s
        return
    for (name, words), make in heavy(asked.rows).items():
        for limit in asked.limits.split(",") if asked.only in name else ():
            yield name, words, written(make(), float(limit)), float(limit)


async def _late(own: Served, asked: argparse.Namespace) -> dict[str, Any]:
    answers: Counter[str] = Counter()
    late: list[dict[str, Any]] = []
    over: list[float] = []
    failed: list[dict[str, Any]] = []
    refused_after: list[float] = []
    short: list[Call] = []
    cpu, missed, stalls, began = own.cpu_s(), await _missed(own), _Stalls(), time.monotonic()

    async def send_on(left: Iterator[Call]) -> None:
        for name, words, body, limit_s in left:
            before, since = _cpu(own) if asked.what == "late" else (0.0, 0.0), time.monotonic()
            status, content, passed_s = await _answer(own, f"/v1/{name}", body)
            after = _cpu(own) if asked.what == "late" else (0.0, 0.0)
            answers[f"{name} {status}" if asked.what == "late" else status] += 1
            over.append(passed_s - limit_s)
            if status == "429":
                refused_after.append(passed_s)
            if status == "504":
                short.append((name, words, body, limit_s))
            row = {
                "call": name,
                "what": words,
                "limit_s": limit_s,
                "bytes": len(body),
                "status": status,
                "after_s": round(passed_s, 3),
                "over_s": round(passed_s - limit_s, 2),
                "stalled_s": round(stalls.between(since, since + passed_s), 2),
                "server_cpu_s": round(after[0] - before[0], 2),
                "workers_cpu_s": round(after[1] - before[1], 2),
                "says": content[:110].decode("ascii", "replace"),
            }
            is_late = passed_s - limit_s > _LATE_S
            if is_late:
                late.append(row)
            if status == "429" or (status[0] not in "24" and status != "504"):
                failed.append(row)
            if asked.what == "late" or is_late or row in failed:
                print(json.dumps(row), flush=True)

    calls, memory = _calls(asked), [_memory_mib(own)]
    while batch := [call for _, call in zip(range(1 if asked.what == "late" else _MADE_AT_ONCE), calls, strict=False)]:
        left = iter(batch)
        await asyncio.gather(*(send_on(left) for _ in range(asked.at_once)))
        if asked.what != "late" and len(over) * _TENTHS >= len(memory) * asked.count:
            memory.append(_memory_mib(own))
    stalls.end()
    took_s, took_cpu_s = time.monotonic() - began, own.cpu_s() - cpu
    excused = sum(row["stalled_s"] >= row["over_s"] - _LATE_S for row in late)
    refused, counted = sum(row["status"] == "429" for row in failed), await _missed(own) - missed
    alone = [name for name, _, body, _ in short if (await _answer(own, f"/v1/{name}", body))[0] != "504"]
    told = f"{len(late)} late of {len(over)} ({excused} by no more than this client was stalled), {counted} counted; "
    return {
        "figure": f"{told}{refused} refused, {len(failed) - refused} 5xx or none",
        "refused_after_s_p50_max": [round(f(refused_after), 3) for f in (median, max)] if refused_after else None,
        "p50_p99_max_after_the_limit_s": [round(sorted(over)[int(p * (len(over) - 1))], 3) for p in (0.5, 0.99, 1.0)],
        "servers_mib": [servers for servers, _ in memory],
        "workers_mib": [workers for _, workers in memory],
        "cpu_s": round(took_cpu_s, 1),
        "wall_s": round(took_s, 1),
        "answered_alone_of_504": [len(alone), len(short), dict(Counter(alone))],
        "answers": dict(answers),
    }


async def _fair(own: Served, asked: argparse.Namespace) -> dict[str, Any]:
    heavy_key, light_key = asked.keys
    one_change = [[{"buffer": 0, "fields": {"size": 9}}]]
    bodies = [
        ("/v1/explain", written({"problem": bank(440), "options": {"repairs": 3}}, 0.2)),
        ("/v1/order", written({"graph": graph(2_000)}, 0.2)),
        (
            "/v1/sweep",
            written({"problem": problem(100_000), "changes": one_change}, 0.2),
        ),
        ("/v1/explain", written({"problem": bank(1_400)}, 0.2)),
    ]
    light = [
        ("/v1/explain", written({"problem": problem(5)}, _LIGHT_S)),
        ("/v1/order", written({"graph": graph(6)}, _LIGHT_S)),
        ("/v1/verify", written({"problem": problem(2), "plan": {"placements": []}}, _LIGHT_S)),
        ("/v1/plan", written({"problem": problem(8)}, _LIGHT_S)),
    ]
    found: dict[str, Any] = {}
    for words, is_beside in (("alone", False), ("beside", True)):
        end = time.monotonic() + asked.seconds
        sent: Counter[str] = Counter()
        rows: Counter[str] = Counter()

        async def attack(path: str, body: bytes, end: float = end, sent: Counter[str] = sent) -> None:
            while time.monotonic() < end:
                status, _, _ = await _answer(own, path, body, heavy_key)
                sent[f"{path} {status}"] += 1
                await asyncio.sleep(0.05)

        async def ask(end: float = end, rows: Counter[str] = rows) -> None:
            while time.monotonic() < end:
                for path, body in light:
                    status, content, passed_s = await _answer(own, path, body, light_key)
                    is_good = status == "200" and passed_s <= _LIGHT_S + _LATE_S
                    rows["on time" if is_good else f"{path} {status} {passed_s:.1f} s {content[80:160]!r}"] += 1
                await asyncio.sleep(0.2)

        attacks = [attack(*each) for each in bodies] if is_beside else []
        cpu = _cpu(own)
        await asyncio.gather(ask(), *attacks)
        after = _cpu(own)
        found[words] = {
            "light": dict(rows),
            "heavy": dict(sent),
            "cpu_s": [round(after[k] - cpu[k], 1) for k in (0, 1)],
        }
    beside = found["beside"]["light"]
    return {"figure": f"{beside.get('on time', 0)} of {sum(beside.values())} of the other key on time"} | found


@contextmanager
def _busy(count: int) -> Iterator[None]:
    """Keep so many processors busy while the block runs."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for each in loops:
            each.kill()
            each.wait()


def _cpu(own: Served) -> tuple[float, float]:
    """Return the seconds of CPU of the processes that serve, with their readers, and of all others."""
    return _of_both(own, lambda one: float(sum(one.cpu_times()[:4])))


def _memory_mib(own: Served) -> tuple[float, float]:
    """Return the memory that no other process has, of the same."""
    return _of_both(own, lambda one: float(one.memory_full_info().uss) / 2**20)


def _of_both(own: Served, value: Callable[[psutil.Process], float]) -> tuple[float, float]:
    of: dict[bool, float] = {True: 0.0, False: 0.0}
    for one in (own.process, *own.process.children(recursive=True)):
        with suppress(psutil.Error):  # one that has just ended
            of["memplan.api.workers" not in " ".join(one.cmdline())] += value(one)
    return round(of[True], 2), round(of[False], 2)


def _key(folder: str, name: str) -> str:
    command = [str(Path(sys.executable).with_name("memplan")), "keys", "add", name]
    settings = os.environ | {"MEMPLAN_DATA_FOLDER": f"{folder}/data"}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=settings).stdout.split()[-1]


async def _missed(own: Served) -> int:
    _, content, _ = await _answer(own, "/metrics", b"", method="GET")
    found = _MISSES.search(content)
    return 0 if found is None else int(float(found[1]))


async def _answer(
    own: Served, path: str, body: bytes, key: str | None = None, method: str = "POST"
) -> tuple[str, bytes, float]:
    """Send a request on a connection of its own; return the status, the body and the seconds of the answer."""
    began = time.monotonic()
    try:
        answer = await exchanged(own, path, body, key, method)
    except OSError as error:
        return type(error).__name__, b"", time.monotonic() - began
    return answer[9:12].decode(), answer.partition(b"\r\n\r\n")[2], time.monotonic() - began


if __name__ == "__main__":
    main()
