"""Orders of training steps that others have published numbers for, as traced here: AlexNet, OPT and SqueezeNet.

    python -m lab.torch_orders [NAME ...] > rows.jsonl

Run by hand, where torch is installed; on fake tensors, so nothing is computed. A step is the
forward and backward pass and the update of each parameter in place (SGD), in the order of the trace: all updates last.
Each row has the peak of bytes alive in that order, memplan's with its bound, and those of inductor's three orders; and
the same with the parameters counted, as MODeL counts them: it saves 14.86 % for AlexNet (batch 32) and 11.7 % for OPT
(batch 1) of such peaks of its own traces.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import torch
from torch import nn
from torch._subclasses import FakeTensorMode
from torch.func import functional_call
from torch.fx.experimental.proxy_tensor import make_fx

from memplan import order_operations
from memplan.api.bench.orders.table import ORDERERS
from memplan.api.torch.graphs import graph_of
from memplan.capabilities.order.kernels import GROUP as ORDER
from memplan.planner.operations.order_check import peak_of
from memplan.solvers.kernels.kernel import load_kernels

PEERS = ("inductor-lpmf", "inductor-bfs", "inductor-dfs")


def alexnet() -> nn.Module:
    """Return AlexNet, with one tower."""
    parts: list[nn.Module] = []
    for inward, outward, size, stride, pad, pools in (
        (3, 64, 11, 4, 2, True),
        (64, 192, 5, 1, 2, True),
        (192, 384, 3, 1, 1, False),
        (384, 256, 3, 1, 1, False),
        (256, 256, 3, 1, 1, True),
    ):
        parts += [nn.Conv2d(inward, outward, size, stride, pad), nn.ReLU()]
        parts += [nn.MaxPool2d(3, 2)] if pools else []
    widths = (256 * 36, 4096, 4096)
    parts += [nn.AdaptiveAvgPool2d(6), nn.Flatten()]
    for inward, outward in pairwise(widths):
        parts += [nn.Dropout(), nn.Linear(inward, outward), nn.ReLU()]
    return nn.Sequential(*parts, nn.Linear(4096, 1000))


class Fire(nn.Module):
    """A module of SqueezeNet: fewer channels, then two convolutions side by side."""

    def __init__(self, inward: int, narrow: int, wide: int) -> None:
        super().__init__()
        self.narrow = nn.Conv2d(inward, narrow, 1)
        self.small, self.large = nn.Conv2d(narrow, wide, 1), nn.Conv2d(narrow, wide, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Squeeze and expand."""
        y = self.narrow(x).relu()
        return torch.cat([self.small(y).relu(), self.large(y).relu()], dim=1)


