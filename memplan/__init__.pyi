"""Made by `python -m lab.stub`."""

from collections.abc import Mapping
from os import PathLike
from typing import Any, Literal, overload

from memplan.extensions.cascade.access.access_graph import AccessGraph
from memplan.extensions.cascade.answer import CascadeAnswer as CascadeAnswer
from memplan.extensions.cascade.cascade import CascadeOptions as CascadeOptions
from memplan.extensions.cascade.timing.target import Target as Target
from memplan.extensions.networks.liveness.liveness import LivenessAnswer as LivenessAnswer
from memplan.extensions.networks.liveness.liveness import LivenessOptions as LivenessOptions
from memplan.extensions.networks.liveness.liveness import Shadow as Shadow
from memplan.extensions.networks.order.answer import OrderAnswer as OrderAnswer
from memplan.extensions.networks.order.answer import Recomputed as Recomputed
from memplan.extensions.networks.order.options import OrderOptions as OrderOptions
from memplan.extensions.networks.order.search.solve import order_operations as order_operations
from memplan.extensions.schedule.answer import ScheduleAnswer as ScheduleAnswer
from memplan.extensions.schedule.form import ScheduleForm
from memplan.extensions.schedule.schedule import ScheduleOptions as ScheduleOptions
from memplan.extensions.shapes.limits import ShapesLimits as ShapesLimits
from memplan.extensions.shapes.shapes import ShapesAnswer as ShapesAnswer
from memplan.extensions.shapes.shapes import ShapesOptions as ShapesOptions
from memplan.extensions.shapes.symbols.problem import SymbolicProblem as SymbolicProblem
from memplan.extensions.shapes.verify_shapes import SymbolicOffsets as SymbolicOffsets
from memplan.extensions.shapes.verify_shapes import VerifiedShapes as VerifiedShapes
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
from memplan.planner.model.application import Application as Application
from memplan.planner.model.objects import ObjectsProblem as ObjectsProblem
from memplan.planner.model.plan import Explanation as Explanation
from memplan.planner.model.plan import Plan as Plan
from memplan.planner.model.problem import Problem as Problem
from memplan.planner.model.problem_fields import BankUse as BankUse
from memplan.planner.model.problem_fields import Pool as Pool
from memplan.planner.model.rows import Buffer as Buffer
from memplan.planner.model.rows import OffsetMod as OffsetMod
from memplan.planner.model.rows import Placement as Placement
from memplan.planner.model.rows import Relative as Relative
from memplan.planner.operations.graph import OperationGraph as OperationGraph
from memplan.planner.operations.operations import Operations
from memplan.planner.verify.violation import Violation as Violation
from memplan.questions.capability import Control as Control
from memplan.questions.capability.selection import select_fields as select_fields
from memplan.questions.certify.certify import CertificateAnswer
from memplan.questions.certify.certify import CertifyOptions as CertifyOptions
from memplan.questions.check.check import Check
from memplan.questions.check.check import CheckOptions as CheckOptions
from memplan.questions.compare.compare import CompareOptions as CompareOptions
from memplan.questions.compare.compare import ModelComparison as ModelComparison
from memplan.questions.convert.answer import Converted as Converted
from memplan.questions.convert.answer import RuntimeArena
from memplan.questions.convert.options import ConvertOptions as ConvertOptions
from memplan.questions.explain.explain import ExplainAnswer as ExplainAnswer
from memplan.questions.explain.values import ExplainOptions as ExplainOptions
from memplan.questions.explain.values import Repairs as Repairs
from memplan.questions.explain.values import WhatIf as WhatIf
from memplan.questions.plan.baseline import Baseline
from memplan.questions.plan.objects import ObjectsAnswer as ObjectsAnswer
from memplan.questions.plan.plan import PlanOptions as PlanOptions
from memplan.questions.sweep.combinations import Sweep as Sweep
from memplan.questions.sweep.combinations import SweepOptions as SweepOptions
from memplan.questions.sweep.grid import Change as Change
from memplan.questions.verify.verify import Verdict as Verdict
from memplan.questions.verify.verify import VerifyOptions as VerifyOptions
from memplan.solvers.certificates.certify import Certificate as Certificate
from memplan.solvers.certificates.certify import infeasible_core as infeasible_core
from memplan.solvers.certificates.verdicts import ProofText
from memplan.solvers.search.result import Progress as Progress

