"""A kernel is a function of tables that runs as bare machine code, or as Python where none was built."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from memplan.solvers.kernels import abi, built
from memplan.solvers.kernels.abi import Reference
from memplan.solvers.kernels.groups import PLANNING, KernelGroup

_LOG = logging.getLogger("memplan")


class Kernel:
    """A function of tables, which fills some of their arrays and returns a number.

    Its machine code runs without the GIL. Where there is none, it runs as Python, and a warning says so.
    """

    def __init__(self, function: Callable[..., int], group: KernelGroup = PLANNING) -> None:
        self.function, self.group = function, group
        self._code: Callable[..., int] | None = None

    def load(self) -> Callable[..., int]:
        """Return what runs when it is called, its machine code if that was built; read at the first call."""
        if self._code is None:
            found = built.find(self.group)
            if found is None:
                _warn(built.reason_against(self.group))
                self._code = self._run_as_python
            else:
                self._code = abi.in_library(self.function, found.library, found.entries[self.function.__name__])
        return self._code

    def __call__(self, *tables: Reference[Any]) -> int:
        """Run it.

        Raises RuntimeError for an error in it: a division by zero, or an index out of bounds where those are checked.
        """
        return (self._code or self.load())(*tables)

    def _run_as_python(self, *tables: Reference[Any]) -> int:
        with np.errstate(over="ignore"):  # hashes are meant to wrap around
            return self.function(*(table.table for table in tables))


def load_kernels(group: KernelGroup = PLANNING) -> None:
    """Load all kernels of a group, so that the first search finds them loaded."""
    for name in group.kernels:
        kernel_named(name).load()


def kernel_named(name: str) -> Kernel:
    """Return a kernel by its `module.function` below memplan."""
    module, _, function = name.rpartition(".")
    kernel: Kernel = getattr(import_module(f"memplan.{module}"), function)
    return kernel


@cache
def _warn(reason: str) -> None:
    _LOG.warning("memplan: kernels run as Python, a hundred times slower, as %s: %s", reason, built.REMEDY)
