"""Problems of torch networks and training steps with symbolic dimensions, exported by `torch.export`."""

from __future__ import annotations

import io
from typing import Any

import torch
from torch.export.experimental import _export_forward_backward

from memplan.extensions.shapes.symbolic_models import read_symbolic
from memplan.extensions.torch.tests.torch_zoo import MODELS, Network
from memplan.programs.symbols.problem import SymbolicProblem
from memplan.programs.symbols.space import SymbolRange
from memplan.runtimes.torch import archive

STEPS = "untied encoder translator vit resnet18 mobilenet_v2 unet densenet graph autoencoder"
NETWORKS = "gpt2 llama experts encoder translator resnet18 mobilenet_v3 densenet shufflenet unet"
ASKED = (*(f"{name} step" for name in STEPS.split()), *NETWORKS.split())
"""Names of graphs: training steps of some models, and forward passes whose dimensions torch keeps symbolic."""
MOST = 1024
"""The maximum value of each symbolic dimension."""


def symbolic_model(name: str) -> SymbolicProblem:
    """Return the problem of a network or training step; the batch size and the length or image size are symbols."""
    inner, inputs = MODELS[name.removesuffix(" step")]()
    is_step = name.endswith(" step")

    def run(own: Any, *given: Any) -> Any:
        """Return the network's result or, for a training step, the mean of its squares as a loss."""
        made = own.inner(*given)
        return made.square().mean() if is_step else made

    free = tuple(
        {k: torch.export.Dim.AUTO for k in range(each.dim()) if k not in _channel_dimension(each)} for each in inputs
    )
    program = torch.export.export(Network(run, inner=inner), inputs, dynamic_shapes=(free,))
    data = io.BytesIO()
    torch.export.save(_export_forward_backward(program) if is_step else program, data)
    named = archive.symbols(data.getvalue()).items()
    ranges = {each: SymbolRange(min=row.min, max=min(row.max or MOST, MOST)) for each, row in named}
    return read_symbolic(data.getvalue(), f"{name}.pt2", ranges)


def _channel_dimension(given: Any) -> tuple[int, ...]:
    """Return the axis of a tensor's channels: the second axis of images, else the last; () for tensors of integers."""
    return () if not given.is_floating_point() else (1,) if given.dim() == 4 else (given.dim() - 1,)
