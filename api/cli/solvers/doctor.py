"""`memplan doctor`: what is installed, which code runs, and what to do where something is missing."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from memplan.api.cli.streams import write
from memplan.planner import __version__
from memplan.planner.errors.extras import PACKAGES, install_line, is_installed
from memplan.solvers.kernels import built
from memplan.solvers.kernels.groups import KernelGroup, kernel_groups


def doctor() -> None:
    """Tell which code runs and why, what is installed, and what would mend what is missing."""
    write(None, "".join(f"{line}\n" for line in report()).encode())


def report() -> Iterator[str]:
    """Tell the same, line by line."""
    yield f"memplan {__version__}, in {Path(__file__).parents[2]}"
    yield f"Python {platform.python_version()}, {built.machine()}, {os.cpu_count()} cores, {sys.executable}"
    yield "kernels:"
    for group in kernel_groups():
        yield f"  {group.name}: {_code(group)}"
    yield "installed:"
    for extra, packages in PACKAGES.items():
        yield f"  {extra}: {', '.join(map(_version, packages))}"
    lacking = {install_line(package) for packages in PACKAGES.values() for package in packages if not _has(package)}
    if lacking:
        yield "what installs the rest:"
        yield from (f"  {line}" for line in sorted(lacking))


def _code(group: KernelGroup) -> str:
    """Say whether a group runs as machine code, and why where it does not."""
    found = built.find(group)
    if found is not None:
        return f"built for {found.processor} ({found.made_by}), in {built.folder()}"
    return f"Python, a hundred times slower, as {built.reason_against(group)}: {built.REMEDY}"


def _has(package: str) -> bool:
    try:
        return is_installed(package)
    except (ImportError, ValueError):
        return False


def _version(package: str) -> str:
    if not _has(package):
        return f"{package} -"
    try:
        return f"{package} {version(_DISTRIBUTIONS.get(package, package))}"
    except PackageNotFoundError:
        return package


_DISTRIBUTIONS = {
    "pythonjsonlogger": "python-json-logger",
    "ethosu": "ethos-u-vela",
    "sse_starlette": "sse-starlette",
    "prometheus_client": "prometheus-client",
    "pydantic_settings": "pydantic-settings",
    "ai_edge_litert": "ai-edge-litert",
}
"""Packages whose distribution has another name."""
