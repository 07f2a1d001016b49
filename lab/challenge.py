"""Ask a server for hard problems that it has never seen: `python -m lab.challenge URL PROBLEM... [--shuffles 3]`.

A problem is a file, or an instance of a suite. Each is asked as it is, mirrored, and in some other orders, once each,
in turns with the peer `supermalloc` in a warm process of its own. Wall time is the client's, from the first byte sent
to the last one read; the peer's is that of its call. Every plan of the server is verified and must be optimal, else
the exit status is 1. Prints a line of JSON for each copy, and one for all of them.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from statistics import geometric_mean
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psutil

from memplan.api.bench.generators import tight
from memplan.api.bench.peers import find
from memplan.api.bench.suites import pose
from memplan.api.bench.variants import with_changes
from memplan.planner.formats import FORMATS
from memplan.planner.model.buffer_table import column
from memplan.planner.model.placement_table import PlacementTable
from memplan.planner.model.plan import Plan
from memplan.planner.model.problem import Problem
from memplan.planner.verify.verifier import verify

_PEER = "supermalloc"
_STRANGERS = 2


@dataclass(frozen=True)
class Answer:
    """What one side made of a problem: its peak (None: no valid and optimal plan), and what that took."""

    peak: int | None
    wall_time_s: float
    cpu_time_s: float


def main() -> int:
    """Ask what the command line says, and print what came of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("problems", nargs="+", metavar="PROBLEM")
    parser.add_argument("--shuffles", type=int, default=3, help="in how many other orders each is asked")
    parser.add_argument("--seed", type=int, default=0, help="in which orders")
    parser.add_argument("--time-limit", type=float, default=10.0, help="for both sides")
    parser.add_argument("--server", type=int, help="the server's process id, where its CPU time is to be counted, too")
    asked = parser.parse_args()
    ours = _Server(asked.url, asked.time_limit, asked.server)
    copies = [copy for name in asked.problems for copy in _copies(name, asked.shuffles, asked.seed)]
    rows: list[dict[str, Any]] = []
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as aside:
        sides: list[Callable[[Problem], Answer]] = [
            ours.plan,
            lambda problem: aside.submit(_by_peer, FORMATS["json"].write_problem(problem), asked.time_limit).result(),
        ]
        for side in sides:
            side(tight(seed=0, n=12, height=32, live=4, turnover=2.0).problem)
        for copy in copies:
            problem = _never_seen(pose(copy).problem)
            turn = 1 if len(rows) % 2 == 0 else -1
            mine, peers = [side(problem) for side in sides[::turn]][::turn]
            rows.append(_row(copy, problem, mine, peers))
            print(json.dumps(rows[-1]), flush=True)
    print(json.dumps(_summary(rows)))
    return 0 if all(row["peak"] is not None for row in rows) else 1


def _copies(name: str, shuffles: int, seed: int) -> list[str]:
    """Name a problem and its copies, as suites do."""
    return [name, f"mirrored:{name}", *(f"shuffled@{seed * shuffles + k}:{name}" for k in range(1, shuffles + 1))]


def _never_seen(problem: Problem) -> Problem:
    """Add buffers that are alive alone, after all others, with sizes from a new draw in each run.

    To a cache that knows problems by their content, it is then another problem; to a solver, the same one.
    """
    table = problem.buffers
    unit, last = int(np.gcd.reduce(table.size)), int(table.end.max())
    draw = random.SystemRandom()
    most = max(1, int(table.size.max()) // unit)
    strangers = [
        {"id": f"stranger {k}", "size": unit * draw.randint(1, most), "start": last + k, "end": last + k + 1}
        for k in range(_STRANGERS)
    ]
    return with_changes(problem, buffers=[*map(table.fields, range(len(table))), *strangers])


class _Server:
    """A server, asked over one connection that stays open, as a build's client does."""

    def __init__(self, url: str, time_limit_s: float, process: int | None) -> None:
        where = urlsplit(url)
        self._connection = http.client.HTTPConnection(where.hostname or "127.0.0.1", where.port or 80, timeout=600)
        self._options = {"time_limit_s": time_limit_s}
        self._process = None if process is None else psutil.Process(process)

    def plan(self, problem: Problem) -> Answer:
        """Have the server plan a problem, and check what it says."""
        body = json.dumps({"problem": json.loads(FORMATS["json"].write_problem(problem)), "options": self._options})
        cpu, began = self._cpu_time_s(), time.perf_counter()
        self._connection.request("POST", "/v1/plan", body, {"Content-Type": "application/json"})
        answer = self._connection.getresponse().read()
        wall = time.perf_counter() - began
        plan = Plan.model_validate_json(answer)
        is_right = plan.status == "optimal" and not verify(problem, plan)
        return Answer(plan.peak if is_right else None, wall, self._cpu_time_s() - cpu)

    def _cpu_time_s(self) -> float:
        """Return what the server and its workers have used so far; 0 where nobody said which process it is."""
        if self._process is None:
            return 0.0
        used = [each.cpu_times() for each in (self._process, *self._process.children(recursive=True))]
        return float(sum(times.user + times.system for times in used))


def _by_peer(written: bytes, time_limit_s: float) -> Answer:
    """Have the peer plan a problem; in its own process."""
    peer = find(_PEER)
    assert peer is not None
    place, problem = peer.load(), FORMATS["json"].read_problem(written)
    cpu, began = time.process_time(), time.perf_counter()
    offset = place(problem, time_limit_s)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    pool = (problem.pools[0].name,)
    plan = Plan(placements=PlacementTable(problem.buffers.ids, pool, column(np.zeros(len(offset))), column(offset)))
    is_right = not verify(problem, plan)
    return Answer(int((offset + problem.buffers.size).max()) if is_right else None, wall, cpu)


def _row(name: str, problem: Problem, mine: Answer, peers: Answer) -> dict[str, object]:
    return {
        "instance": name,
        "buffers": len(problem.buffers),
        "peak": mine.peak,
        "peer_peak": peers.peak,
        "wall_ms": round(1e3 * mine.wall_time_s, 1),
        "peer_wall_ms": round(1e3 * peers.wall_time_s, 1),
        "cpu_ms": round(1e3 * mine.cpu_time_s),
        "peer_cpu_ms": round(1e3 * peers.cpu_time_s),
        "ratio": round(mine.wall_time_s / peers.wall_time_s, 3),
    }


def _summary(rows: list[dict[str, Any]]) -> dict[str, object]:
    """Return what holds for all rows; means are geometric."""
    return {
        "copies": len(rows),
        "optimal": sum(row["peak"] is not None for row in rows),
        "wall_ms": round(geometric_mean(max(0.1, row["wall_ms"]) for row in rows), 1),
        "peer_wall_ms": round(geometric_mean(max(0.1, row["peer_wall_ms"]) for row in rows), 1),
        "ratio": round(geometric_mean(max(0.001, row["ratio"]) for row in rows), 3),
        "slowest_ms": max(row["wall_ms"] for row in rows),
        "cpu_ms": round(sum(row["cpu_ms"] for row in rows)),
        "peer_cpu_ms": round(sum(row["peer_cpu_ms"] for row in rows)),
    }


if __name__ == "__main__":
    sys.exit(main())
