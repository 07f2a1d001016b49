"""`memplan doctor` and `memplan solvers`: report the installed packages, the compiled code, and the solvers."""

import os
import platform
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click
from pydantic_core import to_json

from memplan.api.cli.flags import LIST_FORMAT
from memplan.api.cli.help import SectionedCommand
from memplan.api.cli.streams import wants_table, write_output
from memplan.planner import __version__
from memplan.planner.errors.extras import PACKAGES, install_line, is_installed
from memplan.solvers.core.build import HERE, folders, is_built, library_of
from memplan.solvers.core.tables import REMEDY, Library


@click.command(cls=SectionedCommand, params=[LIST_FORMAT])
def solvers(display: str | None) -> None:
    """List the solvers: whether each is installed, and its features."""
    from memplan.api.reports.solver_facts import solver_facts

    facts = solver_facts()
    if wants_table(display):
        # Only tables need rich, which is slow to import, so import rich here.
        from memplan.api.cli.report import show_solvers

        show_solvers(facts)
        return
    write_output(None, to_json({"solvers": facts}) + b"\n")


@click.command(cls=SectionedCommand)
def doctor() -> None:
    """Report which code runs and why, which extras are installed, and how to install the missing extras."""
    write_output(None, "".join(f"{line}\n" for line in report()).encode())


def report() -> Iterator[str]:
    """Yield the lines of `memplan doctor`: versions, compiled libraries, installed extras, and install commands."""
    yield f"memplan {__version__}, in {Path(__file__).parents[2]}"
    machine = f"{sys.platform}-{platform.machine()}"
    yield f"Python {platform.python_version()}, {machine}, {os.cpu_count()} cores, {sys.executable}"
    yield "compiled:"
    yield from (f"  {library_of(folder).stem}: {_library_state(folder)}" for folder in folders(HERE.parents[1]))
    yield "installed:"
    for extra, packages in PACKAGES.items():
        yield f"  {extra}: {', '.join(map(_version_text, packages))}"
    lacking = {
        install_line(package) for packages in PACKAGES.values() for package in packages if not _can_find(package)
    }
    if lacking:
        yield "what installs the rest:"
        yield from (f"  {line}" for line in sorted(lacking))


def _library_state(folder: Path) -> str:
    try:
        _ = Library(folder).handle
    except ImportError as error:
        return str(error)
    return f"{library_of(folder)}{'' if is_built(folder) else f', older than its sources: {REMEDY}'}"


def _can_find(package: str) -> bool:
    try:
        return is_installed(package)
    except (ImportError, ValueError):
        return False


def _version_text(package: str) -> str:
    if not _can_find(package):
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
"""The distribution on PyPI of each package whose import name differs from it."""
