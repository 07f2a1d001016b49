"""memplan for Apache TVM: one plan for all tensors of a Relax function, in place of its own. Imports tvm."""

from memplan.api.tvm.installing import install as install
from memplan.api.tvm.installing import uninstall as uninstall
from memplan.api.tvm.lift import LiftWorkspaces as LiftWorkspaces
from memplan.api.tvm.order import OrderBindings as OrderBindings
from memplan.api.tvm.passes import PlanMemory as PlanMemory
from memplan.api.tvm.passes import PlannedFunction as PlannedFunction
from memplan.api.tvm.places import PlanMemoryError as PlanMemoryError
from memplan.api.tvm.places import PoolInfo as PoolInfo
