"""`python -m integrations.executorch.table`: models.py on ExecuTorch's plans and on memplan's; writes table.json.

Each model is exported, planned by ExecuTorch's greedy planner and by memplan, and run by ExecuTorch's runtime on both
plans. Outputs must be equal bit by bit, and no plan larger, or it ends with an error. Times are CPU time of a whole
pass of planning, of REPEATS of them.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime
from torch.export import export

from integrations.executorch.models import MODELS, model
from memplan.api.executorch.algorithm import MemplanAlgorithm

REPEATS = 3


def planned(name: str, algorithm: Any) -> tuple[bytes, int, list[bytes], list[float]]:
    """Return the program, the bytes that it plans, what it computes, and the microseconds of planning."""
    network, x = model(name)
    exported = export(network, (x,), strict=False)
    times: list[float] = []

    def timed(*arguments: Any, **options: Any) -> Any:
        start = time.process_time()
        result = algorithm(*arguments, **options)
        times.append(1e6 * (time.process_time() - start))
        return result

    for _ in range(REPEATS):
        planning = MemoryPlanningPass(memory_planning_algo=timed)
        program = to_edge(exported).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
    sizes = program.executorch_program.execution_plan[0].non_const_buffer_sizes
    outputs = Runtime.get().load_program(program.buffer).load_method("forward").execute([x])
    return program.buffer, sum(sizes), [each.numpy().tobytes() for each in outputs], sorted(times)


def row(name: str) -> dict[str, Any]:
    memplan = MemplanAlgorithm()
    _, before, own, own_us = planned(name, MemoryPlanningAlgorithmSuite([greedy]))
    _, after, ours, us = planned(name, memplan)
    graph = memplan.planned[0]
    if own != ours or after > before:
        raise SystemExit(f"{name}: ExecuTorch {before} bytes, memplan {after}, outputs equal: {own == ours}")
    return {
        "model": name,
        "buffers": len(graph.problem.buffers),
        "before": before,
        "after": after,
        "bound": graph.plan.lower_bound,
        "equal": True,
        "own_us": [round(own_us[REPEATS // 2]), round(own_us[-1])],
        "us": [round(us[REPEATS // 2]), round(us[-1])],
    }


def main() -> None:
    warnings.simplefilter("ignore")
    rows = []
    for name in sys.argv[1:] or MODELS:
        rows.append(row(name))
        print(json.dumps(rows[-1]), flush=True)
    text = "[\n" + ",\n".join(json.dumps(each) for each in rows) + "\n]\n"
    Path(__file__).with_name("table.json").write_text(text)


if __name__ == "__main__":
    main()
