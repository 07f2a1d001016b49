"""Plans of ONNX models, verified by ONNX Runtime: equal outputs, in the planned bytes.

Each model is run as given and in the order of `order -o`: as a whole, and then node by node in one arena of the bytes
of its plan, with each value at its offset. The bytes alive in these runs are counted: if the plan is proved optimal, no
arena of 64 bytes less could hold them.
"""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import onnx

from memplan.planner.foreign.reading import read_model
from memplan.programs.models.model_graph import read_model_graph
from memplan.programs.models.sequence import write_reordered
from memplan.programs.order.options import OrderOptions
from memplan.programs.order.order import order
from memplan.programs.order.search.regions import permute
from memplan.questions.plan.plan import PlanOptions, plan
from memplan.runtimes.onnx.model import graphs_of
from tests.runtimes import onnx_models
from tests.runtimes.onnx_runs import ArenaRun, Arrays, draw_inputs, run_whole
from tests.runtimes.random_onnx import OPERATORS, random_model

_RUNS = 4
_LOOPS = {"Loop", "Scan"}


def draw_models(count: int) -> Iterator[tuple[str, bytes]]:
    """Yield so many models by their names: loops and choices, each operator in its turn, then mixed ones."""
    yield from (("choice", onnx_models.choice()), ("loop", onnx_models.loop()), ("swaps", onnx_models.loop(swaps=True)))
    rows = sorted(OPERATORS)
    for k in range(max(0, count - 3)):
        first = tuple(rows[(2 * k + j) % len(rows)] for j in range(2))
        yield f"drawn {k} {' '.join(first)}", random_model(k, 12, OPERATORS, first)


def faults(data: bytes, tally: Counter[str], seconds: float = 2.0) -> Iterator[str]:
    """Yield the errors of a model's plan and of the plan of its written order; count the runs."""
    read = read_model_graph(data, "model.onnx")
    found = order(read.graph, OrderOptions(time_limit_s=seconds, goal="placed", alignment=64))
    inputs = [draw_inputs(data, seed) for seed in range(_RUNS)]
    wanted = [run_whole(data, each) for each in inputs]
    yield from _arena_faults("as given", data, inputs, wanted, tally, None, seconds)
    written = write_reordered(data, "model.onnx", permute(found.ordered or read.graph, found.order)).data
    if written != data:
        tally["orders written"] += 1
        if not all(_are_equal(run_whole(written, each), one) for each, one in zip(inputs, wanted, strict=True)):
            yield "in order: its outputs differ"
        yield from _arena_faults("in order", written, inputs, wanted, tally, found.placed_peak, seconds)


def _arena_faults(
    name: str,
    data: bytes,
    inputs: list[Arrays],
    wanted: list[list[np.ndarray]],
    tally: Counter[str],
    promised: int | None,
    seconds: float,
) -> Iterator[str]:
    problem = read_model(data, "model.onnx").problem
    found = plan(problem, options=PlanOptions(time_limit_s=seconds))
    if promised is not None and found.status == "optimal" and (found.peak or 0) > promised:
        yield f"{name}: needs {found.peak} bytes, where {promised} are promised"
    most = 0
    for each, outputs in zip(inputs, wanted, strict=True):
        run = ArenaRun(data, problem, found)
        if not _are_equal(run.run(each), outputs):
            yield f"{name}: its outputs differ in an arena of {found.peak} bytes"
        most = max(most, run.peak_live_bytes())
        tally["runs in an arena"] += 1
    if any(node.op_type in _LOOPS for graph in graphs_of(onnx.load_from_string(data).graph) for node in graph.node):
        tally["bytes of loops, not counted"] += 1
    elif most > (found.peak or 0):
        yield f"{name}: has {most} bytes alive, in an arena of {found.peak}"
    else:
        tally["arenas that 64 bytes less do not hold" if most == found.peak else "arenas above what was alive"] += 1


def _are_equal(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return all(np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True) for a, b in zip(one, other, strict=True))
