"""The problem: buffers, memory pools, what must not share bytes, and what to minimise. The wire format itself."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    GetPydanticSchema,
    PlainSerializer,
    TypeAdapter,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import core_schema

from planner.errors import MAX_SHOWN, Location, broken, shown
from planner.rows import MAX_BYTES, Alignment, Buffer, Bytes, Id, Name, Row, as_tuple
from planner.table import BufferTable, parse_buffers, repeated

ADDRESS_SPACE = 2**63
"""Where a pool without a size ends, in bytes: no runtime of any client addresses more."""
MAX_COST = 1e30
"""The largest cost of moving one byte: sums of costs stay finite numbers."""

Objective = Literal["peak", "fit", "cost"]
Range = Annotated[tuple[Bytes, Bytes], BeforeValidator(as_tuple)]
Pair = Annotated[tuple[Id, Id], BeforeValidator(as_tuple)]
Buffers = Annotated[
    BufferTable,
    GetPydanticSchema(lambda _source, _handler: core_schema.no_info_plain_validator_function(parse_buffers)),
    PlainSerializer(lambda table: [table.fields(i) for i in range(len(table))]),
    WithJsonSchema({"type": "array", "items": TypeAdapter(Buffer).json_schema()}),
]


class Pool(Row):
    """A memory: `size` bytes (none: as many as needed), seen by the machine from `base_address` on.

    `reserved` lists (offset, size) ranges that belong to somebody else; `cost` is that of moving one byte.
    """

    name: Name = "default"
    size: Annotated[int, Field(ge=0, lt=ADDRESS_SPACE)] | None = None
    alignment: Alignment = 1
    base_address: Bytes = 0
    cost: Annotated[float, Field(ge=0, le=MAX_COST, allow_inf_nan=False)] = 0
    reserved: Annotated[tuple[Range, ...], BeforeValidator(as_tuple)] = ()


class Problem(Row):
    """Buffers to place in pools, which are in order of preference. Valid once it exists."""

    format: Literal["memplan/1"] | None = None
    name: str | None = None
    buffers: Buffers
    conflicts: Annotated[tuple[Pair, ...], BeforeValidator(as_tuple)] = ()
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
        breaks = [
            *self._repeats(),
            *self._unknown_pools(),
            *self._unpinnable(),
            *self._unknown_conflicts(),
        ]
        if not breaks:
            breaks = self._broken_aliases() or self._conflicting_families()
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
        names = self.buffers.pool_choices[int(self.buffers.pool_choice[i])]
        return tuple(sorted(self.pool_index[name] for name in names)) if names else tuple(range(len(self.pools)))

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
        return [
            (
                ("buffers", i, "offset"),
                f"must come with the one pool it is meant for, got {len(names)} pools to choose from",
            )
            for i in (self.buffers.offset >= 0).nonzero()[0].tolist()
            if len(set(names := choices[int(self.buffers.pool_choice[i])] or tuple(self.pool_index))) != 1
        ]

    def _unknown_conflicts(self) -> list[tuple[Location, str]]:
        if not self.conflicts:
            return []
        return [
            (("conflicts", k, side), f"must be the id of a buffer, got {shown(name)}")
            for k, pair in enumerate(self.conflicts)
            for side, name in enumerate(pair)
            if name not in self.index
        ]

    def _conflicting_families(self) -> list[tuple[Location, str]]:
        if not self.buffers.aliases:
            return []
        root = {i: at for i, (at, _) in self.roots.items()}
        pairs = ((k, self.index[a], self.index[b]) for k, (a, b) in enumerate(self.conflicts))
        return [
            (("conflicts", k), f"must not pair a buffer with its own alias, got {shown(self.conflicts[k])}")
            for k, a, b in pairs
            if a != b and root.get(a, a) == root.get(b, b)
        ]

    def _broken_aliases(self) -> list[tuple[Location, str]]:
        breaks: list[tuple[Location, str]] = []
        sizes, aliases = self.buffers.size, self.buffers.aliases
        for i, (target, distance) in aliases.items():
            if target not in self.index:
                breaks.append((("buffers", i, "alias_of"), f"must be the id of a buffer, got {shown(target)}"))
            elif (end := distance + int(sizes[i])) > (room := int(sizes[self.index[target]])):
                rule = f"must end inside {shown(target)} ({room} bytes), got an end at {end}"
                breaks.append((("buffers", i, "alias_offset"), rule))
        return breaks or [
            (("buffers", i, "alias_of"), f"must not lead back to itself, got {shown(aliases[i][0])}")
            for i in sorted(self._in_cycles())
        ]

    def _in_cycles(self) -> set[int]:
        """Return the aliases that live inside themselves; every alias is looked at once."""
        found: set[int] = set()
        done: set[int] = set()
        for i in self.buffers.aliases:
            path: dict[int, int] = {}
            while i in self.buffers.aliases and i not in done:
                done.add(i)
                path[i] = len(path)
                i = self.index[self.buffers.aliases[i][0]]
            if i in path:
                found.update(list(path)[path[i] :])
        return found


__all__ = ["ADDRESS_SPACE", "MAX_BYTES", "Buffer", "Objective", "Pool", "Problem"]
