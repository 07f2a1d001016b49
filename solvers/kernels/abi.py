"""The one module that knows the insides of numba and llvmlite: how kernels are laid out, compiled and called.

A kernel is called with one pointer for each of its tables: to a word for each number in it, and seven or more for each
array, as numba lays them out. numba itself would pass a tuple of arrays by value: 300 numbers for the tables of the
exact search. Then every step has to be compiled into its callers, which takes a third longer, or gets 300 arguments. So
kernels and steps get their tables by reference. And none of them makes an array, so none needs to count the references
to arrays (`_nrt`), which takes two thirds of the time to compile.

Importing numba takes half a second and 60 MB, so it is imported by the functions that compile: a process that calls
machine code never does.
`tests/solvers/kernels/test_abi.py` names what is assumed of them; pyproject.toml caps their versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CDLL, CFUNCTYPE, addressof, byref, c_int32, c_int64, c_void_p, cast
from dis import get_instructions
from functools import cache
from struct import Struct, error
from types import FunctionType
from typing import Any, Generic, NamedTuple, TypeVar, get_type_hints

import numpy as np

from memplan.solvers.kernels.tables import ARRAYS, STEPS, fields

_Table = TypeVar("_Table", bound=NamedTuple)


_DATA = object.__basicsize__
"""Where an array has the pointer to its data: behind the header that all objects have. numpy itself takes 1 to 2
microseconds to say it, ten times as long, which was an eighth of a short exact search."""


@cache
def _layout(table: type[NamedTuple]) -> tuple[list[tuple[np.dtype[Any], int] | None], Struct]:
    """Return for each field what array it is, if any, and the words of all."""
    hints = fields(table).values()
    words = ("d" if hint is float else "q" * (5 + 2 * ARRAYS[hint][1]) if hint in ARRAYS else "q" for hint in hints)
    return [ARRAYS.get(hint) for hint in hints], Struct("".join(words))


class NumbaReference(Generic[_Table]):
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
            if value.dtype != array[0] or value.ndim != array[1] or not value.flags.c_contiguous:
                raise ValueError(f"{type(table).__name__}: an array is {value.dtype}, {value.shape}, or has gaps")
            # Reference count, parent, items, bytes of an item, address, shape, strides.
            address = c_void_p.from_address(id(value) + _DATA).value or 0
            words += (0, 0, value.size, value.itemsize, address, *value.shape, *value.strides)
        try:
            packed = layout.pack(*words)
        except error as what:
            raise ValueError(f"{type(table).__name__}: a number is not one of int64: {what}") from None
        self.table = table
        self._words = (c_int64 * (layout.size // 8)).from_buffer_copy(packed)
        self.address = addressof(self._words)


Reference = NumbaReference


def made_by() -> str:
    """Return the names and versions of what compiles; imports numba."""
    import llvmlite
    import numba

    return f"numba {numba.__version__}, llvmlite {llvmlite.__version__}"


def in_library(function: Callable[..., int], library: CDLL, entry: str) -> Callable[..., int]:
    """Return a kernel of a linked library, as a function of references to its tables.

    That function raises RuntimeError for an error in the kernel: a division by zero, or an index out of bounds where
    those are checked.
    """
    address = cast(library[entry], c_void_p).value or 0
    # numba's calling convention: where the result goes, where an error goes, the arguments; returns 0 for success.
    run = CFUNCTYPE(c_int32, c_void_p, c_void_p, *(c_void_p,) * function.__code__.co_argcount)(address)

    def call(*tables: Reference[Any]) -> int:
        result, error = c_int64(), c_void_p()
        if run(byref(result), byref(error), *[table.address for table in tables]) != 0:
            raise RuntimeError(f"{function.__name__}: a division by zero, or an index out of bounds")
        return result.value

    return call


def compiled(function: Callable[..., int], processor: str) -> tuple[bytes, str]:
    """Return a kernel's machine code, an object file, and the name of its entry; imports numba.

    It can be linked into a library, and runs on that processor.
    """
    import llvmlite.binding as llvm

    library, entry = _optimized(function)
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=processor, features="", opt=3, reloc="pic", codemodel="default")
    return machine.emit_object(library._final_module), entry


def _optimized(function: Callable[..., int]) -> tuple[Any, str]:
    """Return numba's library for a kernel with all its steps, optimized, and the name of the kernel in it."""
    from numba import types

    hints = get_type_hints(function)
    pointers = [_pointer_type()(_tuple(hint)) for name, hint in hints.items() if name != "return"]
    dispatcher = _jitted(function, {})
    with _no_index_from_the_end(), _optimized_as_a_whole() as optimize:
        dispatcher.compile(types.int64(*pointers))
        (result,) = dispatcher.overloads.values()
        optimize(result.library)
    return result.library, result.fndesc.llvm_func_name


