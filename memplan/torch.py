"""memplan for torch: does a step fit into memory, and what would have to change. Imports torch.

Its names are those of the module that a distribution hands out by the entry point `torch` of `memplan.modules`.
"""

from importlib import import_module
from typing import Any

from memplan.planner.errors.extras import missing
from memplan.planner.extensions import extensions


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if (where := extensions("modules").get("torch")) is None:
        raise ModuleNotFoundError(f"memplan.torch: {missing('memplan_torch')}", name="memplan_torch")
    return getattr(import_module(where), name)
