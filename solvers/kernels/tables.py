"""The tables of kernels: named tuples of arrays and numbers, and the steps that take them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, NamedTuple, TypeVar, cast, get_type_hints

import numpy as np
import numpy.typing as npt

from memplan.planner.model.buffer_table import I64

_Function = TypeVar("_Function", bound=Callable[..., Any])

Rows = Annotated[I64, "two axes"]
U32 = npt.NDArray[np.uint32]
Flags = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
ARRAYS: dict[Any, tuple[np.dtype[Any], int]] = {
    I64: (np.dtype(np.int64), 1),
    Rows: (np.dtype(np.int64), 2),
    U32: (np.dtype(np.uint32), 1),
    Flags: (np.dtype(np.bool_), 1),
    F64: (np.dtype(np.float64), 1),
}
"""The arrays that tables may have, by their annotation: (dtype, axes). Other fields are int, bool or float."""

ZERO, ONE, ABSENT = (cast(int, np.int64(value)) for value in (0, 1, -1))
"""Numbers for steps: a bare 0 has a type of its own, and steps that take it would be compiled once more."""
I64_MAX = cast(int, np.int64(2**63 - 1))

STEPS: set[Callable[..., Any]] = set()
"""The functions that kernels call: each is compiled with the kernel that does."""


def step(function: _Function) -> _Function:
    """Make a function a step, which kernels and other steps may call. Neither may make arrays."""
    STEPS.add(function)
    return function


@cache
def fields(table: type[NamedTuple]) -> dict[str, Any]:
    """Return the annotations of a table's fields, in their order."""
    return get_type_hints(table, include_extras=True)


@step
def draw(state: I64) -> int:
    """Return the next of a random sequence of 31-bit numbers, whose state[0] is not 0 (xorshift, Marsaglia 2003)."""
    x: int = state[0]
    x ^= (x << 13) & 0x7FFFFFFFFFFFFFFF
    x ^= x >> 7
    x ^= (x << 17) & 0x7FFFFFFFFFFFFFFF
    state[0] = x
    return (x >> 20) & 0x7FFFFFFF
