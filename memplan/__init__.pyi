"""The static types of memplan's public names, made from the definitions by `python -m lab.stubs`."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Literal

_File = str | PathLike[str] | Mapping[str, Any]

from memplan.extensions.cascade.answer import CascadeAnswer as CascadeAnswer
from memplan.extensions.cascade.cascade import CascadeOptions as CascadeOptions
from memplan.extensions.cascade.timing.target import Target as Target
from memplan.extensions.files.compare.compare import CompareOptions as CompareOptions
from memplan.extensions.files.compare.compare import ModelComparison as ModelComparison
from memplan.extensions.files.compare.moving import MovesComparison as MovesComparison
from memplan.extensions.files.convert.answer import Converted as Converted
from memplan.extensions.files.convert.options import ConvertOptions as ConvertOptions
from memplan.extensions.schedule.answer import ScheduleAnswer as ScheduleAnswer
from memplan.extensions.schedule.schedule import ScheduleOptions as ScheduleOptions
from memplan.extensions.shapes.limits import ShapesLimits as ShapesLimits
from memplan.extensions.shapes.shapes import ShapesAnswer as ShapesAnswer
from memplan.extensions.shapes.shapes import ShapesOptions as ShapesOptions
from memplan.extensions.shapes.verify_shapes import SymbolicOffsets as SymbolicOffsets
from memplan.extensions.shapes.verify_shapes import VerifiedShapes as VerifiedShapes
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
from memplan.planner.verify.violation import Violation as Violation
from memplan.programs.files import read_graph as read_graph
from memplan.programs.liveness.liveness import LivenessAnswer as LivenessAnswer
from memplan.programs.liveness.liveness import LivenessOptions as LivenessOptions
from memplan.programs.liveness.liveness import Shadow as Shadow
from memplan.programs.operations.graph import OperationGraph as OperationGraph
from memplan.programs.order.answer import OrderAnswer as OrderAnswer
from memplan.programs.order.answer import Recomputed as Recomputed
from memplan.programs.order.options import OrderOptions as OrderOptions
from memplan.programs.order.search.solve import order_operations as order_operations
from memplan.programs.symbols.problem import SymbolicProblem as SymbolicProblem
from memplan.questions.certify.certify import CertifyOptions as CertifyOptions
from memplan.questions.check.check import CheckOptions as CheckOptions
from memplan.questions.explain.explain import ExplainAnswer as ExplainAnswer
from memplan.questions.explain.values import ExplainOptions as ExplainOptions
from memplan.questions.explain.values import Repairs as Repairs
from memplan.questions.explain.values import WhatIf as WhatIf
from memplan.questions.plan.objects import ObjectsAnswer as ObjectsAnswer
from memplan.questions.plan.plan import PlanOptions as PlanOptions
from memplan.questions.question import Control as Control
from memplan.questions.question.selection import select_fields as select_fields
from memplan.questions.sweep.combinations import Sweep as Sweep
from memplan.questions.sweep.combinations import SweepOptions as SweepOptions
from memplan.questions.sweep.grid import Change as Change
from memplan.questions.verify.verify import Verdict as Verdict
from memplan.questions.verify.verify import VerifyOptions as VerifyOptions
from memplan.solvers.certificates.certify import Certificate as Certificate
from memplan.solvers.certificates.certify import infeasible_core as infeasible_core
from memplan.solvers.search.result import Progress as Progress

_Solver = Literal[
    "greedy",
    "local-search",
    "few",
    "parts",
    "lemmas",
    "exact",
    "core",
    "memory-choice",
    "prices",
    "price-bounds",
    "cp-sat",
    "highs",
    "cbc",
    "reference:tflite-micro-greedy",
    "reference:executorch-greedy",
    "reference:executorch-banked-greedy",
    "reference:executorch-naive",
    "reference:cadence-position-based-greedy-with-hierarchy",
    "reference:cadence-greedy-by-size-with-hierarchy",
    "reference:cadence-greedy-by-size-paper-literal",
    "reference:tvm-greedy-by-size",
    "reference:tvm-greedy-by-size-own-alignment",
    "reference:tvm-greedy-by-conflicts",
    "reference:tvm-greedy-by-conflicts-own-alignment",
    "reference:tvm-hill-climb",
    "reference:tvm-hill-climb-own-alignment",
    "reference:relay-storage-tokens",
    "reference:onnxruntime-memory-pattern",
    "reference:dsa-canonical-greedy",
    "reference:ggml-allocator",
    "reference:luminal-arena",
    "reference:mlir-best-fit",
    "reference:nntrainer-basic",
    "reference:nntrainer-v1",
    "reference:nntrainer-v2",
    "reference:nntrainer-v3",
    "reference:openvino-memory-solver",
    "reference:tinygrad-tlsf",
    "reference:ttlang-multi-order-decreasing",
    "reference:vela-hill-climb",
    "reference:xla-best-fit-by-size",
    "reference:xla-best-fit-by-life",
    "reference:xla-best-fit",
    "reference:xnnpack-memory-planner",
]

def cascade(
    graph: OperationGraph | Any | _File,
    options: CascadeOptions | None = ...,
    control: Control | None = ...,
    *,
    target: Target | None | _File = ...,
    time_limit_s: float = ...,
    fit: int | None = ...,
    macs: float | None | str | int = ...,
    input: Literal["resident", "streamed"] = ...,
    output: Literal["resident", "streamed"] = ...,
    overlap: Literal["none", "sliding"] = ...,
    objectives: Sequence[Literal["peak", "macs", "traffic"]] | str | int = ...,
    pools: Sequence[Sequence[str]] | str | int = ...,
    alignment: int = ...,
    brick: int = ...,
    stripe: Sequence[int] | None | str | int = ...,
    longest: int = ...,
    rolling: bool = ...,
    orders: Literal["several", "given", "breadth-first", "depth-first", "heads-early", "least-peak"] = ...,
    barriers: Sequence[str] | str | int = ...,
    sweep: Mapping[str, Sequence[bool | int | float | str]] | str | int = ...,
    point: int | Literal["all"] | None | str | int = ...,
    check: bool = ...,
) -> CascadeAnswer: ...
def certify(
    problem: Problem | _File,
    plan: Plan | None | _File = ...,
    options: CertifyOptions | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    deterministic: bool = ...,
    proof_s: float = ...,
) -> Any: ...
def check(
    problem: Problem | None | _File = ...,
    plan: Plan | None | _File = ...,
    baseline: Plan | Any | None | _File = ...,
    baseline_problem: Problem | None | _File = ...,
    arena: Any | None | _File = ...,
    options: CheckOptions | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    deterministic: bool = ...,
    budgets: Sequence[str] | str | int = ...,
    most_moved: int | None | str | int = ...,
    tolerance: str = ...,
    profile: Literal["speed", "balanced", "size"] | None = ...,
    subject: str | None = ...,
    differences: bool = ...,
    unmoved: bool = ...,
    with_plan: bool = ...,
) -> Any: ...
def compare(
    file: bytes | _File,
    options: CompareOptions | None = ...,
    control: Control | None = ...,
    *,
    plan: Plan | None | _File = ...,
    time_limit_s: float = ...,
    dims: Mapping[str, int | Sequence[int]] | str | int = ...,
    views: Literal["alias", "separate"] = ...,
    alignment: int | None = ...,
    scratch: Mapping[str, int] | str | int = ...,
    target: str | None = ...,
    kernels: str | None = ...,
    name: str | None = ...,
    in_place: bool = ...,
    spare: Sequence[str] | str | int = ...,
) -> ModelComparison | MovesComparison: ...
def convert(
    file: bytes | Problem | _File,
    plan: Plan | None | _File = ...,
    options: ConvertOptions | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    dims: Mapping[str, int | Sequence[int]] | str | int = ...,
    views: Literal["alias", "separate"] = ...,
    alignment: int | None = ...,
    scratch: Mapping[str, int] | str | int = ...,
    target: str | None = ...,
    kernels: str | None = ...,
    name: str | None = ...,
    capacity: Sequence[str] | str | int = ...,
    weights: Literal["flash", "ram", "choose"] | None = ...,
    pin: Sequence[str] | str | int = ...,
    reserve: Sequence[str] | str | int = ...,
    copies: Sequence[str] | str | int = ...,
    order: Sequence[str] | str | int = ...,
    in_place: bool = ...,
    spare: Sequence[str] | str | int = ...,
    moves: str | None | str | int = ...,
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
    macs: float | None | str | int = ...,
    c_array: bool = ...,
    program: bool = ...,
) -> Converted: ...
def explain(
    problem: Problem | None | _File = ...,
    graph: OperationGraph | None | _File = ...,
    capacity: int | None | _File = ...,
    options: ExplainOptions | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    deterministic: bool = ...,
    explain_s: float = ...,
    study_s: float = ...,
    repairs: int = ...,
    most_changes: int = ...,
    kinds: Sequence[Literal["in-place", "unpin", "alignment", "earlier-end", "later-start", "pool", "spill"]]
    | None
    | str
    | int = ...,
    with_plans: bool = ...,
    what_if: bool = ...,
    shrunk_to: float | None = ...,
    more: int = ...,
) -> ExplainAnswer: ...
def liveness(
    operations: Any | _File,
    plan: Plan | None | _File = ...,
    options: LivenessOptions | None = ...,
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
    graph: OperationGraph | _File,
    options: OrderOptions | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    deterministic: bool = ...,
    count_resident: bool = ...,
    in_place: bool = ...,
    spare: Sequence[str] | str | int = ...,
    goal: Literal["alive", "placed"] = ...,
    alignment: int = ...,
    with_certificate: bool = ...,
    with_plan: bool = ...,
    capacity: Sequence[str] | str | int = ...,
    moves: str | None | str | int = ...,
    recompute: bool = ...,
    within: int | str | None | str | int = ...,
    extra_cost: float | None | str | int = ...,
    link: float = ...,
    points: int = ...,
) -> OrderAnswer: ...
def plan(
    problem: Problem | ObjectsProblem | _File,
    start: Plan | None = ...,
    keep: Plan | None | _File = ...,
    options: PlanOptions | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    solver: _Solver | None = ...,
    accept: str | float | None = ...,
    seed: int = ...,
    deterministic: bool = ...,
    profile: Literal["speed", "balanced", "size"] | str | Mapping[str, float] | None = ...,
    heaps: int | None | str | int = ...,
    least: Literal["buffers", "bytes"] = ...,
    explain_s: float = ...,
) -> Plan: ...
def schedule(
    problem: OperationGraph | _File,
    target: Target | None | _File = ...,
    options: ScheduleOptions | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    deterministic: bool = ...,
    objective: Literal["latency", "traffic", "peak"] = ...,
    frontier: bool = ...,
    fast_memory: int | None = ...,
) -> ScheduleAnswer: ...
def shapes(
    problem: SymbolicProblem | bytes | _File,
    verify: SymbolicOffsets | None | _File = ...,
    options: ShapesOptions | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    dims: Mapping[str, int | Sequence[int]] | str | int = ...,
    views: Literal["alias", "separate"] = ...,
    alignment: int | None = ...,
    scratch: Mapping[str, int] | str | int = ...,
    target: str | None = ...,
    kernels: str | None = ...,
    name: str | None = ...,
    symbol: Mapping[str, Any] | str | int = ...,
    most: int = ...,
    limits: bool = ...,
    within: int | None = ...,
    at: Mapping[str, int] | str | int = ...,
    to: Literal["c", "python"] | None = ...,
) -> ShapesAnswer: ...
def sweep(
    problem: Problem | _File,
    sizes: Any | None | _File = ...,
    changes: Sequence[Sequence[Change | Mapping[str, Any]]] | _File = ...,
    start: Plan | None | _File = ...,
    options: SweepOptions | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    solver: _Solver | None = ...,
    accept: str | float | None = ...,
    seed: int = ...,
    deterministic: bool = ...,
    profile: Literal["speed", "balanced", "size"] | str | Mapping[str, float] | None = ...,
    each_s: float = ...,
    alignments: Sequence[int] | str | int = ...,
    repetitions: int = ...,
) -> Sweep: ...
def verify(
    problem: Problem | _File,
    plan: Plan | _File,
    certificate: Any | str | None | _File = ...,
    options: VerifyOptions | None = ...,
    control: Control | None = ...,
    *,
    time_limit_s: float = ...,
    places: bool = ...,
    better: bool = ...,
    again: bool = ...,
    with_plans: bool = ...,
) -> Verdict: ...

solve = plan
__all__ = [
    "Application",
    "BankUse",
    "Buffer",
    "CascadeAnswer",
    "CascadeOptions",
    "Certificate",
    "CertifyOptions",
    "Change",
    "CheckOptions",
    "CompareOptions",
    "Control",
    "ConvertOptions",
    "Converted",
    "ExplainAnswer",
    "ExplainOptions",
    "Explanation",
    "FileError",
    "FormatError",
    "InputError",
    "InvalidPlanError",
    "LivenessAnswer",
    "LivenessOptions",
    "MemplanError",
    "ModelComparison",
    "MovesComparison",
    "ObjectsAnswer",
    "ObjectsProblem",
    "OffsetMod",
    "OperationGraph",
    "OperationsError",
    "OptionError",
    "OrderAnswer",
    "OrderOptions",
    "Placement",
    "Plan",
    "PlanError",
    "PlanOptions",
    "Pool",
    "Problem",
    "ProblemError",
    "Progress",
    "Recomputed",
    "Relative",
    "Repairs",
    "ScheduleAnswer",
    "ScheduleOptions",
    "Shadow",
    "ShapesAnswer",
    "ShapesLimits",
    "ShapesOptions",
    "Sweep",
    "SweepOptions",
    "SymbolicOffsets",
    "SymbolicProblem",
    "Target",
    "Verdict",
    "VerifiedShapes",
    "VerifyOptions",
    "Violation",
    "WhatIf",
    "__version__",
    "cascade",
    "certify",
    "check",
    "compare",
    "convert",
    "explain",
    "infeasible_core",
    "liveness",
    "order",
    "order_operations",
    "plan",
    "read_graph",
    "read_plan",
    "read_problem",
    "schedule",
    "select_fields",
    "shapes",
    "solve",
    "sweep",
    "verify",
    "write_plan",
    "write_problem",
]
