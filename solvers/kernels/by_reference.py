"""Tuples of arrays by reference: what a kernel passes to its steps is one pointer for each of them.

numba passes a tuple by value, with all that it knows of its arrays: 300 numbers for the tables of the exact search.
Then every step has to be compiled into its callers, which takes a third longer, or gets 300 arguments.
"""

from __future__ import annotations

from typing import Any, TypeVar

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, overload, register_model

_Table = TypeVar("_Table")


def by_reference(table: _Table) -> _Table:
    """Return a NamedTuple of arrays and numbers as a reference, which lasts as long as the kernel that asks for it.

    Its fields can be read like those of the tuple. They stay as they are, so the compiler may read them when it likes.
    """
    return table


class Reference(types.Type):  # type: ignore[misc]  # numba has no types
    """A pointer to a tuple of this type."""

    def __init__(self, table: types.NamedTuple) -> None:
        self.table = table
        super().__init__(f"Reference({table})")


@register_model(Reference)
class _Pointer(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, reference: Reference) -> None:
        super().__init__(manager, reference, manager.lookup(reference.table).get_value_type().as_pointer())


@infer_getattr
class _Fields(AttributeTemplate):  # type: ignore[misc]
    key = Reference

    def generic_resolve(self, reference: Reference, field: str) -> types.Type:
        return reference.table.types[reference.table.fields.index(field)]


@lower_getattr_generic(Reference)  # type: ignore[untyped-decorator]
def _read_field(context: Any, builder: Any, reference: Reference, pointer: Any, field: str) -> Any:
    read = builder.load(cgutils.gep_inbounds(builder, pointer, 0, reference.table.fields.index(field)))
    read.set_metadata("invariant.load", builder.module.add_metadata([]))
    return read


@overload(by_reference, inline="always", strict=False)  # type: ignore[untyped-decorator]
def _by_reference(table: Any) -> Any:
    return lambda table: _referred_to(table)


@intrinsic  # type: ignore[untyped-decorator]
def _referred_to(typing: Any, table: types.NamedTuple) -> Any:
    def store(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = cgutils.alloca_once_value(builder, arguments[0])
        # No instructions, but for all the compiler knows this may write what is read later: nothing is read before.
        same = ir.FunctionType(pointer.type, [pointer.type])
        return builder.asm(same, "", "=r,0,~{memory}", [pointer], True)

    return Reference(table)(table), store
