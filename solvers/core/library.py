"""The libraries that were built, and calls into them."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import CDLL, c_int64, c_void_p
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from memplan.planner.errors import UnbuiltError
from memplan.solvers.core.build import HERE, library_of
from memplan.solvers.core.tables import Reference

REMEDY = "python -m memplan.solvers.core.build"
_NO_MEMORY = -(2**63)  # kNoMemory of stack.hpp


@dataclass(frozen=True)
class Handle:
    """The address of something that the core has opened, which kernels take in the place of a table."""

    address: int


class Library:
    """The library of a folder `core`, loaded when it is first called; read and called by any number of threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def loaded(self) -> CDLL:
        """The library itself.

        Raises UnbuiltError where it was not built, or where this machine cannot load it.
        """
        file = library_of(self.folder)
        try:
            return CDLL(str(file))
        except OSError as error:
            reason = f"cannot be loaded: {error}" if file.exists() else "was not built"
            raise UnbuiltError(f"{file}: the compiled core {reason}; build it anew: {REMEDY}") from None

    def kernel(self, name: str, tables: int) -> Callable[..., int]:
        """Return a function of so many tables, which fills some of their arrays and returns a number.

        It runs without the GIL, and must be given the tables that it is declared with, as what it reads is not checked.
        It raises MemoryError where there is none for what it makes itself.
        """
        called: list[Callable[..., int]] = []

        def call(*given: Reference[Any] | Handle) -> int:
            if not called:
                function = self.loaded[f"memplan_{name}"]
                function.argtypes, function.restype = [c_void_p] * tables, c_int64
                called.append(function)
            result: int = called[0](*[table.address for table in given])
            if result == _NO_MEMORY:
                raise MemoryError(f"{name}: there is no memory for what it counts")
            return result

        return call


CORE = Library(HERE)
