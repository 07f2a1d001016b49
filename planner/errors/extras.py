"""Errors for missing packages; each names the command that installs the package as an extra of memplan."""

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
    "mcp": ("mcp",),
    "cluster": ("distributed", "ray", "grpc"),
    "executorch": ("executorch",),
    "runtimes": ("onnxruntime", "ai_edge_litert"),
    "peers": ("omnimalloc",),
    "tvm": ("tvm",),
    "torch": ("torch",),
}
"""The packages, by import name, that each extra installs."""


class MissingPackageError(OptionError):
    """An option needs a package that is not installed; the message includes the command to install the package."""


def install_line(package: str) -> str:
    """Return the pip command that installs a package, as an extra of memplan if an extra includes the package."""
    extra = next((extra for extra, packages in PACKAGES.items() if package in packages), None)
    return f"pip install {package}" if extra is None else f"pip install 'memplan[{extra}]'"


def missing_package_text(package: str, extra: str | None = None) -> str:
    """Return the end of an error sentence about a missing package, with the pip command that installs it.

    If `extra` is given, the command installs this extra of memplan.
    """
    line = install_line(package) if extra is None else f"pip install 'memplan[{extra}]'"
    return f"needs {package}, which is not installed: {line}"


def require_packages(subject: str, packages: Iterable[str]) -> None:
    """Raise MissingPackageError, with a message that begins with `subject`, if one of the packages is missing."""
    for package in packages:
        if not is_installed(package):
            raise MissingPackageError(f"{subject} {missing_package_text(package)}")


def is_installed(package: str) -> bool:
    """Return True if a package can be imported."""
    return find_spec(package) is not None
