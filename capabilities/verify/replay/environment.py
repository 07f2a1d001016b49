"""The facts that a solve depends on beside its input: versions of packages, the processor, the compiled kernels."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version

from memplan.planner import __version__
from memplan.solvers.kernels import built
from memplan.solvers.kernels.groups import PLANNING

PACKAGES = ("numpy", "numba", "llvmlite", "ortools", "highspy", "pulp")
"""The packages whose versions may change what a search finds."""


def environment() -> dict[str, str | None]:
    """Return the facts by name; None for a package that is not installed, and for kernels that run as Python."""
    kernels = built.find(PLANNING)
    facts: dict[str, str | None] = {
        "memplan": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "kernels": None if kernels is None else kernels.digest[:20],
    }
    return facts | {name: _version(name) for name in PACKAGES}


def differences(before: Mapping[str, str | None], now: Mapping[str, str | None]) -> dict[str, list[str | None]]:
    """Return the facts that differ, as [before, now]."""
    names = dict.fromkeys((*before, *now))
    return {name: [before.get(name), now.get(name)] for name in names if before.get(name) != now.get(name)}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
