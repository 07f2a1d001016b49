"""How the exact search is compiled: one kernel without allocations, for one signature, with all its steps in it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast, get_type_hints

import numpy as np
import numpy.typing as npt
from numba import njit, types
from numba.extending import as_numba_type

from planner.table import I64
from solvers.sections import U32

_Kernel = TypeVar("_Kernel", bound=Callable[..., Any])


def whole(signature: Any) -> Callable[[_Kernel], _Kernel]:
    """Compile a kernel with its steps, for one signature, when its module is imported; or load it.

    None of them allocates, so none needs to count the references to its arrays (`_nrt`): that takes two thirds of the
    time.
    """

    def decorate(kernel: _Kernel) -> _Kernel:
        try:
            outer = njit(signature, cache=True, nogil=True, _nrt=False)(kernel)
        except OSError:  # there is no place for files at all
            outer = njit(signature, nogil=True, _nrt=False)(kernel)
        return cast(_Kernel, outer)

    return decorate


_TYPES = {I64: types.int64, U32: types.uint32, npt.NDArray[np.bool_]: types.boolean}


def tuple_type(fields: type[tuple[Any, ...]], tables: frozenset[str]) -> types.Type:
    """Return the type that kernels know a NamedTuple of arrays and numbers by; `tables` are those with two axes."""
    return types.NamedTuple(
        [
            types.Array(_TYPES[hint], 2 if name in tables else 1, "C") if hint in _TYPES else as_numba_type(hint)
            for name, hint in get_type_hints(fields).items()
        ],
        fields,
    )


def step(kernel: _Kernel) -> _Kernel:
    """Make a function a step, compiled into the kernels that call it."""
    return cast(_Kernel, njit(nogil=True, _nrt=False, inline="always")(kernel))
