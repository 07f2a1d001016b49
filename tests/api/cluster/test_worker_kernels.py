"""A worker makes the kernels of all groups ready, and not only those that plans need."""

from __future__ import annotations

import asyncio

from memplan.api.cluster.worker_process import make_all_ready
from memplan.solvers.kernels import abi
from memplan.solvers.kernels.cache import GROUPS
from memplan.solvers.kernels.kernel import runs_as_python
from memplan.solvers.kernels.warm_up import kernel_named


def test_all_kernels_of_a_worker_are_loaded_before_they_are_asked_for() -> None:
    asyncio.run(make_all_ready(after_s=0.0))
    kernels = [kernel_named(name) for group in GROUPS for name in group.kernels]
    can_load = abi.can_compile() and not runs_as_python()
    assert not can_load or all(kernel.is_loaded for kernel in kernels)