@contextmanager
def _optimized_as_a_whole() -> Iterator[Callable[[Any], None]]:
    """Compile without optimizing and loading each step by itself, which takes a third more; yield what optimizes.

    numba would do both for every step, again with all that it calls, although only the whole kernel is kept.
    """
    from numba.core.codegen import JITCodeLibrary
    from numba.core.registry import cpu_target

    class StepLibrary(JITCodeLibrary):  # type: ignore[misc]  # numba has no types
        def _optimize_final_module(self) -> None:
            pass

        def _finalize_final_module(self) -> None:
            self._finalized = True

        def get_pointer_to_function(self, name: str) -> int:
            self._ensure_finalized()  # links what it calls
            return 0

    codegen = cpu_target.target_context.codegen()
    codegen._library_class, codegen.set_env = StepLibrary, lambda name, environment: None
    try:
        yield JITCodeLibrary._optimize_final_module
    finally:
        del codegen._library_class, codegen.set_env  # those of its class are back


@cache
def _pointer_type() -> Any:
    """Return numba's type for a pointer to a named tuple, registered with its fields as attributes."""
    from numba import types
    from numba.core import cgutils
    from numba.core.datamodel import models
    from numba.core.typing.templates import AttributeTemplate
    from numba.extending import infer_getattr, lower_getattr_generic, register_model

    class Pointer(types.Type):  # type: ignore[misc]  # numba has no types
        def __init__(self, table: types.NamedTuple) -> None:
            self.table = table
            named = table.instance_class
            super().__init__(f"Pointer({named.__module__}.{named.__qualname__})")

    @register_model(Pointer)
    class _Model(models.PrimitiveModel):  # type: ignore[misc]
        def __init__(self, manager: Any, pointer: Pointer) -> None:
            super().__init__(manager, pointer, manager.lookup(pointer.table).get_value_type().as_pointer())

    @infer_getattr
    class _Fields(AttributeTemplate):  # type: ignore[misc]
        key = Pointer

        def generic_resolve(self, pointer: Pointer, field: str) -> types.Type:
            return pointer.table.types[pointer.table.fields.index(field)]

    @lower_getattr_generic(Pointer)  # type: ignore[untyped-decorator]
    def _read_field(context: Any, builder: Any, pointer: Pointer, address: Any, field: str) -> Any:
        read = builder.load(cgutils.gep_inbounds(builder, address, 0, pointer.table.fields.index(field)))
        read.set_metadata("invariant.load", builder.module.add_metadata([]))  # no kernel changes a field
        return read

    return Pointer


@contextmanager
def _no_index_from_the_end() -> Iterator[None]:
    """Compile without the test for negative indices, which takes a third of the exact search's time; kernels have none.

    Where numba checks bounds, it checks for negative ones too. No other thread compiles meanwhile.
    """
    from numba import types
    from numba.core.compiler_lock import global_compiler_lock
    from numba.np import arrayobj

    def unchanged(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
        return context.cast(builder, index, kind, types.intp)

    with global_compiler_lock:
        usual, arrayobj.fix_integer_index = arrayobj.fix_integer_index, unchanged
        try:
            yield
        finally:
            arrayobj.fix_integer_index = usual


def _tuple(table: Any) -> Any:
    from numba import from_dtype, types

    numbers = {int: types.int64, bool: types.int64, float: types.float64}
    arrays = {field: types.Array(from_dtype(dtype), axes, "C") for field, (dtype, axes) in ARRAYS.items()}
    return types.NamedTuple([(numbers | arrays)[field] for field in fields(table).values()], table)


def _jitted(function: Any, done: dict[Callable[..., Any], Any]) -> Any:
    """Return a numba dispatcher for a function, whose steps are dispatchers in turn."""
    from numba import njit

    if function not in done:
        known = function.__globals__
        names = {read.argval for read in get_instructions(function) if read.opname == "LOAD_GLOBAL"}
        steps = {name: _jitted(known[name], done) for name in names if _is_step(known.get(name))}
        copy = FunctionType(function.__code__, known | steps, function.__name__)
        done[function] = njit(nogil=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)(copy)
    return done[function]


def _is_step(value: object) -> bool:
    return isinstance(value, FunctionType) and value in STEPS
