"""Programs in the wire format `operations`: functions of ordered statements, which determine lifetimes of buffers."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from math import prod
from typing import Annotated, Literal

from pydantic import Field, ValidationError, WrapValidator, model_validator

from memplan.planner.errors import (
    MAX_SHOWN,
    ONE_OF_THEM,
    Break,
    Location,
    OperationsError,
    buffer_name_rule,
    duplicate_rule,
    excerpt,
    raise_rules,
    sentences,
    unique_rule,
)
from memplan.planner.model.columns import repeated_positions
from memplan.planner.model.parts import entries_in_parts, validate_in_parts
from memplan.planner.model.problem import Objective, Pool
from memplan.planner.model.rows import MAX_BYTES, Alignment, Bytes, Name, PoolNames, WireValue
from memplan.programs.operations.graph_facts import Shape, bits_of
from memplan.programs.operations.statements import (
    Alloc,
    Body,
    Call,
    Free,
    Names,
    SomeNames,
    flatten_tuples,
    named_buffers,
    walk_statements,
)

OrderStatus = Literal["final", "tentative"]
_MOST_NAMES, _MOST_FIELDS = 1_000_000, 1_000
"""The maximum number of buffers named in a function, and in one tuple, because nested tuples grow exponentially."""


class DeclaredBuffer(WireValue):
    """A buffer of a function; its bytes are given as `size`, or as `dtype` and `shape`."""

    id: Name
    """The name of the buffer, unique in its function."""
    size: Bytes | None = None
    """The size in bytes."""
    dtype: Name | None = None
    """The type of an element, such as `int8`; elements smaller than a byte are packed, but a bool takes a byte."""
    shape: Shape | None = None
    """The size of each axis, such as [1, 96, 96, 3]."""
    alignment: Alignment = 1
    """The address of the buffer is a multiple of this number of bytes."""
    pools: PoolNames | None = None
    """The names of the pools in which the buffer may be placed; by default, all pools."""
    alias_of: Name | None = None
    """The buffer of which this one is a view."""
    alias_offset: Bytes = 0
    """The bytes from the start of `alias_of` to the start of this buffer."""
    persistent: bool = False
    """True if the buffer keeps its content for as long as the program runs."""

    @model_validator(mode="after")
    def _require_size(self) -> DeclaredBuffer:
        """Return the buffer; raise a validation error unless `size`, or `dtype` and `shape`, give a valid size."""
        if self.size is not None and (self.dtype is not None or self.shape is not None):
            raise_rules((("size",), "must not be given together with dtype and shape"), way=ONE_OF_THEM)
        if self.size is None and (self.dtype is None or self.shape is None):
            raise_rules((("size",), "is required unless dtype and shape are both given"))
        if self.dtype is not None and bits_of(self.dtype) is None:
            raise_rules(
                (("dtype",), f"must be a type such as int8, float32, int4 or float32x4, got {excerpt(self.dtype)}")
            )
        if self.bytes > MAX_BYTES:
            raise_rules((("shape",), f"must take at most {MAX_BYTES} bytes, got {self.bytes}"))
        if self.alias_offset and self.alias_of is None:
            raise_rules((("alias_offset",), "must not be given without alias_of"))
        if self.alias_of is not None and self.persistent:
            rule = "must not be given together with alias_of: the aliased buffer determines it"
            raise_rules((("persistent",), rule), way=ONE_OF_THEM)
        return self

    @cached_property
    def bytes(self) -> int:
        """The size in bytes; elements smaller than a byte are packed, except that a bool takes a whole byte."""
        if self.size is not None:
            return self.size
        return (prod(self.shape or ()) * (bits_of(self.dtype or "") or 0) + 7) // 8


class Function(WireValue):
    """A function: its buffers, and its statements in order."""

    params: Names = ()
    """The buffers that a caller passes; for the entry, the inputs of the program."""
    results: Names = ()
    """The buffers that a caller passes for the results; one that is a param as well is changed in place. For the entry,
    the outputs of the program."""
    constants: Names = ()
    """The buffers that are never written, such as weights; they are counted, but not planned."""
    buffers: Annotated[tuple[DeclaredBuffer, ...], WrapValidator(validate_in_parts)] = ()
    """All buffers of the function."""
    body: Body = ()
    """The statements, in order."""
    tuples: Annotated[dict[Name, SomeNames], WrapValidator(entries_in_parts)] = Field(default_factory=dict)
    """Names for several buffers or earlier tuples, such as {"both": ["a", "b"]}. Among inputs, outputs and results,
    `both` denotes all its buffers, and `both[1]` is b; it takes no bytes itself."""

    @model_validator(mode="after")
    def _expand_and_check_names(self) -> Function:
        """Return the function with tuples replaced by their buffers; raise a validation error for any broken rule."""
        if self.tuples:
            fields = self._buffers_by_name
            names = (name for _, each in walk_statements(self.body, ()) for _, _, name in named_buffers(each))
            if sum(len(fields.get(name, (name,))) for name in names) > _MOST_NAMES:
                raise_rules((("body",), f"must name at most {_MOST_NAMES} buffers once tuples are expanded"))
            for field, spread in (
                ("results", tuple(dict.fromkeys(each for name in self.results for each in fields.get(name, (name,))))),
                ("body", tuple(flatten_tuples(statement, fields) for statement in self.body)),
            ):
                object.__setattr__(self, field, spread)
        breaks = [*self._buffer_violations(), *self._list_violations(), *self._statement_violations()]
        if breaks:
            raise_rules(*breaks[: MAX_SHOWN + 1])
        return self

    @cached_property
    def declarations(self) -> dict[str, DeclaredBuffer]:
        """The declaration of each buffer, by the buffer's id."""
        return {buffer.id: buffer for buffer in self.buffers}

    def fields_of(self, name: str) -> tuple[str, ...]:
        """Return the buffers that a name denotes: all buffers of a tuple, or the buffer itself."""
        return self._buffers_by_name.get(name, (name,))

    @cached_property
    def _buffers_by_name(self) -> dict[str, tuple[str, ...]]:
        """Return the buffers that each name denotes: a buffer, a tuple, or `name[k]`, the k-th buffer of a tuple."""
        fields: dict[str, tuple[str, ...]] = {row.id: (row.id,) for row in self.buffers}
        for name, parts in self.tuples.items():
            if name in self.declarations:
                raise_rules((("tuples", name), "must not be the id of a buffer"))
            for k, part in enumerate(parts):
                if part not in fields:
                    raise_rules(
                        (("tuples", name, k), buffer_name_rule(part, "must be the id of a buffer or a tuple before it"))
                    )
            if sum(len(fields[part]) for part in parts) > _MOST_FIELDS:
                raise_rules((("tuples", name), f"must have at most {_MOST_FIELDS} buffers"))
            fields[name] = spread = tuple(each for part in parts for each in fields[part])
            for k, each in enumerate(spread):
                fields.setdefault(f"{name}[{k}]", (each,))
        return fields

    @cached_property
    def temporaries(self) -> tuple[str, ...]:
        """The temporaries of the function: all its buffers except parameters, results, constants and aliases."""
        others = {*self.params, *self.results, *self.constants}
        return tuple(row.id for row in self.buffers if row.id not in others and row.alias_of is None)

    def _buffer_violations(self) -> Iterator[Break]:
        """Yield the broken rules of the buffers, such as repeated ids and aliases of unknown buffers."""
        for first, i in repeated_positions([row.id for row in self.buffers]):
            yield ("buffers", i, "id"), unique_rule(excerpt(self.buffers[i].id), f"at buffers[{first}]")
        for i, row in enumerate(self.buffers):
            if row.alias_of is None:
                continue
            inside = self.declarations.get(row.alias_of)
            end = row.alias_offset + row.bytes
            if inside is None:
                yield ("buffers", i, "alias_of"), buffer_name_rule(row.alias_of)
            elif inside.alias_of is not None:
                yield (
                    ("buffers", i, "alias_of"),
                    f"must name a buffer that is not an alias, got {excerpt(row.alias_of)}",
                )
            elif end > inside.bytes:
                rule = f"must end inside {excerpt(row.alias_of)} ({inside.bytes} bytes), got an end at {end}"
                yield ("buffers", i, "alias_offset"), rule

    def _list_violations(self) -> Iterator[Break]:
        """Yield the broken rules of the lists of params, results and constants."""
        for field in ("params", "results", "constants"):
            names: tuple[str, ...] = getattr(self, field)
            for first, k in repeated_positions(names):
                yield (field, k), duplicate_rule(excerpt(names[k]), f"{field}[{first}]")
            for k, name in enumerate(names):
                if name not in self.declarations:
                    yield (field, k), buffer_name_rule(name)
                elif field != "results" and self.declarations[name].alias_of is not None:
                    yield (field, k), f"must not be an alias, got {excerpt(name)}"
                elif field == "constants" and name in (*self.params, *self.results):
                    yield (field, k), f"must be neither a param nor a result, got {excerpt(name)}"

    def _statement_violations(self) -> Iterator[Break]:
        """Yield the broken rules of the statements, such as unknown buffers and writes to constants."""
        own, constants = set(self.temporaries), set(self.constants)
        for where, statement in walk_statements(self.body, ("body",)):
            for field, k, name in named_buffers(statement):
                if name not in self.declarations:
                    yield (*where, field, k), buffer_name_rule(name, "must be the id of a buffer of the function")
                elif field == "outputs" and name in constants:
                    yield (*where, field, k), f"must not be a constant, got {excerpt(name)}"
                elif field not in ("inputs", "outputs") and name not in own:
                    rule = "must belong to the function itself and not be a param, result, constant or alias"
                    yield (*where, field, k), f"{rule}, got {excerpt(name)}"
                elif isinstance(statement, (Alloc, Free)) and self.declarations[name].persistent:
                    yield (*where, field, k), f"must not be persistent, got {excerpt(name)}"


