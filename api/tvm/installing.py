"""memplan in every pipeline, without a change of it."""

from __future__ import annotations

from typing import Any

from tvm import relax

from memplan.api.tvm.passes import PlanMemory

_OWN = {"StaticPlanBlockMemory": relax.transform.StaticPlanBlockMemory}


def install(**options: Any) -> None:
    """Let pipelines have PlanMemory where they ask for `relax.transform.StaticPlanBlockMemory`, from now on."""
    PlanMemory(**options)  # wrong options are refused here

    def plan_memory() -> Any:
        return PlanMemory(**options)

    relax.transform.StaticPlanBlockMemory = plan_memory


def uninstall() -> None:
    """Give pipelines TVM's own passes back."""
    for name, own in _OWN.items():
        setattr(relax.transform, name, own)
