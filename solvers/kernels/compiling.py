"""How numba compiles a kernel: with its steps, to machine code that needs nothing of numba when it runs.

numba passes a tuple of arrays by value, with all that it knows of them: 300 numbers for the tables of the exact search.
Then every step has to be compiled into its callers, which takes a third longer, or gets 300 arguments. So kernels and
steps get their tables by reference. And none of them makes an array, so none needs to count the references to arrays
(`_nrt`), which takes two thirds of the time to compile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dis import get_instructions
from types import FunctionType
from typing import Any, get_type_hints

from numba import from_dtype, njit, types
from numba.core import cgutils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, lower_getattr_generic, register_model
from numba.np import arrayobj

from memplan.solvers.kernels.tables import ARRAYS, STEPS, fields

_NUMBERS = {int: types.int64, bool: types.int64, float: types.float64}


class Pointer(types.Type):  # type: ignore[misc]  # numba has no types
    """A pointer to a tuple of this type."""

    def __init__(self, table: types.NamedTuple) -> None:
        self.table = table
        owner = table.instance_class
        super().__init__(f"Pointer({owner.__module__}.{owner.__qualname__})")


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
    read.set_metadata("invariant.load", builder.module.add_metadata([]))  # the fields stay what they are
    return read


def compiled(function: Callable[..., int]) -> tuple[bytes, str]:
    """Return a kernel's machine code, an object file, and the name of its entry in it."""
    hints = get_type_hints(function)
    pointers = tuple(Pointer(_tuple(hint)) for name, hint in hints.items() if name != "return")
    dispatcher = _jitted(function, {})
    with _no_index_from_the_end():
        dispatcher.compile(types.int64(*pointers))
    (result,) = dispatcher.overloads.values()
    return result.library._get_compiled_object(), result.fndesc.llvm_func_name


@contextmanager
def _no_index_from_the_end() -> Iterator[None]:
    """Have no index looked at for being negative, which takes a third of the exact search's time; kernels have none.

    Where numba checks bounds, it checks for that too. Nobody else compiles meanwhile.
    """

    def as_it_is(context: Any, builder: Any, kind: Any, index: Any, size: Any) -> Any:
        return context.cast(builder, index, kind, types.intp)

    with global_compiler_lock:
        usual, arrayobj.fix_integer_index = arrayobj.fix_integer_index, as_it_is
        try:
            yield
        finally:
            arrayobj.fix_integer_index = usual


def _tuple(table: Any) -> types.NamedTuple:
    return types.NamedTuple([_type(field) for field in fields(table).values()], table)


def _type(field: Any) -> types.Type:
    if field in ARRAYS:
        dtype, axes = ARRAYS[field]
        return types.Array(from_dtype(dtype), axes, "C")
    return _NUMBERS[field]


def _jitted(function: Any, done: dict[Callable[..., Any], Any]) -> Any:
    """Return a dispatcher for a function that sees its steps as such, as do they."""
    if function not in done:
        known = function.__globals__
        names = {read.argval for read in get_instructions(function) if read.opname == "LOAD_GLOBAL"}
        steps = {name: _jitted(known[name], done) for name in names if _is_step(known.get(name))}
        copy = FunctionType(function.__code__, known | steps, function.__name__)
        done[function] = njit(nogil=True, _nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)(copy)
    return done[function]


def _is_step(value: object) -> bool:
    return isinstance(value, FunctionType) and value in STEPS
