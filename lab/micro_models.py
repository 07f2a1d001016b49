"""Models in TFLite Micro, with what memplan makes of them: `python -m lab.micro_models arenas FOLDER | written [N]`.

Run by hand, where tflite_micro and ai_edge_litert are installed. `arenas`: the arena of each .tflite file of a folder
with an exported plan and without; a line for each that is not as told, and counts. `written`: the first N of 20 models,
written in parts; whether outputs are equal in both runtimes, and the whole arena as a share of the given model's. The
exit status is 1 where something differs or an arena grew.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from memplan.capabilities.cascade.cascade import cascade
from memplan.capabilities.cascade.in_parts.write import rewritable
from memplan.capabilities.cascade.search.options import CascadeOptions
from memplan.capabilities.cascade.writing import written_in_parts
from memplan.planner.errors import InputError
from memplan.solvers.portfolio.solve import solve
from memplan.systems.layout import lay_out
from memplan.systems.model_graph import read_model_graph
from memplan.systems.reading import read_model
from memplan.systems.writing import export
from tests.support import tflite_networks

_LIMIT_S, _RUNS, _ARENA = 10.0, 8, 1 << 26
_ALLOCATIONS = """
import sys
from tflite_micro import runtime
data = open(sys.argv[1], "rb").read()
runtime.Interpreter.from_bytes(data, arena_size=max(4 * len(data), 2**22)).print_allocations()
"""
NETWORKS: tuple[tuple[str, int, int], ...] = (
    *(("vgg", 64, 8), ("mobilenet_v2", 96, 8), ("mobilenet_v1", 96, 8), ("vgg", 96, 8), ("mobilenet_v2", 128, 8)),
    *(("mobilenet_v1", 128, 8), ("mobilenet_v1", 160, 16), ("vgg", 128, 8), ("mobilenet_v2", 160, 8)),
    *(("mobilenet_v1", 48, 4), ("mobilenet_v2", 48, 4), ("vgg", 32, 4), ("mobilenet_v1", 192, 8), ("vgg", 161, 4)),
    *(("mobilenet_v2", 161, 8), ("mobilenet_v1", 97, 8), ("mobilenet_v1", 224, 16), ("mobilenet_v2", 224, 8)),
    *(("vgg", 192, 8), ("mobilenet_v2", 192, 16)),
)


def arena(data: bytes) -> tuple[int, int] | None:
    """Return head and tail of the arena, measured in a process of its own; None where the runtime refuses the model."""
    with tempfile.NamedTemporaryFile(suffix=".tflite") as file:
        file.write(data)
        file.flush()
        command = [sys.executable, "-c", _ALLOCATIONS, file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = {part: re.search(rf"Arena allocation {part} (\d+)", done.stdout + done.stderr) for part in ("head", "tail")}
    head, tail = found["head"], found["tail"]
    return None if head is None or tail is None else (int(head[1]), int(tail[1]))


def outputs(data: bytes) -> tuple[list[bytes], list[Any]]:
    """Return all outputs of TFLite Micro, and of LiteRT, for drawn inputs."""
    from ai_edge_litert.interpreter import Interpreter
    from tflite_micro import runtime

    micro = runtime.Interpreter.from_bytes(data, arena_size=_ARENA)
    litert, draw = Interpreter(model_content=data, num_threads=1), np.random.default_rng(7)
    litert.allocate_tensors()
    by_micro, by_litert = list[bytes](), list[Any]()
    for _ in range(_RUNS):
        for k, about in enumerate(litert.get_input_details()):
            kind = about["dtype"]
            value = draw.random(about["shape"]) if kind == np.float32 else draw.integers(0, 100, about["shape"])
            litert.set_tensor(about["index"], value.astype(kind))
            micro.set_input(value.astype(kind), k)
        litert.invoke()
        micro.invoke()
        for k, about in enumerate(litert.get_output_details()):
            by_litert.append(litert.get_tensor(about["index"]))
            by_micro.append(micro.get_output(k).tobytes())
    return by_micro, by_litert


def arenas(folder: str) -> int:
    """Measure the models of a folder with and without an exported plan; return how many take more with it."""
    counts: Counter[str] = Counter()
    for path in sorted(Path(folder).rglob("*.tflite")):
        data = path.read_bytes()
        before = arena(data)
        if before is None:
            counts["does not run"] += 1
            continue
        try:
            problem = read_model(data).problem
            plan = solve(problem, time_limit_s=3)
            after = arena(export("tflite", lay_out(problem, plan, data), "model")[""])
        except InputError as error:
            counts["refused"] += 1
            print(f"{path.name}: {error}", flush=True)
            continue
        if after is None or after[0] != plan.peak:
            counts["told wrong"] += 1
            print(f"{path.name}: told {plan.peak}, measured {after}", flush=True)
        if after is not None:
            change = sum(after) - sum(before)
            counts["larger" if change > 0 else "smaller" if change else "same"] += 1
    print(dict(counts))
    return counts["larger"]


def written(count: str = "20") -> int:
    """Write models in parts, and run both; return how many differ or take more."""
    wrong = gained = 0
    for name, side, scale in NETWORKS[: int(count)]:
        given = getattr(tflite_networks, name)(side, scale)
        model = rewritable(given, None, read_model_graph(given).graph)
        options = CascadeOptions(macs=1.25, time_limit_s=_LIMIT_S)
        found = written_in_parts(model, cascade(model.access, options), given)
        line = f"{name} {side} x {scale}: {'; '.join(found.sentences)}"
        if found.data is not None:
            (micro, litert), (micro_then, litert_then) = outputs(given), outputs(found.data)
            is_equal = micro == micro_then and all(map(np.array_equal, litert, litert_then))
            before, after = sum(arena(given) or ()), sum(arena(found.data) or ())
            gained, wrong = gained + 1, wrong + (not is_equal or after > before)
            line += f"; equal {is_equal}; arena {after:,}, {after / before:.2f} of {before:,}"
        print(line, flush=True)
    print(f"{gained} of {count} written, {wrong} differ or are above the given one")
    return wrong


if __name__ == "__main__":
    found = arenas(sys.argv[2]) if sys.argv[1] == "arenas" else written(*sys.argv[2:])
    sys.exit(min(1, found))
