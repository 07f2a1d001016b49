"""What a kernel is: a function of tables that runs as bare machine code."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from memplan.solvers.kernels import loading
from memplan.solvers.kernels.tables import Reference


class Kernel:
    """A function of tables, which fills some of their arrays and returns a number; it runs without the GIL."""

    def __init__(self, function: Callable[..., int]) -> None:
        self.function = function
        self.name = function.__name__
        self.n_tables = function.__code__.co_argcount
        self._code: Callable[..., int] | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether it runs at once when it is called."""
        return self._code is not None

    def load(self) -> None:
        """Load it, if it is not, compiled before if need be."""
        if self._code is None and not runs_as_python():
            self._code = loading.load(self.function)

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
    """Say whether kernels are not to be compiled, by numba's own switch."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
