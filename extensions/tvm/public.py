"""The public names of `memplan.tvm`; importing this module imports tvm."""

import tvm

if not tvm.__version__.startswith("0.27."):
    raise ImportError(f"memplan.tvm: must be used with TVM 0.27, got {tvm.__version__}; TVM's own plan is kept")

from memplan.extensions.tvm.installing import install as install
from memplan.extensions.tvm.installing import uninstall as uninstall
from memplan.extensions.tvm.lift import LiftWorkspaces as LiftWorkspaces
from memplan.extensions.tvm.order import OrderBindings as OrderBindings
from memplan.extensions.tvm.passes import PlanMemory as PlanMemory
from memplan.extensions.tvm.passes import PlannedFunction as PlannedFunction
from memplan.extensions.tvm.places import PlanMemoryError as PlanMemoryError
from memplan.extensions.tvm.places import PoolInfo as PoolInfo
