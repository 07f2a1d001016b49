"""Installation of memplan's passes in every pipeline of Relax, which needs no change in the pipelines."""

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

    With `lift`, LiftWorkspaces runs before CallTIRRewrite; with `order`, OrderBindings runs before ToNonDataflow. The
    other options are those of PlanMemory.
    """
    PlanMemory(**options)  # PlanMemory checks its options, so wrong options raise here, before any pipeline runs.
    uninstall()
    relax.transform.StaticPlanBlockMemory = lambda: PlanMemory(**options)
    if lift:
        relax.transform.CallTIRRewrite = lambda: Sequential([LiftWorkspaces(), _OWN["CallTIRRewrite"]()])
    if order:
        relax.transform.ToNonDataflow = lambda: Sequential([OrderBindings(), _OWN["ToNonDataflow"]()])


def uninstall() -> None:
    """Restore TVM's own passes in pipelines that are built from now on."""
    for name, own in _OWN.items():
        setattr(relax.transform, name, own)
