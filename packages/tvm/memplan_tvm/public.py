"""The public names of `memplan.tvm`. Imports tvm."""

import tvm

if not tvm.__version__.startswith("0.27."):
    raise ImportError(f"memplan.tvm: TVM {tvm.__version__} is not 0.27, which its passes are for; TVM's own plan stays")

from memplan_tvm.installing import install as install
from memplan_tvm.installing import uninstall as uninstall
from memplan_tvm.lift import LiftWorkspaces as LiftWorkspaces
from memplan_tvm.order import OrderBindings as OrderBindings
from memplan_tvm.passes import PlanMemory as PlanMemory
from memplan_tvm.passes import PlannedFunction as PlannedFunction
from memplan_tvm.places import PlanMemoryError as PlanMemoryError
from memplan_tvm.places import PoolInfo as PoolInfo
