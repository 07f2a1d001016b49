"""Load one server with several callers: `python -m lab.one_key bombs [--only WORD]`, or `mixture [--count 150]`.

- `bombs`: one key sends bodies that take far more memory than their bytes, with the settings of the deployment
  manifests, while another key plans small problems. For each kind of body, it prints the statuses, the peak memory
  (RSS) of the server's main process and of all its processes, and the latencies of `/healthz` and of the plans.
- `mixture`: several callers make random calls at once. It prints the statuses, the late responses, and the times of
  refusals. It repeats each call without a response in time (504) alone, and prints how many of these succeed.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from lab.support.drawn_calls import draw_call
from lab.support.served import ServerProcess, run_server
from memplan.api.metrics import LATE_S

_JSON = "application/json"
_SECRET = "0123456789" * 4
_BODY, _SETTINGS = 32 * 2**20, {"workers": "0", "solves": "1", "worker_memory_bytes": "1000000000"}
_MANIFESTS = _SETTINGS | {"max_body_bytes": str(_BODY), "require_keys": "true", "admin_key": _SECRET}
_PROBE_S, _SAMPLE_S, _PATIENCE_S = 0.02, 0.1, 300.0


def _fill_body(begin: bytes, part: bytes, end: bytes) -> bytes:
    """Return a request body of nearly `_BODY` bytes: `begin`, many copies of `part`, and `end`."""
    return begin + part * ((_BODY - 64) // len(part)) + end


_NOTHING: tuple[int, str, str, Callable[[], bytes]] = (0, "", "", bytes)
BOMBS: dict[str, tuple[int, str, str, Callable[[], bytes]]] = {
    "{} x 12": (12, "/v1/plan", _JSON, lambda: _fill_body(b'{"buffers":[', b"{},", b"{}]}")),
    "[] x 8": (8, "/v1/plan", _JSON, lambda: _fill_body(b'{"buffers":[', b"[],", b"[]]}")),
    '{"":0} x 8': (8, "/v1/plan", _JSON, lambda: _fill_body(b'{"buffers":[', b'{"":0},', b"{}]}")),
    "0 x 8": (8, "/v1/plan", _JSON, lambda: _fill_body(b'{"buffers":[', b"0,", b"0]}")),
    "text x 8": (8, "/v1/plan", _JSON, lambda: _fill_body(b'{"name":"', b"a", b'","buffers":[]}')),
    "ops x 8": (8, "/v1/order", _JSON, lambda: _fill_body(b'{"graph":{"ops":[', b"{},", b"{}]}}")),
    "jobs x 8": (8, "/v1/jobs", _JSON, lambda: _fill_body(b'{"buffers":[', b"{},", b"{}]}")),
    "rows x 4": (4, "/v1/plan?time_limit_s=5", _JSON, lambda: _rows_body(300_000)),
    "form x 1": (1, "/v1/verify", "multipart/form-data; boundary=a", lambda: b"--a\r\n" + b"\r\n--a" * (2**27 // 5)),
    "form x 8": (8, "/v1/verify", "multipart/form-data; boundary=a", lambda: b"--a\r\n" + b"\r\n--a" * (2**27 // 5)),
}
"""Maps a kind of body to (number sent at once, path, media type, function that creates the body)."""


def _rows_body(count: int, draw: random.Random | None = None) -> bytes:
    """Return the JSON body of a random problem with `count` small buffers."""
    draw = draw or random.Random(count)
    starts = (draw.randrange(2 * count) for _ in range(count))
    rows = [{"id": k, "size": draw.randrange(64, 4096), "start": at, "end": at + 4} for k, at in enumerate(starts)]
    return json.dumps({"buffers": rows}).encode()


def call_status(
    own: ServerProcess, path: str, body: bytes, media: str = _JSON, key: str | None = None
) -> tuple[str, float]:
    """Send `body` to `path` on a new connection; return (status or name of the error, duration in seconds)."""
    began, line = time.monotonic(), http.client.HTTPConnection(own.host, own.port, timeout=_PATIENCE_S)
    headers = {"Content-Type": media} | ({} if key is None else {"Authorization": f"Bearer {key}"})
    try:
        with suppress(BrokenPipeError, ConnectionResetError):  # The server may refuse before the body ends.
            line.request("POST" if body else "GET", path, body or None, headers)
        answer = line.getresponse()
        answer.read()
        return str(answer.status), time.monotonic() - began
    except OSError as error:
        return type(error).__name__, time.monotonic() - began
    finally:
        line.close()


def _watch_server(own: ServerProcess, other: str, over: threading.Event) -> Iterator[Callable[[], dict[str, object]]]:
    """Probe a server in threads during the block, and yield a function that ends the probes and returns the results."""
    draw = random.Random(0)

    def probe(seconds: list[float], path: str, body: Callable[[], bytes], key: str | None) -> None:
        """Call a path of the server repeatedly, and record the seconds of each call."""
        while not over.is_set():
            status, took = call_status(own, path, body(), key=key)
            seconds.append(took if status == "200" else _PATIENCE_S)
            over.wait(_PROBE_S)

    def sample(most: dict[str, int]) -> None:
        """Record the maximum memory of the server's main process and of all its processes, in bytes."""
        page = os.sysconf("SC_PAGESIZE")
        while not over.wait(_SAMPLE_S):
            with suppress(OSError):
                pids = [own.process.pid, *_descendants(own.process.pid)]
                held = [page * int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids]
                most["own"], most["all"] = max(most["own"], held[0]), max(most["all"], sum(held))

    health, plans, most = list[float](), list[float](), {"own": 0, "all": 0}
    threads = [
        threading.Thread(target=probe, args=(health, "/healthz", lambda: b"", None)),
        threading.Thread(target=probe, args=(plans, "/v1/plan", lambda: _rows_body(20, draw), other)),
        threading.Thread(target=sample, args=(most,)),
    ]
    for thread in threads:
        thread.start()

    def end_watch() -> dict[str, object]:
        """End all probes, and return the maximum memory and the latencies that they measured."""
        over.set()
        for thread in threads:
            thread.join()
        megabytes = {f"{name}_mb": round(count / 1e6) for name, count in most.items()}
        return megabytes | {
            "healthz_ms": _latency_summary_ms(health),
            "plans_ms": _latency_summary_ms(plans),
            "plans": len(plans),
        }

    yield end_watch


