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

A name is imported when it is first asked for: importing memplan loads nothing else. Questions and what comes with each
are rows of `memplan.questions`; `python -m lab.stub` writes `__init__.pyi` from all names, for type checkers.
"""

import gc
import sys
from functools import cache
from importlib import import_module
from typing import Any

from memplan.extensions import TABLES
from memplan.moved import MovedModules
from memplan.planner.extensions import register

register(TABLES)

if MovedModules not in sys.meta_path:
    sys.meta_path.append(MovedModules)
_NAMES = {
    "capabilities.capability": "Control",
    "capabilities.capability.selection": "select_fields",
    "files": "read_graph read_plan read_problem write_plan write_problem",
    "planner": "__version__",
    "planner.errors": "FileError FormatError InputError InvalidPlanError MemplanError OperationsError OptionError"
    " PlanError ProblemError",
    "planner.model.plan": "Explanation Plan",
    "planner.model.problem": "Problem",
    "planner.model.problem_fields": "BankUse Pool",
    "planner.model.rows": "Buffer OffsetMod Placement Relative",
    "planner.model.objects": "ObjectsProblem",
    "planner.operations.graph": "OperationGraph",
    "planner.symbols.problem": "SymbolicProblem",
    "planner.model.application": "Application",
    "planner.verify.violation": "Violation",
    "solvers.certificates.certify": "Certificate infeasible_core",
    "solvers.search.result": "Progress",
}
"""By module, the public names that belong to no single question."""
_OTHER_WORDS = {
    "read_problem": "load read open parse load_problem read_csv read_json",
    "write_plan": "save write dump save_plan",
    "plan": "optimize pack allocate",
    "memplan.api.client.http.Client": "client",
}
"""Names, by what other libraries call them."""


@cache
def _modules() -> dict[str, str]:
    """Return each public name with its module; installed questions bring a function, options and other names."""
    from memplan.questions import forms, questions

    modules = {name: f"memplan.{module}" for module, names in _NAMES.items() for name in names.split()}
    for name, row in questions().items():
        modules |= dict.fromkeys((name, f"{name.capitalize()}Options"), row.where)
        modules |= {each: f"{row.package}.{module}" for each, module in row.names.items()}
        modules |= {each: module for form in forms(name) for each, module in form.names.items()}
    return modules | {"solve": modules["plan"]}


def __getattr__(name: str) -> object:
    if name == "__all__":
        return __dir__()
    if name in ("torch", "tvm"):  # modules of their own, as they import torch and tvm
        return import_module(f"memplan.{name}")
    if name not in _modules():
        did_you_mean = import_module("memplan.planner.errors.did_you_mean").did_you_mean
        near = did_you_mean(name, _modules(), _OTHER_WORDS, 0.75)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{near or ' (dir(memplan) lists all)'}")
    if (row := import_module("memplan.questions").questions().get(name)) is not None and row.deprecated:
        import_module("warnings").warn(
            f"memplan.{name} is deprecated {row.deprecated}", DeprecationWarning, stacklevel=2
        )
    if name == "solve":  # the name of such packages elsewhere
        globals()[name] = plan = globals().get("plan") or __getattr__("plan")
        return plan
    value = getattr(_imported(_modules()[name]), name)
    if callable(value) and not isinstance(value, type):
        registry = import_module("memplan.questions.capability.registry").CAPABILITIES
        verified = registry[name].verified if name in registry else None
        value = import_module("memplan.arguments").checked(value, verified)
        value.__module__, value.__qualname__ = __name__, name  # a pickle finds it by these
    globals()[name] = value
    # Here, since the domain must not stand on what shows it; and now, since nothing is imported before a name is.
    import_module("memplan.planner.model.plan").show_with(_cell)
    return value


def _imported(module: str) -> Any:
    """Import a module without scanning for garbage: what is imported stays, and becomes old without being looked at."""
    is_collecting = gc.isenabled()
    gc.disable()
    try:
        return import_module(module)
    finally:
        if is_collecting:
            if not gc.get_freeze_count():  # nothing that the caller keeps from being collected
                gc.freeze()
                gc.unfreeze()  # into the oldest generation
            gc.enable()


def _cell(problem: Any, plan: Any) -> str | None:
    """Return the HTML of a plan for a notebook."""
    from memplan.api.reports.views import view

    return view("cell")(problem, plan).decode()


def __dir__() -> list[str]:
    return sorted(_modules())
