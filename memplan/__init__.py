"""A memory planner: a pool and an offset for every buffer, with a proof or an honest gap.

```python
from memplan import Buffer, Pool, Problem, solve, verify

problem = Problem(
    buffers=[Buffer(id="conv1", size=401408, start=0, end=3), Buffer(id="conv2", size=200704, start=2, end=5)],
    pools=[Pool(name="sram", size=1 << 20)],
)
plan = solve(problem, time_limit_s=2)
print(plan.status, plan.peak, plan.placement("conv2").offset)
assert verify(problem, plan).valid
```

A name is imported when it is first asked for: importing memplan loads nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from memplan.capabilities import MODULES, python_name

_MODULE_OF = {python_name(name): f"capabilities.{module}" for name, module in MODULES.items()} | {
    "Control": "capabilities.capability",
    "Application": "planner.together",
    "CertifyOptions": "capabilities.certify.certify",
    "CheckOptions": "capabilities.check.check",
    "PlanOptions": "capabilities.plan.plan",
    "SweepOptions": "capabilities.sweep.sweep",
    "Change": "capabilities.sweep.changes",
    "Sweep": "capabilities.sweep.sweep",
    "ExplainOptions": "capabilities.explain.explain",
    "ExplainAnswer": "capabilities.explain.explain",
    "Repairs": "capabilities.explain.repairs.values",
    "CascadeAnswer": "capabilities.cascade.answer",
    "CascadeOptions": "capabilities.cascade.cascade",
    "CompareOptions": "capabilities.compare.compare",
    "ConvertOptions": "capabilities.convert.convert",
    "Converted": "capabilities.convert.convert",
    "DeployOptions": "capabilities.convert.deploy",
    "Deployment": "capabilities.convert.deploy",
    "ExportOptions": "capabilities.convert.export",
    "Exported": "capabilities.convert.export",
    "ImportAnswer": "capabilities.convert.import_",
    "ImportCallOptions": "capabilities.convert.import_",
    "HeapsAnswer": "capabilities.plan.heaps",
    "HeapsOptions": "capabilities.plan.heaps",
    "LivenessAnswer": "capabilities.liveness.liveness",
    "LivenessOptions": "capabilities.liveness.liveness",
    "ModelComparison": "capabilities.compare.compare",
    "OrderAnswer": "capabilities.order.order",
    "OrderOptions": "capabilities.order.order",
    "Recomputed": "capabilities.order.recompute.answer",
    "ScheduleAnswer": "capabilities.schedule.answer",
    "ScheduleOptions": "capabilities.schedule.schedule",
    "Shadow": "capabilities.liveness.shadow",
    "ShapesAnswer": "capabilities.shapes.shapes",
    "ShapesLimits": "capabilities.shapes.limits",
    "ShapesOptions": "capabilities.shapes.shapes",
    "SymbolicOffsets": "capabilities.shapes.verify_shapes",
    "VerifiedShapes": "capabilities.shapes.verify_shapes",
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
    "ObjectsAnswer": "capabilities.plan.objects",
    "ObjectsOptions": "capabilities.plan.objects",
    "ObjectsProblem": "planner.objects",
    "OptionError": "planner.errors",
    "OrderResult": "capabilities.order.search.solve",
    "PlacedOrder": "capabilities.order.placement.joint",
    "Placement": "planner.model.rows",
    "Plan": "planner.model.plan",
    "PlanError": "planner.errors",
    "Pool": "planner.model.problem_fields",
    "Problem": "planner.model.problem",
    "ProblemError": "planner.errors",
    "Progress": "solvers.search.result",
    "RecomputeFrontier": "capabilities.order.recompute.frontier",
    "Relative": "planner.model.rows",
    "ScheduleProblem": "capabilities.schedule.model.contest",
    "SolveControl": "solvers.portfolio.options",
    "SymbolicProblem": "planner.symbols.problem",
    "Target": "capabilities.schedule.model.target",
    "Verdict": "capabilities.verify.verify",
    "VerifyOptions": "capabilities.verify.verify",
    "Violation": "planner.verify.violation",
    "WhatIf": "capabilities.explain.what_if.values",
    "__version__": "planner",
    "certify_order": "capabilities.order.search.certificate",
    "infeasible_core": "solvers.certificates.certify",
    "order_and_place": "capabilities.order.placement.joint",
    "order_operations": "capabilities.order.search.solve",
    "read_graph": "files",
    "read_plan": "files",
    "read_problem": "files",
    "recompute_frontier": "capabilities.order.recompute.frontier",
    "select_fields": "capabilities.selection",
    "solve": "capabilities.plan.plan",
    "write_plan": "files",
    "write_problem": "files",
}
__all__ = sorted(_MODULE_OF)

if TYPE_CHECKING:
    from memplan.capabilities.capability import Control as Control
    from memplan.capabilities.cascade.answer import CascadeAnswer as CascadeAnswer
    from memplan.capabilities.cascade.cascade import CascadeOptions as CascadeOptions
    from memplan.capabilities.cascade.cascade import cascade as cascade
    from memplan.capabilities.certify.certify import CertifyOptions as CertifyOptions
    from memplan.capabilities.certify.certify import certify as certify
    from memplan.capabilities.check.check import CheckOptions as CheckOptions
    from memplan.capabilities.check.check import check as check
    from memplan.capabilities.compare.compare import CompareOptions as CompareOptions
    from memplan.capabilities.compare.compare import ModelComparison as ModelComparison
    from memplan.capabilities.compare.compare import compare as compare
    from memplan.capabilities.convert.convert import Converted as Converted
    from memplan.capabilities.convert.convert import ConvertOptions as ConvertOptions
    from memplan.capabilities.convert.convert import convert as convert
    from memplan.capabilities.convert.deploy import Deployment as Deployment
    from memplan.capabilities.convert.deploy import DeployOptions as DeployOptions
    from memplan.capabilities.convert.deploy import deploy as deploy
    from memplan.capabilities.convert.export import Exported as Exported
    from memplan.capabilities.convert.export import ExportOptions as ExportOptions
    from memplan.capabilities.convert.export import export as export
    from memplan.capabilities.convert.import_ import ImportAnswer as ImportAnswer
    from memplan.capabilities.convert.import_ import ImportCallOptions as ImportCallOptions
    from memplan.capabilities.convert.import_ import import_ as import_
    from memplan.capabilities.explain.explain import ExplainAnswer as ExplainAnswer
    from memplan.capabilities.explain.explain import ExplainOptions as ExplainOptions
    from memplan.capabilities.explain.explain import explain as explain
    from memplan.capabilities.explain.repairs.values import Repairs as Repairs
    from memplan.capabilities.explain.what_if.values import WhatIf as WhatIf
    from memplan.capabilities.liveness.liveness import LivenessAnswer as LivenessAnswer
    from memplan.capabilities.liveness.liveness import LivenessOptions as LivenessOptions
    from memplan.capabilities.liveness.liveness import liveness as liveness
    from memplan.capabilities.liveness.shadow import Shadow as Shadow
    from memplan.capabilities.liveness.shadow import shadow as shadow
    from memplan.capabilities.order.order import OrderAnswer as OrderAnswer
    from memplan.capabilities.order.order import OrderOptions as OrderOptions
    from memplan.capabilities.order.order import order as order
    from memplan.capabilities.order.placement.joint import PlacedOrder as PlacedOrder
    from memplan.capabilities.order.placement.joint import order_and_place as order_and_place
    from memplan.capabilities.order.recompute.answer import Recomputed as Recomputed
    from memplan.capabilities.order.recompute.frontier import RecomputeFrontier as RecomputeFrontier
    from memplan.capabilities.order.recompute.frontier import recompute_frontier as recompute_frontier
    from memplan.capabilities.order.search.certificate import certify_order as certify_order
    from memplan.capabilities.order.search.solve import OrderResult as OrderResult
    from memplan.capabilities.order.search.solve import order_operations as order_operations
    from memplan.capabilities.plan.heaps import HeapsAnswer as HeapsAnswer
    from memplan.capabilities.plan.heaps import HeapsOptions as HeapsOptions
    from memplan.capabilities.plan.heaps import heaps as heaps
    from memplan.capabilities.plan.objects import ObjectsAnswer as ObjectsAnswer
    from memplan.capabilities.plan.objects import ObjectsOptions as ObjectsOptions
    from memplan.capabilities.plan.objects import objects as objects
    from memplan.capabilities.plan.plan import PlanOptions as PlanOptions
    from memplan.capabilities.plan.plan import plan as plan
    from memplan.capabilities.plan.plan import solve as solve
    from memplan.capabilities.schedule.answer import ScheduleAnswer as ScheduleAnswer
    from memplan.capabilities.schedule.model.contest import ScheduleProblem as ScheduleProblem
    from memplan.capabilities.schedule.model.target import Target as Target
    from memplan.capabilities.schedule.schedule import ScheduleOptions as ScheduleOptions
    from memplan.capabilities.schedule.schedule import schedule as schedule
    from memplan.capabilities.selection import select_fields as select_fields
    from memplan.capabilities.shapes.limits import ShapesLimits as ShapesLimits
    from memplan.capabilities.shapes.shapes import ShapesAnswer as ShapesAnswer
    from memplan.capabilities.shapes.shapes import ShapesOptions as ShapesOptions
    from memplan.capabilities.shapes.shapes import shapes as shapes
    from memplan.capabilities.shapes.verify_shapes import SymbolicOffsets as SymbolicOffsets
    from memplan.capabilities.shapes.verify_shapes import VerifiedShapes as VerifiedShapes
    from memplan.capabilities.sweep.changes import Change as Change
    from memplan.capabilities.sweep.sweep import Sweep as Sweep
    from memplan.capabilities.sweep.sweep import SweepOptions as SweepOptions
    from memplan.capabilities.sweep.sweep import sweep as sweep
    from memplan.capabilities.verify.verify import Verdict as Verdict
    from memplan.capabilities.verify.verify import VerifyOptions as VerifyOptions
    from memplan.capabilities.verify.verify import verify as verify
    from memplan.files import read_graph as read_graph
    from memplan.files import read_plan as read_plan
    from memplan.files import read_problem as read_problem
    from memplan.files import write_plan as write_plan
    from memplan.files import write_problem as write_problem
    from memplan.planner import __version__ as __version__
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
    from memplan.planner.objects import ObjectsProblem as ObjectsProblem
    from memplan.planner.operations.graph import OperationGraph as OperationGraph
    from memplan.planner.symbols.problem import SymbolicProblem as SymbolicProblem
    from memplan.planner.together import Application as Application
    from memplan.planner.verify.violation import Violation as Violation
    from memplan.solvers.certificates.certify import Certificate as Certificate
    from memplan.solvers.certificates.certify import infeasible_core as infeasible_core
    from memplan.solvers.portfolio.options import SolveControl as SolveControl
    from memplan.solvers.search.result import Progress as Progress
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
