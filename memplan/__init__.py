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

A name is imported when it is first asked for, from the module that `__init__.pyi` has for type checkers: importing
memplan loads nothing else.
"""

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

_FOLDER = re.compile(r"memplan\.capabilities\.(\w+)\.")
"""The folder of a question, in the name of a module."""


@cache
def _modules() -> dict[str, str]:
    """Return the module that each name is imported from: of a question that is there, itself, its options and more."""
    from memplan.capabilities import MODULES

    stub = Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    stated = re.findall(r"^from (\S+) import (\w+) as \w+$", stub, re.MULTILINE)
    folders = {module.partition(".")[0] for module in MODULES.values()}
    found = {name: module for module, name in stated if not (of := _FOLDER.match(module)) or of[1] in folders}
    for name, module in MODULES.items():
        found |= dict.fromkeys((name, f"{name.capitalize()}Options"), f"memplan.capabilities.{module}")
    return found


def __getattr__(name: str) -> object:
    if name == "__all__":
        return sorted(_modules())
    if name == "torch":  # a module of its own, as it imports torch
        return import_module("memplan.torch")
    if name not in _modules():
        near = import_module("memplan.planner.errors.did_you_mean").did_you_mean(name, _modules())
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{near}")
    value = getattr(import_module(_modules()[name]), name)
    if callable(value) and not isinstance(value, type):
        registry = import_module("memplan.capabilities.registry").CAPABILITIES
        verified = registry[name].verified if name in registry else None
        value = import_module("memplan.arguments").checked(value, verified)
        value.__module__, value.__qualname__ = __name__, name  # a pickle finds it by these
    globals()[name] = value
    # Here, since the domain must not stand on what shows it; and now, since nothing is imported before a name is.
    import_module("memplan.planner.model.plan").show_with(_cell)
    return value


def _cell(problem: Any, plan: Any) -> str:
    """Return the HTML of a plan, for a notebook."""
    from memplan.api.reports.page.notebook import cell

    return cell(problem, plan)


def __dir__() -> list[str]:
    return sorted(_modules())
