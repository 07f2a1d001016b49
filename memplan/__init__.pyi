from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, overload

from memplan.capabilities.capability import Control as Control
from memplan.capabilities.cascade.answer import CascadeAnswer as CascadeAnswer
from memplan.capabilities.cascade.cascade import CascadeOptions as CascadeOptions
from memplan.capabilities.cascade.cascade import cascade as _cascade
from memplan.capabilities.cascade.timing.target import Target as Target
from memplan.capabilities.certify.certify import CertifyOptions as CertifyOptions
from memplan.capabilities.certify.certify import certify as _certify
from memplan.capabilities.check.check import CheckOptions as CheckOptions
from memplan.capabilities.check.check import check as _check
from memplan.capabilities.compare.compare import CompareOptions as CompareOptions
from memplan.capabilities.compare.compare import ModelComparison as ModelComparison
from memplan.capabilities.compare.compare import compare as _compare
from memplan.capabilities.convert.answer import Converted as Converted
from memplan.capabilities.convert.convert import convert as _convert
from memplan.capabilities.convert.options import ConvertOptions as ConvertOptions
from memplan.capabilities.explain.explain import ExplainAnswer as ExplainAnswer
from memplan.capabilities.explain.explain import explain as _explain
from memplan.capabilities.explain.options import ExplainOptions as ExplainOptions
from memplan.capabilities.explain.values import Repairs as Repairs
from memplan.capabilities.explain.values import WhatIf as WhatIf
from memplan.capabilities.liveness.liveness import LivenessAnswer as LivenessAnswer
from memplan.capabilities.liveness.liveness import LivenessOptions as LivenessOptions
from memplan.capabilities.liveness.liveness import Shadow as Shadow
from memplan.capabilities.liveness.liveness import liveness as _liveness
from memplan.capabilities.order.answer import OrderAnswer as OrderAnswer
from memplan.capabilities.order.answer import Recomputed as Recomputed
from memplan.capabilities.order.options import OrderOptions as OrderOptions
from memplan.capabilities.order.order import order as _order
from memplan.capabilities.order.search.solve import order_operations as order_operations
from memplan.capabilities.plan.objects import ObjectsAnswer as ObjectsAnswer
from memplan.capabilities.plan.plan import PlanOptions as PlanOptions
from memplan.capabilities.plan.solving import solve as solve
from memplan.capabilities.schedule.answer import ScheduleAnswer as ScheduleAnswer
from memplan.capabilities.schedule.model.contest import ScheduleProblem as ScheduleProblem
from memplan.capabilities.schedule.schedule import ScheduleOptions as ScheduleOptions
from memplan.capabilities.schedule.schedule import schedule as _schedule
from memplan.capabilities.selection import select_fields as select_fields
from memplan.capabilities.shapes.limits import ShapesLimits as ShapesLimits
from memplan.capabilities.shapes.shapes import ShapesAnswer as ShapesAnswer
from memplan.capabilities.shapes.shapes import ShapesOptions as ShapesOptions
from memplan.capabilities.shapes.shapes import shapes as _shapes
from memplan.capabilities.shapes.verify_shapes import SymbolicOffsets as SymbolicOffsets
from memplan.capabilities.shapes.verify_shapes import VerifiedShapes as VerifiedShapes
from memplan.capabilities.sweep.grid import Change as Change
from memplan.capabilities.sweep.sweep import Sweep as Sweep
from memplan.capabilities.sweep.sweep import SweepOptions as SweepOptions
from memplan.capabilities.sweep.sweep import sweep as _sweep
from memplan.capabilities.verify.verify import Verdict as Verdict
from memplan.capabilities.verify.verify import VerifyOptions as VerifyOptions
from memplan.capabilities.verify.verify import verify as _verify
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
from memplan.solvers.search.result import Progress as Progress

__all__: list[str]

_P = ParamSpec("_P")
_A = TypeVar("_A")

class _Question(Generic[_P, _A]):
    """A question: its inputs also as paths or objects of JSON, its options also by name."""

    @overload
    def __call__(self, *given: _P.args, **named: _P.kwargs) -> _A: ...
    @overload
    def __call__(self, *given: Any, **named: Any) -> _A: ...

def _question(function: Callable[_P, _A]) -> _Question[_P, _A]: ...

cascade = _question(_cascade)
certify = _question(_certify)
check = _question(_check)
compare = _question(_compare)
convert = _question(_convert)
explain = _question(_explain)
liveness = _question(_liveness)
order = _question(_order)

@overload
def plan(problem: ObjectsProblem, **named: Any) -> ObjectsAnswer: ...
@overload
def plan(problem: Any, *given: Any, **named: Any) -> Plan: ...

schedule = _question(_schedule)
shapes = _question(_shapes)
sweep = _question(_sweep)
verify = _question(_verify)
