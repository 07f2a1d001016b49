"""A memory planner: a pool and an offset for every buffer, with a proof or an honest gap.

```python
from memplan import Buffer, Pool, Problem, solve, verify

problem = Problem(
    buffers=[Buffer(id="conv1", size=401408, start=0, end=3), Buffer(id="conv2", size=200704, start=2, end=5)],
    pools=[Pool(name="sram", size=1 << 20)],
)
plan = solve(problem, time_limit_s=2)
print(plan.status, plan.peak, plan.placement("conv2").offset)
assert verify(problem, plan) == ()
```

A name is imported when it is first asked for: importing memplan loads nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memplan.capabilities import MODULES, python_name

_MODULE_OF = {python_name(name): f"capabilities.{module}" for name, module in MODULES.items()} | {
    "Control": "capabilities.capability",
    "Application": "planner.together",
    "Audit": "capabilities.plans.audit",
    "AuditOptions": "capabilities.plans.audit",
    "CertificateOptions": "capabilities.plans.certificate",
    "CheckOptions": "capabilities.plans.check",
    "PlanOptions": "capabilities.plans.plan",
    "ReplanOptions": "capabilities.plans.replan",
    "ReplayOptions": "capabilities.plans.replay",
    "SweepOptions": "capabilities.plans.sweep",
    "Scenarios": "capabilities.reasons.scenarios",
    "ScenariosOptions": "capabilities.reasons.scenarios",
    "ExplainOptions": "capabilities.reasons.explain",
    "Repairs": "capabilities.reasons.repairs",
    "RepairsOptions": "capabilities.reasons.repairs",
    "WhatIfOptions": "capabilities.reasons.what_if",
    "CascadeAnswer": "capabilities.operations.cascade_answer",
    "CascadeOptions": "capabilities.operations.cascade",
    "CompareOptions": "capabilities.files.compare",
    "ConvertOptions": "capabilities.files.convert",
    "Converted": "capabilities.files.convert",
    "DeployOptions": "capabilities.files.deploy",
    "Deployment": "capabilities.files.deploy",
    "ExportOptions": "capabilities.files.export",
    "Exported": "capabilities.files.export",
    "ImportAnswer": "capabilities.files.import_",
    "ImportCallOptions": "capabilities.files.import_",
    "Inspection": "capabilities.plans.inspect",
    "HeapsAnswer": "capabilities.plans.heaps",
    "HeapsOptions": "capabilities.plans.heaps",
    "LimitsAnswer": "capabilities.symbols.limits",
    "LimitsOptions": "capabilities.symbols.limits",
    "LivenessAnswer": "capabilities.operations.liveness",
    "LivenessOptions": "capabilities.operations.liveness",
    "ModelComparison": "capabilities.files.compare",
    "OrderAnswer": "capabilities.operations.order",
    "OrderOptions": "capabilities.operations.order",
    "RecomputeAnswer": "capabilities.operations.recompute",
    "RecomputeOptions": "capabilities.operations.recompute",
    "ScheduleAnswer": "capabilities.operations.schedule_answer",
    "ScheduleOptions": "capabilities.operations.schedule",
    "Shadow": "capabilities.operations.shadow",
    "ShapesAnswer": "capabilities.symbols.shapes",
    "ShapesOptions": "capabilities.symbols.shapes",
    "SymbolicOffsets": "capabilities.symbols.verify_shapes",
    "VerifiedShapes": "capabilities.symbols.verify_shapes",
    "VerifyShapesOptions": "capabilities.symbols.verify_shapes",
    "BankUse": "planner.model.problem_fields",
    "Buffer": "planner.model.rows",
    "Certificate": "solvers.certificates.certify",
    "Explanation": "planner.model.plan",
    "FileError": "planner.errors",
    "FormatError": "planner.errors",
    "InputError": "planner.errors",
    "InvalidPlanError": "planner.errors",
    "MemplanError": "planner.errors",
    "OffsetMod": "planner.model.rows",
    "OperationGraph": "planner.operations.graph",
    "OperationsError": "planner.errors",
    "ObjectsAnswer": "capabilities.plans.objects",
    "ObjectsOptions": "capabilities.plans.objects",
    "ObjectsProblem": "planner.objects.problem",
    "OptionError": "planner.errors",
    "OrderResult": "solvers.order.solve",
    "PlacedOrder": "solvers.order.placement.joint",
    "Placement": "planner.model.rows",
    "Plan": "planner.model.plan",
    "PlanError": "planner.errors",
    "Pool": "planner.model.problem_fields",
    "Problem": "planner.model.problem",
    "ProblemError": "planner.errors",
    "Progress": "solvers.search.result",
    "RecomputeFrontier": "solvers.order.recompute.frontier",
    "Relative": "planner.model.rows",
    "ScheduleProblem": "planner.schedules.contest",
    "SolveControl": "solvers.portfolio.options",
    "SymbolicProblem": "planner.symbols.problem",
    "Target": "planner.schedules.target",
    "Violation": "planner.verify.violation",
    "WhatIf": "solvers.studies.what_if.values",
    "__version__": "planner",
    "certify": "solvers.certificates.certify",
    "certify_order": "solvers.order.certificate",
    "infeasible_core": "solvers.certificates.certify",
    "order_and_place": "solvers.order.placement.joint",
    "order_operations": "solvers.order.solve",
    "read_graph": "files",
    "read_plan": "files",
    "read_problem": "files",
    "recompute_frontier": "solvers.order.recompute.frontier",
    "select_fields": "capabilities.selection",
    "solve": "capabilities.plans.plan",
    "verify": "planner.audit",
    "write_plan": "files",
    "write_problem": "files",
}
__all__ = sorted(_MODULE_OF)

if TYPE_CHECKING:
    from memplan.capabilities.capability import Control as Control
    from memplan.capabilities.files.compare import CompareOptions as CompareOptions
    from memplan.capabilities.files.compare import ModelComparison as ModelComparison
    from memplan.capabilities.files.compare import compare as compare
    from memplan.capabilities.files.convert import Converted as Converted
    from memplan.capabilities.files.convert import ConvertOptions as ConvertOptions
    from memplan.capabilities.files.convert import convert as convert
    from memplan.capabilities.files.deploy import Deployment as Deployment
    from memplan.capabilities.files.deploy import DeployOptions as DeployOptions
    from memplan.capabilities.files.deploy import deploy as deploy
    from memplan.capabilities.files.export import Exported as Exported
    from memplan.capabilities.files.export import ExportOptions as ExportOptions
    from memplan.capabilities.files.export import export as export
    from memplan.capabilities.files.import_ import ImportAnswer as ImportAnswer
    from memplan.capabilities.files.import_ import ImportCallOptions as ImportCallOptions
    from memplan.capabilities.files.import_ import import_ as import_
    from memplan.capabilities.operations.cascade import CascadeOptions as CascadeOptions
    from memplan.capabilities.operations.cascade import cascade as cascade
    from memplan.capabilities.operations.cascade_answer import CascadeAnswer as CascadeAnswer
    from memplan.capabilities.operations.liveness import LivenessAnswer as LivenessAnswer
    from memplan.capabilities.operations.liveness import LivenessOptions as LivenessOptions
    from memplan.capabilities.operations.liveness import liveness as liveness
    from memplan.capabilities.operations.order import OrderAnswer as OrderAnswer
    from memplan.capabilities.operations.order import OrderOptions as OrderOptions
    from memplan.capabilities.operations.order import order as order
    from memplan.capabilities.operations.recompute import RecomputeAnswer as RecomputeAnswer
    from memplan.capabilities.operations.recompute import RecomputeOptions as RecomputeOptions
    from memplan.capabilities.operations.recompute import recompute as recompute
    from memplan.capabilities.operations.schedule import ScheduleOptions as ScheduleOptions
    from memplan.capabilities.operations.schedule import schedule as schedule
    from memplan.capabilities.operations.schedule_answer import ScheduleAnswer as ScheduleAnswer
    from memplan.capabilities.operations.shadow import Shadow as Shadow
    from memplan.capabilities.operations.shadow import shadow as shadow
    from memplan.capabilities.plans.audit import Audit as Audit
    from memplan.capabilities.plans.audit import AuditOptions as AuditOptions
    from memplan.capabilities.plans.audit import audit as audit
    from memplan.capabilities.plans.certificate import CertificateOptions as CertificateOptions
    from memplan.capabilities.plans.certificate import certificate as certificate
    from memplan.capabilities.plans.check import CheckOptions as CheckOptions
    from memplan.capabilities.plans.check import check as check
    from memplan.capabilities.plans.diff import diff as diff
    from memplan.capabilities.plans.heaps import HeapsAnswer as HeapsAnswer
    from memplan.capabilities.plans.heaps import HeapsOptions as HeapsOptions
    from memplan.capabilities.plans.heaps import heaps as heaps
    from memplan.capabilities.plans.inspect import Inspection as Inspection
    from memplan.capabilities.plans.inspect import inspect as inspect
    from memplan.capabilities.plans.objects import ObjectsAnswer as ObjectsAnswer
    from memplan.capabilities.plans.objects import ObjectsOptions as ObjectsOptions
    from memplan.capabilities.plans.objects import objects as objects
    from memplan.capabilities.plans.plan import PlanOptions as PlanOptions
    from memplan.capabilities.plans.plan import plan as plan
    from memplan.capabilities.plans.plan import solve as solve
    from memplan.capabilities.plans.replan import ReplanOptions as ReplanOptions
    from memplan.capabilities.plans.replan import replan as replan
    from memplan.capabilities.plans.replay import ReplayOptions as ReplayOptions
    from memplan.capabilities.plans.replay import replay as replay
    from memplan.capabilities.plans.sweep import SweepOptions as SweepOptions
    from memplan.capabilities.plans.sweep import sweep as sweep
    from memplan.capabilities.reasons.explain import ExplainOptions as ExplainOptions
    from memplan.capabilities.reasons.explain import explain as explain
    from memplan.capabilities.reasons.repairs import Repairs as Repairs
    from memplan.capabilities.reasons.repairs import RepairsOptions as RepairsOptions
    from memplan.capabilities.reasons.repairs import repairs as repairs
    from memplan.capabilities.reasons.scenarios import Scenarios as Scenarios
    from memplan.capabilities.reasons.scenarios import ScenariosOptions as ScenariosOptions
    from memplan.capabilities.reasons.scenarios import scenarios as scenarios
    from memplan.capabilities.reasons.what_if import WhatIfOptions as WhatIfOptions
    from memplan.capabilities.reasons.what_if import what_if as what_if
    from memplan.capabilities.selection import select_fields as select_fields
    from memplan.capabilities.symbols.limits import LimitsAnswer as LimitsAnswer
    from memplan.capabilities.symbols.limits import LimitsOptions as LimitsOptions
    from memplan.capabilities.symbols.limits import limits as limits
    from memplan.capabilities.symbols.shapes import ShapesAnswer as ShapesAnswer
    from memplan.capabilities.symbols.shapes import ShapesOptions as ShapesOptions
    from memplan.capabilities.symbols.shapes import shapes as shapes
    from memplan.capabilities.symbols.verify_shapes import SymbolicOffsets as SymbolicOffsets
    from memplan.capabilities.symbols.verify_shapes import VerifiedShapes as VerifiedShapes
    from memplan.capabilities.symbols.verify_shapes import VerifyShapesOptions as VerifyShapesOptions
    from memplan.capabilities.symbols.verify_shapes import verify_shapes as verify_shapes
    from memplan.files import read_graph as read_graph
    from memplan.files import read_plan as read_plan
    from memplan.files import read_problem as read_problem
    from memplan.files import write_plan as write_plan
    from memplan.files import write_problem as write_problem
    from memplan.planner import __version__ as __version__
    from memplan.planner.audit import verify as verify
    from memplan.planner.errors import FileError as FileError
    from memplan.planner.errors import FormatError as FormatError
    from memplan.planner.errors import InputError as InputError
    from memplan.planner.errors import InvalidPlanError as InvalidPlanError
    from memplan.planner.errors import MemplanError as MemplanError
    from memplan.planner.errors import OperationsError as OperationsError
    from memplan.planner.errors import OptionError as OptionError
    from memplan.planner.errors import PlanError as PlanError
    from memplan.planner.errors import ProblemError as ProblemError
    from memplan.planner.model.plan import Explanation as Explanation
    from memplan.planner.model.plan import Plan as Plan
    from memplan.planner.model.problem import Problem as Problem
    from memplan.planner.model.problem_fields import BankUse as BankUse
    from memplan.planner.model.problem_fields import Pool as Pool
    from memplan.planner.model.rows import Buffer as Buffer
    from memplan.planner.model.rows import OffsetMod as OffsetMod
    from memplan.planner.model.rows import Placement as Placement
    from memplan.planner.model.rows import Relative as Relative
    from memplan.planner.objects.problem import ObjectsProblem as ObjectsProblem
    from memplan.planner.operations.graph import OperationGraph as OperationGraph
    from memplan.planner.schedules.contest import ScheduleProblem as ScheduleProblem
    from memplan.planner.schedules.target import Target as Target
    from memplan.planner.symbols.problem import SymbolicProblem as SymbolicProblem
    from memplan.planner.together import Application as Application
    from memplan.planner.verify.violation import Violation as Violation
    from memplan.solvers.certificates.certify import Certificate as Certificate
    from memplan.solvers.certificates.certify import certify as certify
    from memplan.solvers.certificates.certify import infeasible_core as infeasible_core
    from memplan.solvers.order.certificate import certify_order as certify_order
    from memplan.solvers.order.placement.joint import PlacedOrder as PlacedOrder
    from memplan.solvers.order.placement.joint import order_and_place as order_and_place
    from memplan.solvers.order.recompute.frontier import RecomputeFrontier as RecomputeFrontier
    from memplan.solvers.order.recompute.frontier import recompute_frontier as recompute_frontier
    from memplan.solvers.order.solve import OrderResult as OrderResult
    from memplan.solvers.order.solve import order_operations as order_operations
    from memplan.solvers.portfolio.options import SolveControl as SolveControl
    from memplan.solvers.search.result import Progress as Progress
    from memplan.solvers.studies.what_if.values import WhatIf as WhatIf
else:  # type checkers would take any name for one of these

    def __getattr__(name: str) -> object:
        if name not in _MODULE_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"memplan.{_MODULE_OF[name]}"), name)
        if callable(value) and not isinstance(value, type):
            value = import_module("memplan.arguments").checked(value)
            value.__module__, value.__qualname__ = __name__, name  # a pickle finds it by these
        globals()[name] = value
        # Here, since the domain must not stand on what shows it; and now, since nothing is imported before a name is.
        import_module("memplan.planner.model.planned").show_with(_cell)
        return value


def _cell(problem: Any, plan: Any) -> str:
    """Return the HTML of a plan, for a notebook."""
    from memplan.api.reports.page.notebook import cell

    return cell(problem, plan)


def __dir__() -> list[str]:
    return sorted(globals().keys() | _MODULE_OF)
