"""Modules under older paths that packages still use: importing one warns, and returns the module at the new path."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import Any

MOVED = {
    "memplan.questions.question": "memplan.questions.inputs.question",
    "memplan.questions.registry": "memplan.questions.capability.registry",
    "memplan.questions.sizes": "memplan.planner.model.sizes",
    "memplan.questions.wire": "memplan.questions.capability.wire",
    "memplan.planner.together": "memplan.planner.model.application",
}
"""From the path of a version before to that of this one; all moved in 1.1."""


class MovedModules:
    """A finder for `sys.meta_path`, asked after all others, and the loader of what it finds."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> Any:
        """Return the spec of a moved module and warn about its old path; None for any other module."""
        if name not in MOVED:
            return None
        from importlib.machinery import ModuleSpec
        from warnings import warn

        warn(f"{name} is deprecated since 1.1, import {MOVED[name]}", DeprecationWarning, stacklevel=2)
        return ModuleSpec(name, MovedModules)  # type: ignore[arg-type]

    @staticmethod
    def create_module(_spec: object) -> None:
        """Create an ordinary module, which `exec_module` replaces."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Register the module at the new path under the old path."""
        sys.modules[module.__name__] = import_module(MOVED[module.__name__])