__all__: list[str]

def cascade(
    graph: OperationGraph | AccessGraph | Mapping[str, Any] | str | PathLike[str],
    options: CascadeOptions | Mapping[str, Any] | None = ...,
    control: Control | None = ...,
    *,
    target: Target | Mapping[str, Any] | str | PathLike[str] | None = ...,
    time_limit_s: float = ...,
    fit: int | None = ...,
    macs: Any = ...,
    input: Literal["resident", "streamed"] = ...,
    output: Literal["resident", "streamed"] = ...,
    overlap: Literal["none", "sliding"] = ...,
    objectives: Any = ...,
    pools: Any = ...,
    alignment: int = ...,
    brick: int = ...,
    stripe: Any = ...,
    longest: int = ...,
    rolling: bool = ...,
    orders: Literal["several", "given", "breadth-first", "depth-first", "heads-early", "least-peak"] = ...,
    barriers: Any = ...,
    sweep: Any = ...,
    point: Any = ...,
    check: bool = ...,
) -> CascadeAnswer: ...
def certify(
    problem: Problem | Mapping[str, Any] | str | PathLike[str],
    plan: Plan | Mapping[str, Any] | str | PathLike[str] | None = ...,
    options: CertifyOptions | Mapping[str, Any] | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    deterministic: bool = ...,
    proof_s: float = ...,
) -> CertificateAnswer: ...
def check(
    problem: Problem | Mapping[str, Any] | str | PathLike[str] | None = ...,
    plan: Plan | Mapping[str, Any] | str | PathLike[str] | None = ...,
    baseline: Plan | Baseline | Mapping[str, Any] | str | PathLike[str] | None = ...,
    baseline_problem: Problem | Mapping[str, Any] | str | PathLike[str] | None = ...,
    arena: RuntimeArena | Mapping[str, Any] | str | PathLike[str] | None = ...,
    options: CheckOptions | Mapping[str, Any] | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    deterministic: bool = ...,
    budgets: Any = ...,
    tolerance: str = ...,
    profile: Literal["speed", "balanced", "size"] | None = ...,
    subject: str | None = ...,
    differences: bool = ...,
    unmoved: bool = ...,
    with_plan: bool = ...,
) -> Check: ...
def compare(
    file: Any,
    options: CompareOptions | Mapping[str, Any] | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    dims: Any = ...,
    views: Literal["alias", "separate"] = ...,
    alignment: int | None = ...,
    scratch: Any = ...,
    name: str | None = ...,
) -> ModelComparison: ...
def convert(
    file: Any,
    plan: Plan | Mapping[str, Any] | str | PathLike[str] | None = ...,
    options: ConvertOptions | Mapping[str, Any] | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    dims: Any = ...,
    views: Literal["alias", "separate"] = ...,
    alignment: int | None = ...,
    scratch: Any = ...,
    name: str | None = ...,
    capacity: Any = ...,
    weights: Literal["flash", "ram", "choose"] | None = ...,
    pin: Any = ...,
    reserve: Any = ...,
    copies: Any = ...,
    order: Any = ...,
    inclusive: bool | None = ...,
    to: Literal[
        "json",
        "csv",
        "graph",
        "operations",
        "objects",
        "lp",
        "mps",
        "c",
        "malloc-c",
        "ld",
        "armlink",
        "triples",
        "executorch",
        "mlf",
        "pte",
        "tflite",
        "pto",
    ]
    | None = ...,
    prefix: str | None = ...,
    section: str | None = ...,
    fit: int | None = ...,
    macs: Any = ...,
    c_array: bool = ...,
    program: bool = ...,
) -> Converted: ...
def explain(
    problem: Problem | Mapping[str, Any] | str | PathLike[str] | None = ...,
    graph: OperationGraph | Mapping[str, Any] | str | PathLike[str] | None = ...,
    capacity: int | Mapping[str, Any] | str | PathLike[str] | None = ...,
    options: ExplainOptions | Mapping[str, Any] | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    deterministic: bool = ...,
    explain_s: float = ...,
    study_s: float = ...,
    repairs: int = ...,
    most_changes: int = ...,
    kinds: Any = ...,
    with_plans: bool = ...,
    what_if: bool = ...,
    shrunk_to: float | None = ...,
    more: int = ...,
) -> ExplainAnswer: ...
def liveness(
    operations: Operations | Mapping[str, Any] | str | PathLike[str],
    plan: Plan | Mapping[str, Any] | str | PathLike[str] | None = ...,
    options: LivenessOptions | Mapping[str, Any] | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    liveness: Literal["usage", "scope"] = ...,
    temporaries: Literal["nested", "lifted"] = ...,
    plan_inputs: bool = ...,
    plan_outputs: bool = ...,
    compare: bool = ...,
    match_range: int | None = ...,
) -> LivenessAnswer: ...
def order(
    graph: OperationGraph | Mapping[str, Any] | str | PathLike[str],
    options: OrderOptions | Mapping[str, Any] | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    deterministic: bool = ...,
    count_resident: bool = ...,
    in_place: bool = ...,
    goal: Literal["alive", "placed"] = ...,
    alignment: int = ...,
    with_certificate: bool = ...,
    with_plan: bool = ...,
    recompute: bool = ...,
    within: int | None = ...,
    extra_cost: Any = ...,
    link: float = ...,
    points: int = ...,
) -> OrderAnswer: ...
@overload
def plan(
    problem: ObjectsProblem,
    start: Plan | Mapping[str, Any] | str | PathLike[str] | None = ...,
    keep: Plan | Mapping[str, Any] | str | PathLike[str] | None = ...,
    options: PlanOptions | Mapping[str, Any] | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    solver: str = ...,
    accept: Any = ...,
    seed: int = ...,
    deterministic: bool = ...,
    profile: Any = ...,
    heaps: Any = ...,
    least: Literal["buffers", "bytes"] = ...,
    plans: Any = ...,
    distance: int = ...,
    explain_s: float = ...,
) -> ObjectsAnswer: ...
@overload
def plan(
    problem: Problem | Mapping[str, Any] | str | PathLike[str],
    start: Plan | Mapping[str, Any] | str | PathLike[str] | None = ...,
    keep: Plan | Mapping[str, Any] | str | PathLike[str] | None = ...,
    options: PlanOptions | Mapping[str, Any] | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    solver: str = ...,
    accept: Any = ...,
    seed: int = ...,
    deterministic: bool = ...,
    profile: Any = ...,
    heaps: Any = ...,
    least: Literal["buffers", "bytes"] = ...,
    plans: Any = ...,
    distance: int = ...,
    explain_s: float = ...,
) -> Plan: ...
def schedule(
    problem: ScheduleForm | OperationGraph | Mapping[str, Any] | str | PathLike[str],
    target: Target | Mapping[str, Any] | str | PathLike[str] | None = ...,
    options: ScheduleOptions | Mapping[str, Any] | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    deterministic: bool = ...,
    objective: Literal["latency", "traffic", "peak"] = ...,
    frontier: bool = ...,
    fast_memory: int | None = ...,
) -> ScheduleAnswer: ...
def shapes(
    problem: Any,
    verify: SymbolicOffsets | Mapping[str, Any] | str | PathLike[str] | None = ...,
    options: ShapesOptions | Mapping[str, Any] | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    dims: Any = ...,
    views: Literal["alias", "separate"] = ...,
    alignment: int | None = ...,
    scratch: Any = ...,
    name: str | None = ...,
    symbol: Any = ...,
    most: int = ...,
    limits: bool = ...,
    within: int | None = ...,
    at: Any = ...,
    to: Literal["c", "python"] | None = ...,
) -> ShapesAnswer: ...
def sweep(
    problem: Problem | Mapping[str, Any] | str | PathLike[str],
    sizes: Any = ...,
    changes: Any = ...,
    start: Plan | Mapping[str, Any] | str | PathLike[str] | None = ...,
    options: SweepOptions | Mapping[str, Any] | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    solver: str = ...,
    accept: Any = ...,
    seed: int = ...,
    deterministic: bool = ...,
    profile: Any = ...,
    each_s: float = ...,
    alignments: Any = ...,
    repetitions: int = ...,
) -> Sweep: ...
def verify(
    problem: Problem | Mapping[str, Any] | str | PathLike[str],
    plan: Plan | Mapping[str, Any] | str | PathLike[str],
    certificate: ProofText | str | Mapping[str, Any] | str | PathLike[str] | None = ...,
    options: VerifyOptions | Mapping[str, Any] | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    places: bool = ...,
    better: bool = ...,
    again: bool = ...,
    with_plans: bool = ...,
) -> Verdict: ...

solve = plan
