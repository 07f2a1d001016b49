"""Inductor's pools planned for all shapes: the same outputs, and never more bytes than in its own trees."""

from __future__ import annotations

import random
import warnings
from typing import Any

import pytest

from memplan.api.torch.inductor import planned_pools

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of others' modules, as they are loaded
    config: Any = pytest.importorskip("torch._inductor.config", reason="needs torch")
    torch: Any = pytest.importorskip("torch", reason="needs torch")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


def _layers(x: Any, weight: Any) -> Any:
    """Return what layers compute whose sizes grow with the rows, beside some that do not; all are multiples of 64."""
    for _ in range(1):
        square = weight @ weight.t()
        x = torch.relu(x @ square) @ weight + torch.relu(x @ weight)
        x = x @ weight.t()
    return x


def test_pools_need_no_more_than_their_trees_and_outputs_are_equal() -> None:
    torch.manual_seed(2)
    draw, weight = random.Random(3), torch.randn(64, 128) / 16
    # No loop is made for vectors: to find out which ones the machine has, torch compiles for each of them.
    plainly = {"force_disable_caches": True, "cpp.vec_isa_ok": False}
    with planned_pools(2.0) as pools, torch.no_grad(), config.patch(plainly):
        compiled = torch.compile(_layers, dynamic=True)
        for rows in (40, 17):
            given = torch.randn(rows, 64)
            assert torch.allclose(compiled(given, weight), _layers(given, weight), atol=1e-5)
    assert any(pool.is_planned for pool in pools)
    for pool in pools:
        for _ in range(20):
            values = {name: draw.randint(2, 500) for name in pool.tree.free_symbols | pool.bytes.free_symbols}
            assert int(pool.bytes.subs(values)) <= int(pool.tree.subs(values))
