"""Switch every pipeline of Relax to memplan's passes, without a change to the pipeline itself."""

from __future__ import annotations

from typing import Any

from tvm import relax
from tvm.ir.transform import Sequential

from memplan.extensions.tvm.lift import LiftWorkspaces
from memplan.extensions.tvm.order import OrderBindings
from memplan.extensions.tvm.passes import PlanMemory

_NAMES = ("StaticPlanBlockMemory", "CallTIRRewrite", "ToNonDataflow")
_OWN = {name: getattr(relax.transform, name) for name in _NAMES}


def install(*, lift: bool = False, order: bool = False, **options: Any) -> None:
    """Replace StaticPlanBlockMemory by PlanMemory in every pipeline that is built from now on.

    With `lift`, LiftWorkspaces runs before CallTIRRewrite; with `order`, OrderBindings before ToNonDataflow.
    """
    PlanMemory(**options)  # wrong options are refused here
    uninstall()
    relax.transform.StaticPlanBlockMemory = lambda: PlanMemory(**options)
    if lift:
        relax.transform.CallTIRRewrite = lambda: Sequential([LiftWorkspaces(), _OWN["CallTIRRewrite"]()])
    if order:
        relax.transform.ToNonDataflow = lambda: Sequential([OrderBindings(), _OWN["ToNonDataflow"]()])


def uninstall() -> None:
    """Give pipelines TVM's own passes back."""
    for name, own in _OWN.items():
        setattr(relax.transform, name, own)
