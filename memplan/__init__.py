"""Plan memory: give each buffer a pool and an offset, and prove the plan optimal or report its gap to a lower bound.

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

Importing memplan loads no other module: a public name is imported on its first use. An extension that adds a question
also adds public names; both are listed in the table of questions in `memplan.questions`. `python -m lab.stubs` writes
the static types of the names.
"""

from functools import cache
from importlib import import_module
from typing import Any

from memplan import extensions, programs, runtimes
from memplan.planner.extensions import register

# fmt: off
__all__ = [
    "__version__", "Application", "BankUse", "Buffer", "cascade", "CascadeAnswer", "CascadeOptions", "Certificate",
    "certify", "CertifyOptions", "Change", "check", "CheckOptions", "compare", "CompareOptions", "Control",
    "convert", "Converted", "ConvertOptions", "explain", "ExplainAnswer", "ExplainOptions", "Explanation",
    "FileError", "FormatError", "infeasible_core", "InputError", "InvalidPlanError", "liveness", "LivenessAnswer",
    "LivenessOptions", "MemplanError", "ModelComparison", "MovesComparison", "ObjectsAnswer", "ObjectsProblem",
    "OffsetMod", "OperationGraph", "OperationsError", "OptionError", "order", "order_operations", "OrderAnswer",
    "OrderOptions", "Placement", "Plan", "plan", "PlanError", "PlanOptions", "Pool", "Problem", "ProblemError",
    "Progress", "read_graph", "read_plan", "read_problem", "Recomputed", "Relative", "Repairs", "schedule",
    "ScheduleAnswer", "ScheduleOptions", "select_fields", "Shadow", "shapes", "ShapesAnswer", "ShapesLimits",
    "ShapesOptions", "solve", "Sweep", "sweep", "SweepOptions", "SymbolicOffsets", "SymbolicProblem", "Target",
    "Verdict", "VerifiedShapes", "verify", "VerifyOptions", "Violation", "WhatIf", "write_plan", "write_problem",
]
# fmt: on
_NAMES = {
    "memplan.questions.question": ("Control",),
    "memplan.questions.question.selection": ("select_fields",),
    "memplan.extensions.cascade.answer": ("CascadeAnswer",),
    "memplan.extensions.cascade.cascade": ("CascadeOptions", "cascade"),
    "memplan.extensions.cascade.timing.target": ("Target",),
    "memplan.questions.certify.certify": ("CertifyOptions", "certify"),
    "memplan.questions.check.check": ("CheckOptions", "check"),
    "memplan.extensions.files.compare.compare": ("CompareOptions", "ModelComparison", "compare"),
    "memplan.extensions.files.compare.moving": ("MovesComparison",),
    "memplan.extensions.files.convert.answer": ("Converted",),
    "memplan.extensions.files.convert.convert": ("convert",),
    "memplan.extensions.files.convert.options": ("ConvertOptions",),
    "memplan.questions.explain.explain": ("ExplainAnswer", "explain"),
    "memplan.questions.explain.values": ("ExplainOptions", "Repairs", "WhatIf"),
    "memplan.programs.liveness.liveness": ("LivenessAnswer", "LivenessOptions", "Shadow", "liveness"),
    "memplan.programs.order.answer": ("OrderAnswer", "Recomputed"),
    "memplan.programs.order.options": ("OrderOptions",),
    "memplan.programs.order.order": ("order",),
    "memplan.programs.order.search.solve": ("order_operations",),
    "memplan.questions.plan.objects": ("ObjectsAnswer",),
    "memplan.questions.plan.plan": ("PlanOptions", "plan"),
    "memplan.extensions.schedule.answer": ("ScheduleAnswer",),
    "memplan.extensions.schedule.schedule": ("ScheduleOptions", "schedule"),
    "memplan.extensions.shapes.limits": ("ShapesLimits",),
    "memplan.extensions.shapes.shapes": ("ShapesAnswer", "ShapesOptions", "shapes"),
    "memplan.extensions.shapes.verify_shapes": ("SymbolicOffsets", "VerifiedShapes"),
    "memplan.questions.sweep.combinations": ("Sweep", "SweepOptions", "sweep"),
    "memplan.questions.sweep.grid": ("Change",),
    "memplan.questions.verify.verify": ("Verdict", "VerifyOptions", "verify"),
    "memplan.programs.files": ("read_graph",),
    "memplan.files": ("read_plan", "read_problem", "write_plan", "write_problem"),
    "memplan.planner": ("__version__",),
    "memplan.planner.errors": (
        "FileError",
        "FormatError",
        "InputError",
        "InvalidPlanError",
        "MemplanError",
        "OperationsError",
        "OptionError",
        "PlanError",
        "ProblemError",
    ),
    "memplan.planner.model.application": ("Application",),
    "memplan.planner.model.objects": ("ObjectsProblem",),
    "memplan.planner.model.plan": ("Explanation", "Plan"),
    "memplan.planner.model.problem": ("Problem",),
    "memplan.planner.model.problem_fields": ("BankUse", "Pool"),
    "memplan.planner.model.rows": ("Buffer", "OffsetMod", "Placement", "Relative"),
    "memplan.programs.operations.graph": ("OperationGraph",),
    "memplan.programs.symbols.problem": ("SymbolicProblem",),
    "memplan.planner.verify.violation": ("Violation",),
    "memplan.solvers.certificates.certify": ("Certificate", "infeasible_core"),
    "memplan.solvers.search.result": ("Progress",),
}
"""For each module, the public names that memplan imports from it on their first use."""
_MODULES = {name: module for module, names in _NAMES.items() for name in names}
_OTHER_WORDS = {
    "read_problem": "load read open parse load_problem read_csv read_json",
    "write_plan": "save write dump save_plan",
    "plan": "optimize pack allocate",
    "memplan.api.client.http.Client": "client",
}
"""For public names, the words that other libraries use for the same function; errors suggest the name for them."""


