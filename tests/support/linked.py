"""Machine code of one kernel, made as the package makes it when it is built."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import CDLL
from pathlib import Path

from memplan.solvers.kernels import abi
from memplan.solvers.kernels.build import compiler_driver, link


def linked(function: Callable[..., int], folder: Path) -> Callable[..., int]:
    """Return a kernel, compiled and linked into a library in the folder, as a function of references to its tables."""
    code, entry = abi.compiled(function, "generic")
    (folder / "kernel.o").write_bytes(code)
    link([folder / "kernel.o"], folder / "kernel.so", compiler_driver())
    return abi.in_library(function, CDLL(str(folder / "kernel.so")), entry)