def squeezenet() -> nn.Module:
    """Return SqueezeNet 1.1."""
    pool: Callable[[], nn.Module] = lambda: nn.MaxPool2d(3, 2, ceil_mode=True)  # noqa: E731
    rows: list[Any] = [nn.Conv2d(3, 64, 3, 2), nn.ReLU(), pool()]
    rows += [Fire(64, 16, 64), Fire(128, 16, 64), pool(), Fire(128, 32, 128), Fire(256, 32, 128), pool()]
    rows += [Fire(256, 48, 192), Fire(384, 48, 192), Fire(384, 64, 256), Fire(512, 64, 256)]
    rows += [nn.Dropout(), nn.Conv2d(512, 1000, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*rows)


class Attended(nn.Module):
    """A layer of OPT, written out: attention with a mask, then two linear maps, each after a normalisation."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key, self.value, self.outward = (nn.Linear(width, width) for _ in range(4))
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Attend, then think; with dropout in between."""
        batch, tokens, width = x.shape
        y = self.before(x)
        parts = (self.query(y) * (width // self.heads) ** -0.5, self.key(y), self.value(y))
        query, key, value = (part.view(batch, tokens, self.heads, -1).transpose(1, 2) for part in parts)
        weights = nn.functional.dropout(torch.softmax(query @ key.transpose(2, 3) + mask, dim=-1), 0.1)
        seen = self.outward((weights @ value).transpose(1, 2).reshape(batch, tokens, width))
        x = x + nn.functional.dropout(seen, 0.1)
        y = self.narrow(self.wide(self.between(x)).relu())
        return x + nn.functional.dropout(y, 0.1)


class Opt(nn.Module):
    """OPT with 12 layers, 768 wide; words in and out share their weights."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(50272, 768), nn.Embedding(2050, 768)
        self.layers = nn.ModuleList(Attended(768, 12) for _ in range(12))
        self.norm = nn.LayerNorm(768)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return scores of all words."""
        tokens = x.shape[1]
        mask = torch.full((tokens, tokens), -1e9).triu(1)
        y = self.words(x) + self.places(torch.arange(tokens) + 2)
        for layer in self.layers:
            y = layer(y, mask)
        return self.norm(y) @ self.words.weight.t()


def _seen(model: nn.Module, batch: int) -> tuple[nn.Module, tuple[torch.Tensor, ...], Callable[..., Any]]:
    given = torch.zeros(batch, 3, 224, 224), torch.zeros(batch, dtype=torch.long)
    return model, given, lambda run, x, y: nn.functional.cross_entropy(run(x), y)


def _read(model: nn.Module, tokens: int) -> tuple[nn.Module, tuple[torch.Tensor, ...], Callable[..., Any]]:
    given = torch.zeros(1, tokens, dtype=torch.long), torch.zeros(1, tokens, dtype=torch.long)
    return model, given, lambda run, x, y: nn.functional.cross_entropy(run(x).flatten(0, 1), y.flatten())


STEPS: dict[str, Callable[[], tuple[nn.Module, tuple[torch.Tensor, ...], Callable[..., Any]]]] = {
    "alexnet-b32": lambda: _seen(alexnet(), 32),
    "squeezenet-b1": lambda: _seen(squeezenet(), 1),
    "squeezenet-b32": lambda: _seen(squeezenet(), 32),
    "opt-b1-64": lambda: _read(Opt(), 64),
    "opt-b1-512": lambda: _read(Opt(), 512),
}


def traced(name: str) -> tuple[Any, int]:
    """Return a training step as a graph of operations, and the bytes of its parameters."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        model, given, loss = STEPS[name]()
        model.train()
        weights = {key: value.detach() for key, value in model.named_parameters()}

        def step(weights: dict[str, Any], *given: Any) -> Any:
            leaves = {key: value.detach().requires_grad_() for key, value in weights.items()}
            result = loss(lambda *x: functional_call(model, leaves, x), *given)
            gradients = torch.autograd.grad(result, list(leaves.values()), allow_unused=True)
            for value, gradient in zip(weights.values(), gradients, strict=True):
                if gradient is not None:
                    value.sub_(gradient * 0.1)
            return result

        module = make_fx(step)(weights, *given)
    module.graph.eliminate_dead_code()
    return graph_of(module).graph, sum(value.numel() * value.element_size() for value in weights.values())


def main() -> None:
    """Trace and order the steps asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=list(STEPS))
    for name in parser.parse_args().names:
        graph, apart = traced(name)
        load_kernels(ORDER)
        started, cpu = time.monotonic(), time.process_time()
        found = order_operations(graph, time_limit_s=60)
        spent, cpu = time.monotonic() - started, time.process_time() - cpu
        peers = {peer: peak_of(graph, list(ORDERERS[peer].load()(graph, 60) or ())) for peer in PEERS}
        row = {
            "name": name,
            "operations": len(graph.ops),
            "tensors": sum(bytes_ > 0 for bytes_ in graph.counted),
            "given_peak": found.given_peak,
            "peak": found.peak,
            "lower_bound": found.lower_bound,
            "saved": 1 - found.peak / found.given_peak,
            "saved_with_parameters": (found.given_peak - found.peak) / (found.given_peak + apart),
            **peers,
            "wall_s": round(spent, 3),
            "cpu_s": round(cpu, 3),
        }
        sys.stdout.write(json.dumps(row) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
