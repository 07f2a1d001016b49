"""The statements in a function's body, in the wire format `operations`.

A statement has exactly one of the fields `op`, `call`, `branches`, `loop`, `alloc` and `free`, which determines its
kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, TypeAlias

from pydantic import Field, ValidatorFunctionWrapHandler, WrapValidator
from pydantic_core import PydanticCustomError

from memplan.planner.errors import Location, excerpt
from memplan.planner.errors.did_you_mean import register_fields
from memplan.planner.model.parts import validate_in_parts
from memplan.planner.model.rows import Name, WireValue

Names = Annotated[tuple[Name, ...], WrapValidator(validate_in_parts)]
SomeNames = Annotated[tuple[Name, ...], Field(min_length=1), WrapValidator(validate_in_parts)]


class Operation(WireValue):
    """An operation: it reads its inputs and writes its outputs.

    All buffers that it names are in use until it ends.
    """

    op: Name
    """The name of the operation, such as `conv`."""
    inputs: Names = ()
    """The buffers that it reads, changes in place, or writes in part."""
    outputs: Names = ()
    """The buffers that it writes; one that is not an input as well is overwritten completely."""
    temporaries: Names = ()
    """The buffers that it needs only while it runs."""
    body: Body = ()
    """The statements that run inside the operation, one after another; buffers named only there are alive only between
    their uses."""
    has_effects: bool = False
    """True if it stays in order with all others that have effects: it prints, draws random numbers, or accesses state
    that is not in a buffer."""


class Call(WireValue):
    """A call of a function."""

    call: Name
    """The name of the function."""
    inputs: Names = ()
    """The buffers that are bound to its params, in order."""
    outputs: Names = ()
    """The buffers that are bound to its results, in order."""


class Branches(WireValue):
    """A choice: exactly one of the branches runs."""

    branches: Annotated[tuple[Body, ...], Field(min_length=1), WrapValidator(validate_in_parts)]
    """The statements of each branch; a branch may be empty."""
    inputs: Names = ()
    """The buffers that determine the choice, which are read before it."""


class Repetition(WireValue):
    """A loop."""

    loop: Body
    """The statements of its body."""
    trips: Annotated[int, Field(ge=1, le=2**63 - 1)] | None = None
    """The number of times that the body runs; by default, any number of times, including zero."""


class Alloc(WireValue):
    """A statement at which the scope of the named buffers begins."""

    alloc: SomeNames
    """The ids of the buffers."""


class Free(WireValue):
    """A statement at which the scope of the named buffers ends."""

    free: SomeNames
    """The ids of the buffers."""


_KINDS: Mapping[str, type[WireValue]] = {
    "op": Operation,
    "call": Call,
    "branches": Branches,
    "loop": Repetition,
    "alloc": Alloc,
    "free": Free,
}


def _validate_by_kind(value: Any, _handler: ValidatorFunctionWrapHandler) -> Any:
    """Validate a statement as the kind that its fields determine; errors then do not mention other kinds."""
    if isinstance(value, tuple(_KINDS.values())):
        return value
    keys = value if isinstance(value, Mapping) else ()
    kinds = [kind for kind in _KINDS if kind in keys]
    if len(kinds) != 1:
        raise PydanticCustomError(
            "rule",
            "must be an object with one of op, call, branches, loop, alloc and free, got {shown}",
            {"shown": excerpt(value)},
        )
    return _KINDS[kinds[0]].model_validate(value)


Statement: TypeAlias = Operation | Call | Branches | Repetition | Alloc | Free
Body = Annotated[tuple[Annotated[Statement, WrapValidator(_validate_by_kind)], ...], WrapValidator(validate_in_parts)]

for _model in (Operation, Branches, Repetition):
    _model.model_rebuild()
register_fields("body", *_KINDS.values())


def nested_blocks(statement: Statement) -> list[tuple[Location, tuple[Statement, ...]]]:
    """Return the statement lists directly inside a statement, each with its location within that statement."""
    if isinstance(statement, Operation):
        return [(("body",), statement.body)] if statement.body else []
    if isinstance(statement, Repetition):
        return [(("loop",), statement.loop)]
    if isinstance(statement, Branches):
        return [(("branches", k), branch) for k, branch in enumerate(statement.branches)]
    return []


def walk_statements(body: tuple[Statement, ...], location: Location) -> Iterator[tuple[Location, Statement]]:
    """Yield the statements of a body with their locations, in program order, each before its nested statements."""
    stack = [iter([((*location, k), statement) for k, statement in enumerate(body)])]
    while stack:
        item = next(stack[-1], None)
        if item is None:
            stack.pop()
            continue
        yield item
        where, statement = item
        inside = [
            ((*where, *block, k), inner) for block, inners in nested_blocks(statement) for k, inner in enumerate(inners)
        ]
        if inside:
            stack.append(iter(inside))


def named_buffers(statement: Statement) -> Iterator[tuple[str, int, str]]:
    """Yield (field, index, name) for each buffer that a statement itself names, without its nested statements."""
    known = type(statement).model_fields  # Calling getattr for a missing field is slow, so check known fields first.
    for field in ("inputs", "outputs", "temporaries", "alloc", "free"):
        for k, name in enumerate(getattr(statement, field) if field in known else ()):
            yield field, k, name


def flatten_tuples(statement: Statement, fields: Mapping[str, tuple[str, ...]]) -> Statement:
    """Return a copy of a statement, and of its nested statements, in which tuples are replaced by their buffers."""
    update: dict[str, Any] = {
        field: tuple(part for name in getattr(statement, field) for part in fields.get(name, (name,)))
        for field in ("inputs", "outputs")
        if field in type(statement).model_fields
    }
    for (field, *_), inner in nested_blocks(statement):
        spread = tuple(flatten_tuples(each, fields) for each in inner)
        update[str(field)] = (*update.get("branches", ()), spread) if field == "branches" else spread
    return statement.model_copy(update=update)
