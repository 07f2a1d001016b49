"""How kernels are compiled: kept on disk, free of the GIL, and still typed for the reader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit, types

F = TypeVar("F", bound=Callable[..., Any])

COLUMN = types.Array(types.int64, 1, "C", readonly=True)
"""An int64 array that the kernel only reads; it takes writable ones as well."""
ROWS = types.Array(types.int64, 2, "C", readonly=True)
NEW_COLUMN = types.Array(types.int64, 1, "C")
NUMBER = types.int64
FLAG = types.boolean

ZERO = cast(int, np.int64(0))
"""Where a count begins: a bare 0 has a type of its own, and functions that take the count would be compiled twice."""
ABSENT = cast(int, np.int64(-1))
I64_MAX = cast(int, np.int64(2**63 - 1))


def compiled(function: F) -> F:
    """Compile a function that kernels call and nobody else; what is kept is the kernel, with all that it calls in it.

    As it makes no arrays, it need not count references to them (`_nrt`), nor be callable from Python.
    """
    inner: F = njit(nogil=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return inner


def allocating(function: F) -> F:
    """Compile a function that kernels call, and that makes arrays."""
    inner: F = njit(nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return inner


def kernel(signature: Any) -> Callable[[F], F]:
    """Compile a kernel for one signature when its module is imported, or load it; see solvers.kernel_cache."""

    def decorate(function: F) -> F:
        try:
            outer: F = njit(signature, cache=True, nogil=True)(function)
        except OSError:  # there is no place for files at all
            outer = njit(signature, nogil=True)(function)
        return outer

    return decorate
