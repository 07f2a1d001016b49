"""How tables reach kernels: by reference, laid out as compiled code reads them.

Kernels and their steps are functions that numba compiles. Importing numba takes half a second and 60 MB; so what is
kept of them is the machine code alone, which llvmlite loads. A kernel is called with one pointer for each of its
tables: to a word for each number in it, and seven or more for each array, as numba lays them out.
"""

from __future__ import annotations

from collections.abc import Callable
from ctypes import addressof, c_double, c_int64
from functools import cache
from operator import index
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, cast, get_type_hints

import numpy as np
import numpy.typing as npt

from memplan.planner.model.buffer_table import I64

_Table = TypeVar("_Table", bound=NamedTuple)
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


@cache
def _layout(table: type[NamedTuple]) -> list[tuple[bool, tuple[np.dtype[Any], int] | None]]:
    """Say of each field whether it is a float, and what array it is, if any."""
    return [(field is float, ARRAYS.get(field)) for field in fields(table).values()]


class Reference(Generic[_Table]):
    """A table laid out for kernels, which read and write its arrays where they are. Its fields stay what they are.

    Which arrays a kernel fills is said in the table; whether they may be written is not asked. Raises ValueError where
    an array is not contiguous, or not what the annotation says, or where a number does not fit into int64.
    """

    __slots__ = ("_words", "address", "table")

    def __init__(self, table: _Table) -> None:
        words: list[int] = []
        for value, (is_float, array) in zip(table, _layout(type(table)), strict=True):
            if array is not None:
                if value.dtype != array[0] or value.ndim != array[1] or not value.flags.c_contiguous:
                    raise ValueError(f"{type(table).__name__}: an array is {value.dtype}, {value.shape}, or has gaps")
                # What counts its references, who owns it, items, their bytes, where it is, its shape and its strides.
                at = value.__array_interface__["data"][0]
                words += (0, 0, value.size, value.itemsize, at, *value.shape, *value.strides)
            elif is_float:
                words.append(c_int64.from_buffer_copy(c_double(value)).value)
            elif -(2**63) <= value < 2**63:
                words.append(index(value))
            else:
                raise ValueError(f"{type(table).__name__}: a number is {value}")
        self.table = table
        self._words = (c_int64 * len(words))(*words)
        self.address = addressof(self._words)
