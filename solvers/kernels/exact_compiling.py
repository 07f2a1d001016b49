"""How the exact search is compiled: one kernel and its steps, each for the one signature that its annotations say.

None of them allocates, so none needs to count the references to its arrays (`_nrt`): that takes two thirds of the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast, get_type_hints

import numpy as np
import numpy.typing as npt
from numba import njit, types

from planner.table import I64
from solvers.sections import U32, Rows

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])

_TYPES = {
    int: types.int64,
    float: types.float64,
    bool: types.boolean,
    I64: types.int64[::1],
    Rows: types.int64[:, ::1],
    U32: types.uint32[::1],
    npt.NDArray[np.bool_]: types.boolean[::1],
    npt.NDArray[np.float64]: types.float64[::1],
}


def whole(kernel: _Kernel) -> _Kernel:
    """Compile a kernel with its steps when its module is imported, or load it."""
    signature = tuple(_signature(kernel).values())
    try:
        outer = njit(signature, cache=True, nogil=True, _nrt=False)(kernel)
    except OSError:  # there is no place for files at all
        outer = njit(signature, nogil=True, _nrt=False)(kernel)
    return cast(_Kernel, outer)


def step(function: _Kernel) -> _Kernel:
    """Make a function a step, which kernels and other steps call, with tuples of arrays by reference."""
    inner = njit(nogil=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)(function)
    return cast(_Kernel, inner)


def _signature(annotated: Any) -> dict[str, types.Type]:
    """Return the types of a function's parameters, or of a tuple's fields."""
    hints = get_type_hints(annotated, include_extras=True)
    return {name: _type(hint) for name, hint in hints.items() if name != "return"}


def _type(hint: Any) -> types.Type:
    if hint in _TYPES:
        return _TYPES[hint]
    return types.NamedTuple(list(_signature(hint).values()), hint)
