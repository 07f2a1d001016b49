"""Recompute on decoders like those of pytorch#197838, beside the partitioner of torch at each of its budgets.

    python -m lab.torch_recompute [--layers 16,24,32] [--width 256] [--time-limit S] > rows.jsonl

Run by hand, where torch is installed; on fake tensors, so nothing is computed. Both sides start from the same joint
graph of AOT autograd; bytes alive are counted by memplan for both, without parameters, and costs are floating-point
operations (elements where torch counts none) of what both run, less those of the joint graph. Torch's peak is that of
its own order, and `torch_reordered_peak` that of its clones in the best order that memplan finds. Then memplan is asked
for the lowest peak at no more than the cost of torch's best budget.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from copy import deepcopy
from typing import Any

import torch
import torch._functorch.config as functorch_config
from torch import nn
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._subclasses import FakeTensorMode
from torch.func import functional_call
from torch.nn import functional

from memplan import OperationGraph, OrderOptions, order, order_operations
from memplan.api.torch.graphs import flops_of, graph_of
from memplan.api.torch.tracing import joint_graph, whole
from memplan.planner.operations.order_check import peak_of

BUDGETS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.5, 0.75)
TOKENS = {16: 512, 24: 768, 32: 1024}


class Norm(nn.Module):
    """The root mean square norm."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Divide by the root of the mean square."""
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class Layer(nn.Module):
    """A layer of a decoder: attention, and a gated linear unit."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = Norm(width), Norm(width)
        self.query, self.key, self.value, self.outward = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, 4 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Attend, then think."""
        batch, tokens, width = x.shape
        y = self.before(x)
        parts = (self.query, self.key, self.value)
        heads = [part(y).view(batch, tokens, self.heads, width // self.heads).transpose(1, 2) for part in parts]
        seen = functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.outward(seen.transpose(1, 2).reshape(batch, tokens, width))
        y = self.between(x)
        return x + self.down(functional.silu(self.gate(y)) * self.up(y))


class Decoder(nn.Module):
    """Layers between an embedding and a head."""

    def __init__(self, layers: int, width: int, words: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Layer(width, 8) for _ in range(layers))
        self.norm, self.head = Norm(width), nn.Linear(width, words, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return a loss."""
        x = self.words(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)).float().pow(2).mean()


def traced(layers: int, tokens: int, width: int) -> tuple[Any, int]:
    """Return the joint graph of a decoder's loss."""
    with FakeTensorMode():
        model = Decoder(layers, width, 1024)
        names = [name for name, _ in model.named_parameters()]
        x = torch.zeros(1, tokens, dtype=torch.long)

        def loss(x: torch.Tensor, *parameters: torch.Tensor) -> Any:
            return functional_call(model, dict(zip(names, parameters, strict=True)), (x,))

        return joint_graph(loss, (x, *model.parameters()))


def partitioned(joint: Any, n_results: int, budget: float) -> OperationGraph:
    """Return what torch's partitioner makes of a joint graph at a budget."""
    module = deepcopy(joint)
    with functorch_config.patch(activation_memory_budget=budget):
        inputs = [node.meta["val"] for node in module.graph.nodes if node.op == "placeholder"]
        forward, backward = min_cut_rematerialization_partition(
            module, inputs, num_fwd_outputs=n_results, static_lifetime_input_indices=[]
        )
    return graph_of(whole(forward, backward, n_results), cost=flops_of).graph


def cost_of(graph: OperationGraph) -> int:
    """Return the cost of a graph's operations."""
    return sum(row.cost or 0 for row in graph.ops)


def measured(layers: int, tokens: int, width: int, time_limit_s: float) -> dict[str, Any]:
    """Return what both sides reach for one decoder."""
    joint, n_results = traced(layers, tokens, width)
    graph = graph_of(joint, cost=flops_of).graph
    cost = cost_of(graph)
    rows = []
    for budget in BUDGETS:
        theirs = partitioned(joint, n_results, budget)
        rows.append(
            {
                "budget": budget,
                "torch_peak": peak_of(theirs, range(len(theirs.ops))),
                "torch_reordered_peak": order_operations(theirs, time_limit_s=10).peak,
                "torch_extra_cost": cost_of(theirs) - cost,
            }
        )
        sys.stderr.write(f"{rows[-1]}\n")
    best = min(rows, key=lambda row: row["torch_peak"])
    started = time.process_time()
    options = OrderOptions(recompute=True, extra_cost=best["torch_extra_cost"] / cost, time_limit_s=time_limit_s)
    ours = order(graph, options).recomputed
    assert ours is not None
    spent = time.process_time() - started
    return {
        "layers": layers,
        "tokens": tokens,
        "operations": len(graph.ops),
        "cost": cost,
        "torch": rows,
        "at_equal_cost": {"peak": ours.points[-1].peak, "extra_cost": ours.points[-1].extra_cost, "cpu_s": spent},
        "peak_ratio": ours.points[-1].peak / best["torch_peak"],
    }


def main() -> None:
    """Measure the decoders asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", default="16,24,32")
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--time-limit", type=float, default=60.0)
    given = parser.parse_args()
    for layers in map(int, given.layers.split(",")):
        row = measured(layers, TOKENS.get(layers, 32 * layers), given.width, given.time_limit)
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