class Operations(WireValue):
    """A program, from whose operations the lifetimes of its buffers are derived."""

    format: Literal["memplan-operations/1"] | None = None
    """The name of this format."""
    name: str | None = None
    """The name of the program."""
    entry: Name = "main"
    """The name of the function that runs first."""
    order: OrderStatus = "final"
    """`tentative` if the order of operations may change, else `final`."""
    functions: Annotated[dict[Name, Function], WrapValidator(entries_in_parts)]
    """The functions, by name."""
    pools: Annotated[tuple[Pool, ...], Field(min_length=1), WrapValidator(validate_in_parts)] = (Pool(),)
    """The pools for the buffers, as in a problem."""
    objective: Objective = "peak"
    """What plans minimise, as in a problem."""

    @model_validator(mode="after")
    def _require_existing_functions(self) -> Operations:
        """Return the program; raise a validation error for broken rules of names and calls, and for cycles of calls."""
        breaks = [*self._name_violations()]
        for name, function in self.functions.items():
            for where, statement in walk_statements(function.body, ("functions", name, "body")):
                if isinstance(statement, Call):
                    breaks += self._call_violations(where, function, statement)
        breaks += [] if breaks else self._call_cycle()
        if breaks:
            raise_rules(*breaks[: MAX_SHOWN + 1])
        return self

    def _name_violations(self) -> Iterator[Break]:
        """Yield the broken rules of the names of the entry function and of pools."""
        if self.entry not in self.functions:
            some = ", ".join(map(excerpt, [*self.functions][:3]))
            yield ("entry",), f"must name a function{f' ({some})' if some else ''}, got {excerpt(self.entry)}"
        names = {pool.name for pool in self.pools}
        for first, k in repeated_positions([pool.name for pool in self.pools]):
            yield ("pools", k, "name"), unique_rule(excerpt(self.pools[k].name), f"at pools[{first}]")
        for name, function in self.functions.items():
            for i, row in enumerate(function.buffers):
                for k, pool in enumerate(row.pools or ()):
                    if pool not in names:
                        place = ("functions", name, "buffers", i, "pools", k)
                        yield place, f"must name a pool of the operations, got {excerpt(pool)}"

    def _call_violations(self, where: Location, caller: Function, call: Call) -> Iterator[Break]:
        """Yield the broken rules of a call: its buffers must match the called function's params and results."""
        callee = self.functions.get(call.call)
        if callee is None:
            yield (*where, "call"), f"must name a function, got {excerpt(call.call)}"
            return
        bindings: dict[str, str] = {}
        for field, formals, actuals in (
            ("inputs", callee.params, call.inputs),
            ("outputs", callee.results, call.outputs),
        ):
            if len(formals) != len(actuals):
                what = "params" if field == "inputs" else "results"
                rule = f"must have as many as the {what} of {excerpt(call.call)} ({len(formals)}), got {len(actuals)}"
                yield (*where, field), rule
            for k, (formal, actual) in enumerate(zip(formals, actuals, strict=False)):
                wanted = callee.declarations[formal]
                if bindings.setdefault(formal, actual) != actual:
                    rule = f"must be {excerpt(bindings[formal])}, as {excerpt(call.call)} returns that param"
                    yield (*where, field, k), f"{rule}, got {excerpt(actual)}"
                elif wanted.alias_of is not None or wanted.persistent:
                    rule = f"must not be bound to an alias or a persistent buffer of {excerpt(call.call)}"
                    yield (*where, field, k), f"{rule}, got {excerpt(formal)}"
                elif actual in caller.declarations and caller.declarations[actual].bytes < wanted.bytes:
                    rule = f"must have the bytes that {excerpt(call.call)} needs for {excerpt(formal)} ({wanted.bytes})"
                    yield (*where, field, k), f"{rule}, got {caller.declarations[actual].bytes}"

    def _call_cycle(self) -> list[Break]:
        """Return the broken rule of one cycle of calls, or an empty list; a program with a cycle cannot be planned."""
        called = {name: [callee for _, callee in self.calls(name)] for name in self.functions}
        try:
            TopologicalSorter(called).prepare()
        except CycleError as error:
            # The error lists callees before callers and repeats one function, so reverse the list and drop one end.
            cycle: list[str] = error.args[1][:0:-1]
            first = min(range(len(cycle)), key=lambda k: list(called).index(cycle[k]))
            names = [*cycle[first:], *cycle[: first + 1]]
            where = next(where for where, callee in self.calls(names[-2]) if callee == names[-1])
            return [((*where, "call"), f"must not close a cycle of calls, got {' -> '.join(names)}")]
        return []

    @cached_property
    def callees(self) -> dict[str, tuple[str, ...]]:
        """The functions that each function calls, once for each call; callees come before their callers in the map."""
        callees = {name: tuple(callee for _, callee in self.calls(name)) for name in self.functions}
        return {name: callees[name] for name in TopologicalSorter(callees).static_order()}

    def calls(self, name: str) -> Iterator[tuple[Location, str]]:
        """Yield the location and the called function of each call in a function."""
        for where, statement in walk_statements(self.functions[name].body, ("functions", name, "body")):
            if isinstance(statement, Call):
                yield where, statement.call


def operations_from(value: object) -> Operations:
    """Return the program in a parsed JSON value; raises OperationsError if it is invalid."""
    try:
        return Operations.model_validate(value)
    except ValidationError as error:
        raise OperationsError(*sentences(error, fields=Operations.model_fields)) from error
