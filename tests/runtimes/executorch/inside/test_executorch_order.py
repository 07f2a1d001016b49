"""Reordering inside the real ExecuTorch: reordered programs compute the same results and need no more bytes."""

from typing import Any

import pytest

from memplan.extensions.torch.tests.late_imports import LateModule
from memplan.runtimes.executorch.inside.algorithm import MemplanAlgorithm
from memplan.runtimes.executorch.inside.order import reordered

exir, runtime = LateModule("executorch.exir"), LateModule("executorch.runtime")
import torch  # noqa: E402  # which ExecuTorch requires

from memplan.extensions.torch.tests.torch_models import Attention, Block  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")


class Branches(torch.nn.Module):  # type: ignore[misc]
    """A model in a bad order: all large tensors are computed before the first one is reduced to a small one."""

    def forward(self, x: Any) -> Any:
        wide = [(x + k).repeat(1, 64) for k in range(8)]
        return torch.cat([y.sum(dim=1, keepdim=True) for y in wide], dim=1).relu()


class Counter(torch.nn.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4, 8))

    def forward(self, x: Any) -> Any:
        wide = [(x + self.total * k).repeat(1, 64) for k in range(4)]
        self.total.add_(x)
        return torch.cat([y.sum(dim=1, keepdim=True) for y in wide], dim=1) + self.total.sum()


class Choice(torch.nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        wide = [(x + k).repeat(1, 64) for k in range(4)]
        small = torch.cat([y.sum(dim=1, keepdim=True) for y in wide], dim=1)
        return torch.cond(x.sum() > 0, lambda y: y * 2, lambda y: y - 1, (small,))


MODELS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "branches": (Branches, (4, 8)),
    "counter": (Counter, (4, 8)),
    "choice": (Choice, (4, 8)),
    "attention": (lambda: Attention(32, 64), (1, 16, 32)),
    "residual": (lambda: torch.nn.Sequential(Block(3, (8, 3, 1), (8, 3, 2)), Block(8, (8, 3, 1))), (1, 3, 16, 16)),
}


def _planned_program(edge: Any) -> tuple[Any, MemplanAlgorithm]:
    algorithm = MemplanAlgorithm()
    planning = exir.passes.MemoryPlanningPass(memory_planning_algo=algorithm)
    return edge.to_executorch(exir.ExecutorchBackendConfig(memory_planning_pass=planning)), algorithm


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_reordered_programs_compute_the_same_bits_in_no_more_memory(name: str) -> None:
    torch.manual_seed(3)
    make, shape = MODELS[name]
    model, x = make().eval(), torch.randn(shape)
    exported = torch.export.export(model, (x,), strict=False)
    given, planned = _planned_program(exir.to_edge(exported))
    better, planned_better = _planned_program(reordered(exir.to_edge(exported), deterministic=True))
    loaded = [runtime.Runtime.get().load_program(program.buffer) for program in (given, better)]
    results = [each.load_method("forward").execute((x.clone(),)) for each in loaded]
    for first, second in zip(*results, strict=True):
        assert torch.equal(first, second)
    sizes = [sum(one.planned[-1].bufsizes) for one in (planned, planned_better)]
    assert sizes[1] <= sizes[0]
    if name == "branches":
        assert sizes[1] < 0.4 * sizes[0]
