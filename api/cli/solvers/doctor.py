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
from memplan.solvers.kernels import abi, built, cache
from memplan.solvers.kernels.cache import GROUPS, KernelGroup


def doctor() -> None:
    """Tell which code runs and why, what is installed, where kernels are kept, and what would mend what is missing."""
    write(None, "".join(f"{line}\n" for line in report()).encode())


def report() -> Iterator[str]:
    """Tell the same, line by line."""
    yield f"memplan {__version__}, in {Path(__file__).parents[2]}"
    yield f"Python {platform.python_version()}, {built.machine()}, {os.cpu_count()} cores, {sys.executable}"
    yield "kernels:"
    for group in GROUPS:
        yield f"  {group.name}: {_code(group)}"
    yield f"  compiled ones are kept in {_kept_in()}"
    yield "installed:"
    for extra, packages in PACKAGES.items():
        yield f"  {extra}: {', '.join(map(_version, packages))}"
    lacking = {install_line(package) for packages in PACKAGES.values() for package in packages if not _has(package)}
    if lacking:
        yield "what installs the rest:"
        yield from (f"  {line}" for line in sorted(lacking))


def _code(group: KernelGroup) -> str:
    """Say which machine code of a group runs, and why it is that one."""
    found = built.find(group)
    if found is not None:
        return f"built with the package for {found.processor} ({found.made_by}), numba is not needed"
    reason = built.reason_against(group)
    if (folder := cache.find(group)) is not None:
        return f"compiled here, in {folder}, as {reason}"
    if abi.can_compile():
        return f"not compiled yet, as {reason}: the first search waits some 10 s for it; `memplan warm-up` does it now"
    return f"none, searches run as Python, a hundred times slower, as {reason}: {install_line('numba')}"


def _kept_in() -> str:
    places = [place for place in cache.places() if _is_writable(place)]
    return str(places[0]) if places else f"no folder: none of {', '.join(map(str, cache.places()))} can be written"


def _is_writable(place: Path) -> bool:
    existing = next(folder for folder in (place, *place.parents) if folder.exists())
    return os.access(existing, os.W_OK)


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
