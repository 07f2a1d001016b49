"""Errors about packages that are not installed, with the command that installs the right extra."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.util import find_spec

from memplan.planner.errors import OptionError

PACKAGES: Mapping[str, tuple[str, ...]] = {
    "engines": ("ortools", "highspy", "pulp"),
    "server": (
        *("fastapi", "starlette", "uvicorn", "httptools", "sqlalchemy", "pydantic_settings", "sse_starlette"),
        *("alembic", "prometheus_client", "pythonjsonlogger", "psutil"),
    ),
    "postgres": ("psycopg",),
    "onnx": ("onnx",),
    "mcp": ("memplan.extensions.mcp", "mcp"),
    "cluster": ("distributed", "ray", "grpc"),
    "executorch": ("executorch",),
    "runtimes": ("onnxruntime", "ai_edge_litert"),
    "peers": ("omnimalloc",),
    "tile": ("memplan_tile",),
    "systems": ("memplan.extensions.systems",),
    "library": ("memplan.extensions.library",),
    "bench": ("memplan.extensions.bench",),
    "page": ("memplan.extensions.page",),
    "recompute": ("memplan.extensions.recompute",),
    "objects": ("memplan.extensions.objects",),
    "prices": ("memplan.extensions.prices",),
    "differing": ("memplan.extensions.differing", "memplan.extensions.prices"),
    "torch": ("memplan.extensions.torch",),
    "tvm": ("memplan.extensions.tvm", "tvm"),
    "models": ("memplan.extensions.models",),
}
"""The importable packages that each extra installs."""
COMMANDS: Mapping[str, str] = {
    "library": "memplan.extensions.library",
    "fits": "memplan.extensions.torch",
    "bench": "memplan.extensions.bench",
    "mcp": "memplan.extensions.mcp",
}
"""The packages that provide a command."""
SEARCHES: Mapping[str, str] = {
    "recompute": "memplan.extensions.recompute",
    "objects": "memplan.extensions.objects",
    "heaps": "memplan.extensions.objects",
    "differing": "memplan.extensions.differing",
}
"""The packages that provide a search."""
PRICES = "memplan.extensions.prices"
"""The package that searches for the least price of shared bytes and banks, and proves it."""
CLUSTERS = "memplan.extensions.bench"
"""The package that runs command lines on clusters."""
PROGRAMS = "memplan.extensions.models"
"""The package that writes cascades as programs in C."""
VIEWS = "memplan.extensions.page"
"""The package that renders answers as pages."""
OF_SYSTEMS = ("models", "systems", "torch")
"""The extras whose packages provide systems: file readers, planners, and targets of `convert`."""


class MissingPackageError(OptionError):
    """An option needs a package that is not installed; the message says how to install it."""


def install_line(package: str) -> str:
    """Return the command that installs a package with the extra of memplan that brings it."""
    extra = next((extra for extra, packages in PACKAGES.items() if package in packages), None)
    return f"pip install {package}" if extra is None else f"pip install 'memplan[{extra}]'"


def missing(package: str, extra: str | None = None) -> str:
    """Return the sentence for a missing package, with the extra that installs it: the given one, or else its own."""
    line = install_line(package) if extra is None else f"pip install 'memplan[{extra}]'"
    return f"needs {package}, which is not installed: {line}"


def more_of_systems() -> str:
    """Return a hint that packages with more systems exist; empty where all of them are installed."""
    lacking = [extra for extra in OF_SYSTEMS if not is_installed(PACKAGES[extra][0])]
    if not lacking:
        return ""
    names = " and ".join(PACKAGES[extra][0] for extra in lacking)
    words = "which is not installed, knows" if len(lacking) == 1 else "which are not installed, know"
    return f"; {names}, {words} more: pip install 'memplan[{','.join(lacking)}]'"


def require(subject: str, packages: Iterable[str]) -> None:
    """Raise MissingPackageError, which begins with `subject`, if one of the packages is not installed."""
    for package in packages:
        if not is_installed(package):
            raise MissingPackageError(f"{subject} {missing(package)}")


def is_installed(package: str) -> bool:
    """Return True if a package can be imported."""
    return find_spec(package) is not None
