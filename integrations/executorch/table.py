"""`python -m integrations.executorch.table`: models of `torch_zoo` on ExecuTorch's plans and memplan's.

Each of MODELS is exported, planned by ExecuTorch's greedy planner and by memplan, and run by ExecuTorch's runtime on
both plans. Outputs must be equal bit by bit, and no plan larger, or it ends with an error. Times are CPU time of a
whole pass of planning, of REPEATS of them. Writes table.json.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

from executorch.exir import ExecutorchBackendConfig, to_edge
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy
from executorch.exir.passes import MemoryPlanningPass
from executorch.runtime import Runtime
from torch import manual_seed
from torch.export import export

from integrations.tables import record, row_of
from memplan.extensions.torch.executorch.algorithm import MemplanAlgorithm
from memplan.extensions.torch.tests import torch_zoo

REPEATS = 3
MODELS = """
resnet18 vgg mobilenet_v2 mobilenet_v3 densenet inception shufflenet unet convnext mixer generator autoencoder gpt2
llama bert experts vit swin encoder translator
"""


def planned(name: str, algorithm: Any) -> tuple[bytes, int, list[bytes], list[float]]:
    """Return the program, the bytes that it plans, what it computes, and the microseconds of planning."""
    manual_seed(0)
    network, inputs = torch_zoo.MODELS[name]()
    exported = export(network.eval(), inputs, strict=False)
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
    outputs = Runtime.get().load_program(program.buffer).load_method("forward").execute(inputs)
    return program.buffer, sum(sizes), [each.numpy().tobytes() for each in outputs], sorted(times)


def row(name: str) -> dict[str, Any]:
    memplan = MemplanAlgorithm()
    _, before, own, own_us = planned(name, MemoryPlanningAlgorithmSuite([greedy]))
    _, after, ours, us = planned(name, memplan)
    graph = memplan.planned[0]
    if own != ours:
        raise SystemExit(f"{name}: outputs differ")
    times = [[round(each[REPEATS // 2]), round(each[-1])] for each in (own_us, us)]
    return row_of(name, len(graph.problem.buffers), before, after, graph.plan.lower_bound, *times)


def main() -> None:
    warnings.simplefilter("ignore")
    record(Path(__file__).with_name("table.json"), map(row, sys.argv[1:] or MODELS.split()))


if __name__ == "__main__":
    main()
