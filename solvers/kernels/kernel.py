"""A kernel is a function of tables that runs as bare machine code."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from memplan.solvers.kernels import abi, built, cache
from memplan.solvers.kernels.abi import Reference
from memplan.solvers.kernels.cache import PLANNING, KernelGroup


class Kernel:
    """A function of tables, which fills some of their arrays and returns a number; it runs without the GIL."""

    def __init__(self, function: Callable[..., int], group: KernelGroup = PLANNING) -> None:
        self.function, self.group = function, group
        self.name = function.__name__
        self._code: Callable[..., int] | None = None

    @property
    def is_loaded(self) -> bool:
        """True if it runs at once when it is called."""
        return self._code is not None

    def load(self) -> None:
        """Load its machine code, if that is not done: the package's, else the cache's, else compiled now."""
        if self._code is not None or runs_as_python():
            return
        library = built.find(self.group)
        if library is not None and self.name in library.entries:
            self._code = abi.load_library(self.function, library.library, library.entries[self.name])
        elif abi.can_compile():
            self._code = abi.load(self.function, *(self._cached() or abi.compiled(self.function)))

    def keep(self, folder: Path) -> None:
        """Compile it and keep its machine code in a folder."""
        code, entry = abi.compiled(self.function)
        (folder / f"{self.name}.o").write_bytes(code)
        (folder / f"{self.name}.entry").write_text(entry)

    def _cached(self) -> tuple[bytes, str] | None:
        """Return the machine code in the cache and the name of its entry; None where there is none, or not sound."""
        code, entry = (cache.read(f"{self.name}.{kind}", self.group) for kind in ("o", "entry"))
        return None if code is None or entry is None else (code, entry.decode())

    def __call__(self, *tables: Reference[Any]) -> int:
        """Run it, loaded first if it is not.

        Raises RuntimeError for an error in it: a division by zero, or an index out of bounds where those are checked.
        """
        self.load()
        if self._code is None:
            with np.errstate(over="ignore"):  # hashes are meant to wrap around
                return self.function(*(table.table for table in tables))
        return self._code(*(table.address for table in tables))


def runs_as_python() -> bool:
    """Return True if kernels are not to be compiled, by numba's own switch."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
