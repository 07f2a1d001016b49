"""The problem: buffers, memory pools, what must not share bytes, and what to minimise. The wire format itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    GetPydanticSchema,
    PlainSerializer,
    model_validator,
)
from pydantic_core import core_schema

from planner import relations
from planner.errors import MAX_SHOWN, Location, broken, shown
from planner.repeats import repeated
from planner.rigid import rigid_groups
from planner.rows import MAX_BYTES, Alignment, Buffer, Bytes, Id, Name, Row, as_tuple
from planner.table import BufferTable, parse_buffers

ADDRESS_SPACE = 2**63
"""Where a pool without a size ends, in bytes: no runtime of any client addresses more."""
MAX_COST = 1e30
"""The largest cost of moving one byte: sums of costs stay finite numbers."""

Objective = Literal["peak", "fit", "cost"]
Range = Annotated[tuple[Bytes, Bytes], BeforeValidator(as_tuple)]
Pair = Annotated[tuple[Id, Id], BeforeValidator(as_tuple)]
Cost = Annotated[float, Field(ge=0, le=MAX_COST, allow_inf_nan=False)]
Ids = Annotated[tuple[Id, ...], BeforeValidator(as_tuple), Field(min_length=1)]
Buffers = Annotated[
    BufferTable,
    GetPydanticSchema(
        lambda _source, _handler: core_schema.no_info_plain_validator_function(parse_buffers),
        lambda _schema, handler: handler(core_schema.list_schema(Buffer.__pydantic_core_schema__)),
    ),
    PlainSerializer(lambda table: [table.fields(i) for i in range(len(table))]),
]


class Pool(Row):
    """A memory: `size` bytes (none: as many as needed), seen by the machine from `base_address` on.

    `reserved` lists (offset, size) ranges that belong to somebody else; `cost` is that of moving one byte. A new bank
    begins at each multiple of `bank_size` among its addresses.
    """

    name: Name = "default"
    size: Annotated[int, Field(ge=0, lt=ADDRESS_SPACE)] | None = None
    alignment: Alignment = 1
    base_address: Bytes = 0
    cost: Cost = 0
    reserved: Annotated[tuple[Range, ...], BeforeValidator(as_tuple)] = ()
    bank_size: Alignment | None = None


class BankUse(Row):
    """Buffers that are used at one step: every two of them in a pool with banks must touch no common bank.

    With a `weight` they only should: each pair that does costs so much.
    """

    buffers: Ids
    weight: Cost | None = None


class Problem(Row):
    """Buffers to place in pools, which are in order of preference. Valid once it exists.

    `conflicts` and `may_share` are pairs: those that may not share bytes, and those that may start at one offset
    although they are alive together. The buffers of each entry of `together` lie in one pool.
    """

    format: Literal["memplan/1"] | None = None
    name: str | None = None
    buffers: Buffers
    conflicts: Annotated[tuple[Pair, ...], BeforeValidator(as_tuple)] = ()
    may_share: Annotated[tuple[Pair, ...], BeforeValidator(as_tuple)] = ()
    bank: Annotated[tuple[BankUse, ...], BeforeValidator(as_tuple)] = ()
    together: Annotated[tuple[Ids, ...], BeforeValidator(as_tuple)] = ()
    pools: Annotated[tuple[Pool, ...], BeforeValidator(as_tuple)] = (Pool(),)
    objective: Objective = "peak"

    @model_validator(mode="before")
    @classmethod
    def _without_pools_there_is_one(cls, data: Any) -> Any:
        if isinstance(data, Mapping) and "pools" in data and data["pools"] in ([], (), None):
            return {key: value for key, value in data.items() if key != "pools"}
        return data

    @model_validator(mode="after")
    def _names_what_exists(self) -> Problem:
        breaks = [*self._repeats(), *self._unknown_pools(), *self._unpinnable(), *_some(relations.unknown_names(self))]
        # Each of these relies on what those before it have found to be sound.
        for rule in (relations.too_much, relations.broken_aliases, relations.broken_relatives, relations.broken_pairs):
            breaks = breaks or _some(rule(self))
        if breaks:
            broken(*breaks[: MAX_SHOWN + 1])
        return self

    @cached_property
    def index(self) -> Mapping[int | str, int]:
        """From a buffer's id to its position."""
        return {name: i for i, name in enumerate(self.buffers.ids)}

    @cached_property
    def pool_index(self) -> Mapping[str, int]:
        """From a pool's name to its position."""
        return {pool.name: i for i, pool in enumerate(self.pools)}

    def allowed_pools(self, i: int) -> tuple[int, ...]:
        """Return the positions of the pools that buffer `i` may live in, in the problem's order of preference."""
        names = set(self.buffers.pool_choices[int(self.buffers.pool_choice[i])]) or self.pool_index.keys()
        return tuple(sorted(self.pool_index[name] for name in names - set(self.buffers.forbidden.get(i, ()))))

    @cached_property
    def roots(self) -> Mapping[int, tuple[int, int]]:
        """From an alias's position to (position of the buffer it finally lives in, bytes from that one's start)."""
        found: dict[int, tuple[int, int]] = {}
        for i in self.buffers.aliases:
            path = []
            while i in self.buffers.aliases and i not in found:
                path.append(i)
                i = self.index[self.buffers.aliases[i][0]]
            at, distance = found.get(i, (i, 0))
            for j in reversed(path):
                distance += self.buffers.aliases[j][1]
                found[j] = (at, distance)
        return found

    @cached_property
    def rigid(self) -> Mapping[int, tuple[int, int]]:
        """From each buffer that `relative` joins with others to (the lowest of them, bytes above it), as positions."""
        return rigid_groups(self) if self.buffers.relatives else {}

    def root_of(self, name: int | str) -> int:
        """Return the position of a buffer, or of the one that it lives in."""
        i = self.index[name]
        return self.roots.get(i, (i, 0))[0]

    def _repeats(self) -> list[tuple[Location, str]]:
        names = [pool.name for pool in self.pools]
        return [
            ((kind, i, key), f"must be unique, got {shown(ids[i])} again (first at {kind}[{first}])")
            for kind, key, ids in (("buffers", "id", self.buffers.ids), ("pools", "name", names))
            for first, i in repeated(ids)
        ]

    def _unknown_pools(self) -> list[tuple[Location, str]]:
        choices = self.buffers.pool_choices
        wrong = {k for k, names in enumerate(choices) if not set(names) <= self.pool_index.keys()}
        if not wrong:
            return []
        return [
            (("buffers", i, "pools", j), f"must name a pool of the problem, got {shown(name)}")
            for i, choice in enumerate(self.buffers.pool_choice.tolist())
            if choice in wrong
            for j, name in enumerate(choices[choice])
            if name not in self.pool_index
        ]

    def _unpinnable(self) -> list[tuple[Location, str]]:
        if len(self.pools) == 1:
            return []
        choices = self.buffers.pool_choices
        breaks: list[tuple[Location, str]] = []
        for i in (self.buffers.offset >= 0).nonzero()[0].tolist():
            names = set(choices[int(self.buffers.pool_choice[i])] or self.pool_index)
            count = len(names.difference(self.buffers.forbidden.get(i, ())))
            if count > 1:
                rule = f"must come with the one pool it is meant for, got {count} pools to choose from"
                breaks.append((("buffers", i, "offset"), rule))
        return breaks


def _some(breaks: Iterator[tuple[Location, str]]) -> list[tuple[Location, str]]:
    return list(islice(breaks, MAX_SHOWN + 1))


__all__ = ["ADDRESS_SPACE", "MAX_BYTES", "Buffer", "Objective", "Pool", "Problem"]
