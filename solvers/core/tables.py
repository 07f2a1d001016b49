"""The compiled libraries, and the tables through which Python passes data to their kernels.

A table is a named tuple of arrays and numbers. It has the memory layout of the C++ struct with the same fields.
"""

from collections.abc import Callable
from ctypes import CDLL, addressof, c_char, c_int64, c_void_p
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from struct import Struct, error
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, get_type_hints

import numpy as np
import numpy.typing as npt

from memplan.planner.errors import UnbuiltError
from memplan.planner.model.buffer_table import I64
from memplan.solvers.core.build import HERE, digest_of, library_of

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
"""The array annotations of table fields, with (dtype, number of axes). All other fields are int, bool or float."""

_Table = TypeVar("_Table", bound=NamedTuple)
_Bytes = c_char * 0


@cache
def _layout(table: type[NamedTuple]) -> tuple[list[tuple[np.dtype[Any], int] | None], Struct]:
    """Return each field's array type (None for a number), and the layout of the table's struct.

    In the struct, an array is its address followed by its shape.
    """
    hints = get_type_hints(table, include_extras=True).values()
    words = ("d" if hint is float else "q" * (1 + ARRAYS[hint][1]) if hint in ARRAYS else "q" for hint in hints)
    return [ARRAYS.get(hint) for hint in hints], Struct("".join(words))


class Reference(Generic[_Table]):
    """A table (named tuple) in the memory layout of kernels, which read and write its arrays in place.

    The fields must not be replaced afterwards. The table's docstring names the arrays that a kernel fills; they must be
    writable, which is not checked. Raises ValueError if an array is not contiguous or differs from its annotation, or
    if a number does not fit into int64.
    """

    __slots__ = ("_words", "address", "table")

    def __init__(self, table: _Table) -> None:
        """Check the arrays and numbers of a table, and write their addresses, shapes and values into one C struct."""
        words: list[Any] = []
        arrays, layout = _layout(type(table))
        for value, array in zip(table, arrays, strict=True):
            if array is None:
                words.append(value)
                continue
            flags = value.flags
            if value.dtype != array[0] or value.ndim != array[1] or not flags.c_contiguous:
                raise ValueError(
                    f"{type(table).__name__}: arrays must be contiguous {array[0]}, got {value.dtype}, {value.shape}"
                )
            # Read the address through ctypes, because numpy's own attribute takes three times as long.
            address = addressof(_Bytes.from_buffer(value)) if flags.writeable else value.ctypes.data
            words += (address, *value.shape)
        try:
            packed = layout.pack(*words)
        except error as what:
            raise ValueError(f"{type(table).__name__}: numbers must fit into int64: {what}") from None
        self.table = table
        self._words = (c_int64 * (layout.size // 8)).from_buffer_copy(packed)
        self.address = addressof(self._words)


REMEDY = "python -m memplan.solvers.core.build"
_NO_MEMORY = -(2**63)  # This value must equal kNoMemory in stack.hpp, because kernels return it when memory runs out.


@dataclass(frozen=True, slots=True, eq=False)
class Handle:
    """The address of an object in the compiled core, such as an open search; kernels accept it in place of a table."""

    address: int


def _installed_library(folder: Path) -> Path | None:
    """Return the library of a folder `core` in the installed memplan package, or None without such a library.

    A checkout that is not built can use this library, as Python then imports the checkout instead of the installed
    package. Raises UnbuiltError if the installed library was built from other sources.
    """
    from importlib.metadata import distributions

    if HERE.parents[1] not in folder.parents:
        return None
    for found in distributions(name="memplan"):
        file = library_of(Path(str(found.locate_file("memplan")), folder.relative_to(HERE.parents[1])))
        if not file.exists():
            continue
        note = file.with_name("sources.txt")
        if not note.exists() or note.read_text() != digest_of(folder):
            rule = f"must be built, as the installed memplan {found.version} has other sources"
            raise UnbuiltError(f"{library_of(folder)}: the compiled core {rule}; build it with: {REMEDY}")
        return file
    return None


class Library:
    """The shared library of a folder `core`, loaded at its first use. Thread-safe."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def handle(self) -> CDLL:
        """The loaded library, or that of the installed memplan if this checkout is not built but has the same sources.

        Raises UnbuiltError if there is no such library, or if this machine cannot load it.
        """
        file = library_of(self.folder)
        file = file if file.exists() else _installed_library(self.folder) or file
        try:
            return CDLL(str(file))
        except OSError as error:
            reason = f"cannot be loaded: {error}" if file.exists() else "was not built"
            raise UnbuiltError(f"{file}: the compiled core {reason}; build it with: {REMEDY}") from None

    def kernel(self, name: str, tables: int) -> Callable[..., int]:
        """Return a function that calls a kernel with `tables` tables.

        The kernel fills some of their arrays. The function returns an int. The kernel runs without the GIL. The types
        of the tables are not checked. Raises MemoryError if the kernel cannot allocate memory.
        """
        called: list[Callable[..., int]] = []

        def call_kernel(*given: Reference[Any] | Handle) -> int:
            if not called:
                function = self.handle[f"memplan_{name}"]
                function.argtypes, function.restype = [c_void_p] * tables, c_int64
                called.append(function)
            result: int = called[0](*[table.address for table in given])
            if result == _NO_MEMORY:
                raise MemoryError(f"{name}: the kernel must allocate its tables, but memory ran out")
            return result

        return call_kernel


CORE = Library(HERE)