@cache
def _extension_names() -> dict[str, str]:
    from memplan.questions import question_rows

    others = [name for name in question_rows() if name not in _MODULES]
    return {each: name for name in others for each in (name, f"{name.capitalize()}Options")}


def _import_attribute(name: str) -> object:
    """Import the value of a public name on its first use (PEP 562) and return it; raises AttributeError."""
    if name in ("torch", "tvm"):  # Users may lack PyTorch or TVM, so import these two modules only on demand.
        return import_module(f"memplan.{name}")
    if name not in __dir__():
        did_you_mean = import_module("memplan.planner.errors.did_you_mean").did_you_mean
        near = did_you_mean(name, __dir__(), _OTHER_WORDS, 0.75)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{near or ' (dir(memplan) lists all)'}")
    if (row := import_module("memplan.questions").question_rows().get(name)) is not None and row.deprecated:
        import_module("warnings").warn(
            f"memplan.{name} is deprecated {row.deprecated}", DeprecationWarning, stacklevel=2
        )
    if name == "solve":  # other libraries name this function `solve`, so `solve` is an alias of `plan`
        globals()[name] = plan = globals().get("plan") or _import_attribute("plan")
        return plan
    registry = import_module("memplan.questions").QUESTIONS
    if name in _MODULES:
        value = getattr(import_module(_MODULES[name]), name)
    else:
        value = getattr(registry[_extension_names()[name]], "function" if name in registry else "options")
    if callable(value) and not isinstance(value, type):
        question = registry.get(name)
        value = import_module("memplan.arguments").check_arguments(value, question)
        # Pickle finds a function by its module and name, so set both.
        value.__module__, value.__qualname__ = __name__, name
    globals()[name] = value
    # Register the notebook display here, so that `import memplan` does not load the display with the model.
    import_module("memplan.planner.model.plan").show_with(_notebook_html)
    return value


__getattr__ = _import_attribute


def _notebook_html(problem: Any, plan: Any) -> str | None:
    """Return the HTML with which a notebook shows a plan; None if the page extension is missing."""
    from memplan.api.reports.views import plan_cell

    return plan_cell(problem, plan).decode()


def __dir__() -> list[str]:
    """Return all public names, including those not imported yet."""
    return sorted({*_extension_names(), *_MODULES, "solve"})


for _floor in (programs, runtimes, extensions):
    register(_floor.TABLES)
