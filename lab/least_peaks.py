"""Hold the least peaks of every entrance side by side: python -m lab.least_peaks FILE_OR_FOLDER... [--seconds 3].

Of each model that has operations: `order` with the goal `placed`, `compare`, `plan --reorder`, and `order` and
`compare` over HTTP, but with `--no-http`. Printed are the models of which two proved peaks differ, and the seconds that
`compare` took.
"""

from __future__ import annotations

import sys
import time
from argparse import ArgumentParser
from base64 import b64encode
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from httpx import HTTPStatusError

from memplan.api.settings import Settings
from memplan.capabilities.files.compare import CompareOptions, compare
from memplan.capabilities.inputs import GRAPH
from memplan.capabilities.operations.order import OrderOptions, order
from memplan.capabilities.operations.reordering import reorder
from memplan.capabilities.reading import Reader
from memplan.planner.errors import InputError
from memplan.planner.importers import detect
from memplan.planner.operations.graph import OperationGraph
from tests.support.server import Running, running

ENDINGS = (".tflite", ".onnx", ".pte", ".hlo.pb", ".relax", ".graph", ".json")
Peak = tuple[int | None, bool]
"""A peak, and whether it is proved to be the least."""


def models(paths: list[str]) -> Iterator[Path]:
    """Yield the files that paths name, and those in folders."""
    for path in map(Path, paths):
        found = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
        yield from (each for each in found if each.name.endswith(ENDINGS))


def peaks(file: Path, seconds: float, server: Running | None = None) -> tuple[dict[str, Peak], float]:
    """Return the least peak of each entrance, and the seconds of `compare`; raises InputError for other files."""
    data, name = file.read_bytes(), file.name
    graph = Reader().graph(data, name)
    found: dict[str, Peak] = {"order": of_order(graph, seconds)}
    placed = reorder(data, name, time_limit_s=seconds).placed
    found["plan --reorder"] = placed.plan.peak, placed.plan.status == "optimal" and placed.status == "optimal"
    compared_s = 0.0
    if detect(data, name) is not None:
        began = time.monotonic()
        reordered = compare(data, CompareOptions(name=name, time_limit_s=6 * seconds)).memplan_reordered
        compared_s = time.monotonic() - began
        found["compare"] = (None, False) if reordered is None else (reordered.peak, reordered.status == "optimal")
    if server is not None:
        found |= over_http(server, graph, data, name, seconds)
    return found, compared_s


def of_order(graph: OperationGraph, seconds: float) -> Peak:
    """Return the peak of the plan of the best order."""
    found = order(graph, OrderOptions(goal="placed", time_limit_s=seconds))
    return found.placed_peak, found.placed_status == "optimal"


def over_http(server: Running, graph: OperationGraph, data: bytes, name: str, seconds: float) -> dict[str, Peak]:
    """Return the peaks that a service answers."""
    limit: dict[str, Any] = {"time_limit_s": seconds}
    body = {"graph": GRAPH.to_json(graph), "options": limit | {"goal": "placed"}}
    found = server.client.post("/v1/order", json=body).raise_for_status().json()
    answers: dict[str, Peak] = {"POST /v1/order": (found["placed_peak"], found["placed_status"] == "optimal")}
    if detect(data, name) is not None:
        body = {"file": b64encode(data).decode(), "options": {"name": name, "time_limit_s": 6 * seconds}}
        found = server.client.post("/v1/compare", json=body).raise_for_status().json()["memplan_reordered"]
        if found is not None:
            answers["POST /v1/compare"] = found["peak"], found["status"] == "optimal"
    return answers


def differ(found: dict[str, Peak]) -> bool:
    """Return True where two entrances prove different peaks, or one is below what another proves."""
    known = [peak for peak, is_proved in found.values() if is_proved]
    return any(peak != known[0] for peak in known) or any(
        peak is not None and known and peak < min(each for each in known if each is not None)
        for peak, _ in found.values()
    )


def main(arguments: list[str]) -> int:
    """Run over all models; return 1 where some differ."""
    parser = ArgumentParser(prog="lab.least_peaks")
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--no-http", action="store_true")
    given = parser.parse_args(arguments)
    counts = {"same": 0, "not proved": 0, "no operations": 0, "no answer": 0, "differ": 0}
    compared_s = 0.0
    with nullcontext() if given.no_http else running(Settings()) as server:
        for file in models(given.paths):
            try:
                found, took_s = peaks(file, given.seconds, server)
            except HTTPStatusError as error:  # such as 504 on a machine that is busy
                counts["no answer"] += 1
                print(f"{file.name}: {error.response.text:.200}", flush=True)
                continue
            except InputError as error:
                counts["no operations"] += 1
                print(f"{file.name}: {error.sentences[0]:.100}", flush=True)
                continue
            compared_s += took_s
            kind = "differ" if differ(found) else "same" if all(known for _, known in found.values()) else "not proved"
            counts[kind] += 1
            if kind != "same":
                print(f"{file.name}: {kind}: {found}", flush=True)
    print(counts, f"compare: {compared_s:.1f} s in all")
    return min(1, counts["differ"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
