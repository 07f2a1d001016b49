"""Hold the least peaks of every entrance side by side: python -m lab.least_peaks FILE_OR_FOLDER... [--seconds 3].

Of each model that has operations: `order` with the goal `placed`, `compare`, `plan --reorder`, and `order` and
`compare` over HTTP, but with `--no-http`. With `--values`, each TFLite and ONNX model that an order improves is written
in that order, and run beside the given one by LiteRT or onnxruntime: outputs must be equal, bit by bit. Printed are the
models of which two proved peaks or two outputs differ, and the seconds that `compare` took.
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

from lab.device_models import drawn_inputs, litert
from memplan.api.settings import Settings
from memplan.capabilities.cascade.writing import written_model
from memplan.capabilities.compare.compare import CompareOptions, compare
from memplan.capabilities.inputs import GRAPH
from memplan.capabilities.order.order import OrderOptions, order
from memplan.capabilities.order.reordering import reorder
from memplan.capabilities.reading import Reader
from memplan.planner.errors import InputError
from memplan.planner.operations.graph import OperationGraph
from memplan.systems.reading import detect
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


def has_equal_values(file: Path, seconds: float) -> bool | None:
    """Return True where a model in its best order computes the same; None where nothing is gained, or none runs it."""
    reader, suffix = Reader(), file.suffix
    if suffix not in (".tflite", ".onnx"):
        return None
    graph = reader.graph(file.read_bytes(), file.name)
    written = written_model(reader, order(graph, OrderOptions(time_limit_s=seconds))).data
    if written is None:
        return None
    try:
        if suffix == ".onnx":
            before, after = (onnx_outputs(data) for data in (reader.data, written))
        else:
            inputs, _ = drawn_inputs(reader.data)
            before, after = (litert(data, inputs) for data in (reader.data, written))
    except (ImportError, RuntimeError, ValueError) as error:  # a runtime that lacks an operator
        print(f"{file.name}: not run: {str(error).splitlines()[0]:.100}", flush=True)
        return None
    return all(a.tobytes() == b.tobytes() for a, b in zip(before, after, strict=True))


def onnx_outputs(data: bytes) -> list[Any]:
    """Return the outputs of onnxruntime for drawn inputs, with open dimensions of 1."""
    import numpy as np
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session, draw = onnxruntime.InferenceSession(data, options), np.random.default_rng(7)
    kinds = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
    given = {
        row.name: draw.random([size if isinstance(size, int) else 1 for size in row.shape]).astype(
            kinds.get(row.type, np.int64)
        )
        for row in session.get_inputs()
    }
    return [np.asarray(each) for each in session.run(None, given)]


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
    parser.add_argument("--values", action="store_true")
    given = parser.parse_args(arguments)
    counts = {"same": 0, "not proved": 0, "no operations": 0, "no answer": 0, "differ": 0}
    values = {"equal": 0, "different": 0, "none written or run": 0}
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
            if given.values:
                equal = has_equal_values(file, given.seconds)
                values["none written or run" if equal is None else "equal" if equal else "different"] += 1
                if equal is False:
                    print(f"{file.name}: other outputs in the new order", flush=True)
            kind = "differ" if differ(found) else "same" if all(known for _, known in found.values()) else "not proved"
            counts[kind] += 1
            if kind != "same":
                print(f"{file.name}: {kind}: {found}", flush=True)
    print(counts, values if given.values else "", f"compare: {compared_s:.1f} s in all")
    return min(1, counts["differ"] + values["different"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
