"""The tables of kernels: named tuples of arrays and numbers, laid out like the structs of C++ with the same fields."""

from __future__ import annotations

from ctypes import addressof, c_char, c_int64
from functools import cache
from struct import Struct, error
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, get_type_hints

import numpy as np
import numpy.typing as npt

from memplan.planner.model.buffer_table import I64

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

_Table = TypeVar("_Table", bound=NamedTuple)
_Bytes = c_char * 0


@cache
def fields(table: type[NamedTuple]) -> dict[str, Any]:
    """Return the annotations of a table's fields, in their order."""
    return get_type_hints(table, include_extras=True)


@cache
def _layout(table: type[NamedTuple]) -> tuple[list[tuple[np.dtype[Any], int] | None], Struct]:
    """Return for each field what array it is, if any, and the words of all: an array has its address and its shape."""
    hints = fields(table).values()
    words = ("d" if hint is float else "q" * (1 + ARRAYS[hint][1]) if hint in ARRAYS else "q" for hint in hints)
    return [ARRAYS.get(hint) for hint in hints], Struct("".join(words))


class Reference(Generic[_Table]):
    """A table laid out for kernels, which read and write its arrays where they are. Its fields must not change.

    The table's docstring says which arrays a kernel fills; whether they are writable is not checked. Raises ValueError
    where an array is not contiguous, or not what the annotation says, or where a number does not fit into int64.
    """

    __slots__ = ("_words", "address", "table")

    def __init__(self, table: _Table) -> None:
        words: list[Any] = []
        arrays, layout = _layout(type(table))
        for value, array in zip(table, arrays, strict=True):
            if array is None:
                words.append(value)
                continue
            flags = value.flags
            if value.dtype != array[0] or value.ndim != array[1] or not flags.c_contiguous:
                raise ValueError(f"{type(table).__name__}: an array is {value.dtype}, {value.shape}, or has gaps")
            # A third of the time that numpy takes to say it.
            address = addressof(_Bytes.from_buffer(value)) if flags.writeable else value.ctypes.data
            words += (address, *value.shape)
        try:
            packed = layout.pack(*words)
        except error as what:
            raise ValueError(f"{type(table).__name__}: a number is not one of int64: {what}") from None
        self.table = table
        self._words = (c_int64 * (layout.size // 8)).from_buffer_copy(packed)
        self.address = addressof(self._words)
