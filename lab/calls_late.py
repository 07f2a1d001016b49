"""Send heavy bodies to all calls with short limits: `python -m lab.calls_late late|fair|memory [--limits 0.2,1,3]`.

`late` sends each heavy body with each limit, and says what was late by more than half a second, of what the server's
metrics count as late, and how much CPU of which processes each took. `fair` has one key send the four worst bodies at
once for some seconds beside another key's light calls, of which it counts those on time. `memory` watches the memory of
all processes while bodies of the largest size come.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from lab.support.heavy_bodies import bank, graph, heavy, problem, written
from lab.support.served import Served, exchanged, served

_LATE_S = 0.5
_LIGHT_S = 1.0
_MISSES = re.compile(rb"^memplan_deadline_misses_total(?:\{[^}]*\})? ([0-9.e+]+)", re.MULTILINE)


def main() -> None:
    """Run what the command line asks for, and print what came of it as lines of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("late", "fair", "memory"))
    parser.add_argument("--limits", default="0.2,1,3")
    parser.add_argument("--rows", type=float, default=1.0, help="the part of the long bodies' rows")
    parser.add_argument("--at-once", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--only", default="", help="the calls whose name has this")
    asked = parser.parse_args()
    settings = {"require_keys": "true"} if asked.what == "fair" else {}
    with tempfile.TemporaryDirectory(prefix="memplan-calls-") as folder:
        asked.keys = [_key(folder, name) for name in ("heavy", "light")] if asked.what == "fair" else []
        with served(Path(folder), **settings) as own:
            run = {"late": _late, "fair": _fair, "memory": _memory}[asked.what]
            print(json.dumps(asyncio.run(run(own, asked))), flush=True)
            log = own.log.read_text()
    told = [line for line in log.splitlines() if "replaced" in line or "Error" in line or "  File" in line]
    print(json.dumps({"tracebacks": log.count("Traceback"), "replaced": log.count("is replaced"), "log": told[-40:]}))


async def _late(own: Served, asked: argparse.Namespace) -> dict[str, Any]:
    waiting = iter(
        [
            (name, words, make, float(limit))
            for (name, words), make in heavy(asked.rows).items()
            if asked.only in name
            for limit in asked.limits.split(",")
        ]
    )
    answers: Counter[str] = Counter()
    late: list[dict[str, Any]] = []
    cpu, missed = own.cpu_s(), await _missed(own)

    async def send_on() -> None:
        for name, words, make, limit_s in waiting:
            body = await asyncio.to_thread(lambda: written(make(), limit_s))  # noqa: B023 - it is done here
            before = _cpu(own)
            status, content, passed_s = await _answer(own, f"/v1/{name}", body)
            after = _cpu(own)
            answers[f"{name} {status}"] += 1
            row = {
                "call": name,
                "what": words,
                "limit_s": limit_s,
                "bytes": len(body),
                "status": status,
                "over_s": round(passed_s - limit_s, 2),
                "server_cpu_s": round(after[0] - before[0], 2),
                "workers_cpu_s": round(after[1] - before[1], 2),
                "says": content[:110].decode("ascii", "replace"),
            }
            print(json.dumps(row), flush=True)
            if passed_s - limit_s > _LATE_S:
                late.append(row)

    await asyncio.gather(*(send_on() for _ in range(asked.at_once)))
    return {
        "requests": sum(answers.values()),
        "late": len(late),
        "counted_as_late": await _missed(own) - missed,
        "cpu_s": round(own.cpu_s() - cpu, 1),
        "answers": dict(answers),
    }


async def _fair(own: Served, asked: argparse.Namespace) -> dict[str, Any]:
    heavy_key, light_key = asked.keys
    one_change = [[{"buffer": 0, "fields": {"size": 9}}]]
    bodies = [
        ("/v1/repairs", written({"problem": bank(440)}, 0.2)),
        ("/v1/order", written({"graph": graph(2_000)}, 0.2)),
        (
            "/v1/scenarios",
            written({"problem": problem(100_000), "grid": one_change}, 0.2),
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
    return found


async def _memory(own: Served, asked: argparse.Namespace) -> dict[str, Any]:
    most: dict[str, float] = {}
    over, now = threading.Event(), ["at rest"]

    def watch() -> None:
        while not over.wait(0.02):
            most[now[0]] = max(most.get(now[0], 0.0), *own.memory_by_process().values())

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    await asyncio.sleep(0.5)
    large = 27 * 2**20
    bodies = {
        "scenarios": b'{"problem":{"buffers":[]},"grid":[[' + b",".join([b'{"a":1}'] * (large // 8)) + b"]]}",
        "sweep": b'{"problem":{"buffers":[]},"sizes":{'
        + b",".join(b'"p%d":[1]' % k for k in range(large // 14))
        + b"}}",
        "liveness": b'{"operations":{"functions":{"main":{"body":[{"op":"a","may_overwrite":['
        + b",".join([b'["a","b"]'] * (large // 10))
        + b"]}]}}}}",
        "explain": b'{"problem":{"buffers":[' + b",".join([b"{}"] * (large // 3)) + b"]}}",
        "plan": b'{"problem":{"buffers":[' + b",".join([b"{}"] * (large // 3)) + b"]}}",
        "order": b'{"graph":{"size":[' + b",".join([b"1"] * (large // 2)) + b'],"ops":[]}}',
    }
    answers = {}
    for name, body in bodies.items():
        now[0] = name
        status, content, passed_s = await _answer(own, f"/v1/{name}", body)
        answers[name] = f"{status} after {passed_s:.1f} s: {content[:120].decode('ascii', 'replace')}"
    over.set()
    watching.join()
    return {"most_mib_of_a_process": most, "answers": answers}


def _cpu(own: Served) -> tuple[float, float]:
    """Return the seconds of CPU of the processes that serve, with their readers, and of all others."""
    of: dict[bool, float] = {True: 0.0, False: 0.0}
    for one in (own.process, *own.process.children(recursive=True)):
        try:
            line = " ".join(one.cmdline())
            of["worker" not in line and "import_process" not in line] += sum(one.cpu_times()[:4])
        except Exception:  # noqa: BLE001 - one that has just ended
            continue
    return of[True], of[False]


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