def _descendants(pid: int) -> Iterator[int]:
    """Yield the process ids of all descendants of a process."""
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield int(child)
            yield from _descendants(int(child))


def _main_thread_times_s(own: ServerProcess) -> tuple[float, ...]:
    """Return the seconds that the server's main thread has run, and the seconds that it has waited for a processor."""
    ran, waited, _ = Path(f"/proc/{own.process.pid}/schedstat").read_text().split()
    return int(ran) / 1e9, int(waited) / 1e9


def _latency_summary_ms(seconds: list[float]) -> list[float]:
    """Return the median, 90th and 99th percentile and maximum, in milliseconds, of durations in seconds."""
    ranked = sorted(seconds) or [0.0]
    return [round(1e3 * ranked[int(part * (len(ranked) - 1))], 1) for part in (0.5, 0.9, 0.99, 1.0)]


def bombs(folder: Path, only: str) -> Iterator[dict[str, object]]:
    """Yield a row of measurements of the idle server, then a row for each kind of body."""
    told = os.environ | {"MEMPLAN_DATA_FOLDER": str(folder / "data")}
    command = [str(Path(sys.executable).with_name("memplan")), "keys", "add", "other"]
    other = subprocess.run(command, env=told, capture_output=True, text=True, check=True).stdout.split()[-1]
    with run_server(folder, **_MANIFESTS) as own:
        kinds = {"nothing": _NOTHING} | {name: bomb for name, bomb in BOMBS.items() if only in name}
        for name, (count, path, media, make) in kinds.items():
            body, over = make(), threading.Event()
            for probing in _watch_server(own, other, over):
                before = own.cpu_s(), *_main_thread_times_s(own)
                with ThreadPoolExecutor(max(1, count)) as pool:
                    calls = [pool.submit(call_status, own, path, body, media, _SECRET) for _ in range(count)]
                    answers = [call.result() for call in calls]
                if not count:
                    time.sleep(5.0)
                row = {"bodies": name, "answers": dict(Counter(status for status, _ in answers)), **probing()}
                used = [
                    round(now - then, 2)
                    for now, then in zip((own.cpu_s(), *_main_thread_times_s(own)), before, strict=True)
                ]
                yield (
                    row
                    | dict(zip(("cpu_s", "loop_ran_s", "loop_waited_s"), used, strict=True))
                    | {
                        "answered_ms": _latency_summary_ms([took for _, took in answers]),
                        "load": os.getloadavg()[0],
                    }
                )


def mixture(folder: Path, count: int, seed: int, callers: int) -> dict[str, object]:
    """Return the outcomes of random calls by several callers; calls without a response in time are repeated alone."""
    calls = [draw_call(random.Random(f"{seed} {number}")) for number in range(count)]
    with run_server(folder, workers="0") as own, ThreadPoolExecutor(callers) as pool:

        def ask(call: tuple[str, bytes, float, str]) -> tuple[str, float]:
            """Make one of the random calls, and return its status and its seconds."""
            return call_status(own, f"/v1/{call[0]}", call[1])

        cpu_s, began = own.cpu_s(), time.monotonic()
        answers = list(pool.map(ask, calls))
        seconds, cpu_s = time.monotonic() - began, own.cpu_s() - cpu_s
        late, again = list[str](), list[str]()
        for call, (status, took) in zip(calls, answers, strict=True):
            name, _, limit_s, words = call
            if status != "429" and took > limit_s + LATE_S:
                late.append(f"{name} {limit_s} s, {words}: {status} after {took:.2f} s")
            if status == "504":
                again.append(f"{ask(call)[0]} {name} {limit_s} s, {words}")
    return {
        "seed": seed,
        "statuses": dict(Counter(status for status, _ in answers)),
        "late": late,
        "refused_ms": _latency_summary_ms([took for status, took in answers if status == "429"]),
        "504_alone": dict(Counter(line[:3] for line in again)),
        "not_right": [line for line in again if line[:3] != "504"],
        "seconds": round(seconds),
        "cpu_s": round(cpu_s),
        "load": os.getloadavg(),
    }


def main() -> None:
    """Run the requested program, and print each row as a line of JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=("bombs", "mixture"))
    parser.add_argument("--only", default="", help="kinds of bodies with this in their names")
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=90101)
    parser.add_argument("--callers", type=int, default=8)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memplan-one-key-") as name:
        if given.what == "mixture":
            print(json.dumps(mixture(Path(name), given.count, given.seed, given.callers)), flush=True)
        else:
            for row in bombs(Path(name), given.only):
                print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
