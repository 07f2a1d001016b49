"""The fields of a problem, and look-ups of its buffers and pools; rules between fields are checked elsewhere.

A rigid group is a set of buffers that `relative` keeps at fixed distances.
"""

from collections.abc import Container, Mapping
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    GetPydanticSchema,
    PlainSerializer,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
)
from pydantic_core import PydanticCustomError, core_schema

from memplan.planner.errors import LEFT_OUT, excerpt
from memplan.planner.errors.did_you_mean import closest_word, register_fields
from memplan.planner.model.buffer_table import BufferTable, parse_buffers
from memplan.planner.model.intervals import Interval
from memplan.planner.model.parts import validate_in_parts
from memplan.planner.model.rows import MAX_BYTES, Alignment, Buffer, Bytes, Id, Name, Value, object_or, tuple_from_list

Relatives = Mapping[int, tuple[Id, int]]
Roots = Mapping[int, tuple[int, int]]


def rigid_groups(relatives: Relatives, index: Mapping[Id, int], roots: Roots) -> Mapping[int, tuple[int, int]]:
    """Return (lowest buffer of the group, distance above it in bytes) for each buffer in a rigid group.

    The lowest buffer itself is included, with distance 0; of several lowest buffers, the first one counts. An alias is
    in no group, because the buffer that contains it represents it. References must not form a cycle.
    """
    above: dict[int, tuple[int, int]] = {}  # for each buffer: (chain's end, bytes above that end)
    for i in relatives:
        path = []
        while i in relatives and i not in above:
            path.append(i)
            i = target(relatives[i], index, roots)[0]
        at, distance = above.get(i, (i, 0))
        for j in reversed(path):
            distance += target(relatives[j], index, roots)[1]
            above[j] = (at, distance)
    members: dict[int, list[tuple[int, int]]] = {}
    for i, (at, distance) in above.items():
        members.setdefault(at, [(0, at)]).append((distance, i))
    groups: dict[int, tuple[int, int]] = {}
    for group in members.values():
        lowest, lead = min(group)
        groups.update({i: (lead, distance - lowest) for distance, i in group})
    return groups


def target(relative: tuple[Id, int], index: Mapping[Id, int], roots: Roots) -> tuple[int, int]:
    """Return the reference of a `relative` buffer: (a buffer that is not an alias, bytes above that buffer's start)."""
    name, distance = relative
    at = index[name]
    root, more = roots.get(at, (at, 0))
    return root, distance + more


ADDRESS_SPACE = 2**63
"""The end, in bytes, of a pool without a size; no supported runtime can address more."""
MAX_COST = 1e30
"""The maximum cost of moving one byte, so that sums of costs stay finite."""
MAX_REUSE_COST = 1_000_000_000
"""The maximum cost of a pair that shares bytes; a million such costs add up exactly in int64 and in double."""

PEAK_THEN_COST = ("peak", "cost")
_WORDS = {"type": "string", "enum": ["peak", "fit", "cost"]}
# Clients generated from the schema cannot read lists of mixed types, so both entries have the same type.
_PAIR = {"type": "array", "items": {"type": "string", "enum": ["peak", "cost"]}, "minItems": 2, "maxItems": 2}


def _validated_objective(value: Any, _: ValidatorFunctionWrapHandler) -> Any:
    """Return a valid objective; raises PydanticCustomError, with a suggestion, for any other value."""
    value = tuple_from_list(value)
    if value == PEAK_THEN_COST or (isinstance(value, str) and value in ("peak", "fit", "cost")):
        return value
    near = closest_word(value, ("peak", "fit", "cost")) if isinstance(value, str) else None
    advice = "" if near is None else f" (did you mean {near}?)"
    way = "" if near else LEFT_OUT
    rule = """must be 'peak', 'fit', 'cost' or ["peak", "cost"], got {shown}{advice}"""
    raise PydanticCustomError("rule", rule, {"shown": excerpt(value), "advice": advice, "way": way})


Objective = Annotated[
    Literal["peak", "fit", "cost"] | tuple[Literal["peak"], Literal["cost"]],
    WrapValidator(_validated_objective),
    WithJsonSchema({"anyOf": [_WORDS, _PAIR]}),
]
"""The quantity to minimise; ("peak", "cost") means the lowest cost among the plans of the lowest peak."""


def counts_cost(objective: Objective) -> bool:
    """Return True if an objective minimises costs."""
    return objective not in ("peak", "fit")


Profile = Literal["speed", "balanced", "size"]
"""The goal for several pools, in the words of compilers. `speed` (-O3) moves the fewest bytes in dear pools; `balanced`
takes the least of the last pool, then moves the fewest bytes in dear pools; `size` (-Os) takes the least of each pool,
from the last pool to the first."""
Range = Annotated[tuple[Bytes, Bytes], BeforeValidator(tuple_from_list)]
Pair = Annotated[tuple[Id, Id], BeforeValidator(tuple_from_list)]
Cost = Annotated[float, Field(ge=0, le=MAX_COST, allow_inf_nan=False)]
Ids = Annotated[tuple[Id, ...], Field(min_length=1), WrapValidator(validate_in_parts)]
Buffers = Annotated[
    BufferTable,
    GetPydanticSchema(
        lambda _source, _handler: core_schema.no_info_plain_validator_function(parse_buffers),
        lambda _schema, handler: handler(core_schema.list_schema(Buffer.__pydantic_core_schema__)),
    ),
    PlainSerializer(lambda table: [table.fields(i) for i in range(len(table))]),
]


class Pool(Value):
    """A memory of the machine, in which buffers are placed."""

    name: Name = "default"
    """The name, unique among the pools."""
    size: Annotated[int, Field(ge=0, lt=ADDRESS_SPACE)] | None = None
    """The capacity in bytes; with null, the pool is as large as the plan needs."""
    alignment: Alignment = 1
    """Addresses of buffers in this pool are multiples of this number of bytes."""
    base_address: Bytes = 0
    """The address of offset 0, such as 536870912 for a memory at 0x20000000."""
    cost: Cost = 0
    """The cost of one byte read from or written to this pool, by operations or, with `moves`, copies; for the objective
    `cost`."""
    reserved: Annotated[tuple[Range, ...], WrapValidator(validate_in_parts)] = ()
    """The ranges that no buffer may use, as [offset, size] in bytes, such as [[0, 1024]]."""
    bank_size: Alignment | None = None
    """A bank begins at each address that is a multiple of this number of bytes, for the problem's rules `bank`; by
    default, there are no banks."""
    device: Id | None = None
    """The number or name of the device, by default the CPU. It does not affect plans; C code is written only for pools
    of the CPU, such as `cpu`, and for those with a base address."""
    direct: bool = True
    """With `moves`, whether operations can use this pool; if not, as with flash or the memory of a GPU's host, buffers
    must be copied to another pool before they are used."""


register_fields("pools", Pool)


class BufferUse(Value):
    """The base class of the entries of a problem that name several buffers; subclasses state the requirement."""

    buffers: Ids
    """The names of the buffers."""


class BankUse(BufferUse):
    """Buffers that are used at the same step: no two of them may touch a common bank of a pool."""

    weight: Cost | None = None
    """With a weight, buffers may touch a common bank, but each such pair costs this much; without, none may."""


class ReuseCost(Value):
    """Pairs of buffers, each with a cost for sharing bytes: one after the other in one pool."""

    pairs: Annotated[tuple[Pair, ...], Field(min_length=1), WrapValidator(validate_in_parts)]
    """The pairs of names, such as [["a", "b"]]; the two buffers of a pair are never alive together."""
    cost: Annotated[int, Field(ge=1, le=MAX_REUSE_COST)]
    """What each pair costs whose buffers use the same bytes of a pool, one after the other."""

    @property
    def buffers(self) -> tuple[Id, ...]:
        """The distinct ids in the pairs."""
        return tuple(dict.fromkeys(chain.from_iterable(self.pairs)))

    def restrict(self, kept: Container[Id]) -> "ReuseCost | None":
        """Return the entry restricted to pairs within `kept`, or None if no pair remains."""
        pairs = tuple(pair for pair in self.pairs if pair[0] in kept and pair[1] in kept)
        return ReuseCost.model_construct(pairs=pairs, cost=self.cost) if pairs else None


class Moves(Value):
    """The rules for copies of buffers between pools."""

    lead: Annotated[int, Field(ge=0, le=2**62)] = 0
    """A copy begins this many time steps before the first access that uses it, and takes room from then on."""
    bytes_per_step: Annotated[int, Field(ge=1, le=MAX_BYTES)] | None = None
    """The copies that begin at one time step have at most this many bytes; by default, there is no limit."""


if TYPE_CHECKING:
    MovesOrBool = bool | Moves
else:
    MovesOrBool = object_or(bool, Moves)


class ProblemFields(Value):
    """The fields of a problem, each valid by itself; `Problem` checks that they are consistent with each other.

    Closed lifetimes are converted before anything reads them, so `interval` is half-open in every problem.
    """

    format: Literal["memplan/1"] | None = None
    """The name and version of the format, which may be left out."""
    name: str | None = None
    """A free text, which titles show."""
    interval: Interval = "half-open"
    """With `closed`, the end of a lifetime still belongs to it."""
    buffers: Buffers
    """The buffers to place."""
    conflicts: Annotated[tuple[Pair, ...], WrapValidator(validate_in_parts)] = ()
    """Pairs of buffers that must not share bytes although their lifetimes do not overlap."""
    may_share: Annotated[tuple[Pair, ...], WrapValidator(validate_in_parts)] = ()
    """Pairs of buffers that may start at the same offset although both are alive, such as the input and the output of
    an in-place operation."""
    bank: Annotated[tuple[BankUse, ...], WrapValidator(validate_in_parts)] = ()
    """Sets of buffers that must not touch a common bank, or pay for it."""
    reuse: Annotated[tuple[ReuseCost, ...], WrapValidator(validate_in_parts)] = ()
    """Pairs of buffers that pay for using the same bytes one after the other."""
    together: Annotated[tuple[Ids, ...], WrapValidator(validate_in_parts)] = ()
    """Lists of buffers that must lie in one pool."""
    same_offset: Annotated[tuple[Ids, ...], WrapValidator(validate_in_parts)] = ()
    """Lists of buffers in different pools that must have the same offset."""
    equal_use: bool = False
    """Every pool counts as if it used as many bytes as the fullest pool, as on cores that run the same program."""
    pools: Annotated[tuple[Pool, ...], WrapValidator(validate_in_parts)] = (Pool.model_construct(),)
    """The pools, in order of preference; by default, one pool named `default`, as large as the plan needs."""
    objective: Objective = "peak"
    """What is minimised: `peak` (bytes), `cost` (of moved bytes), `fit` (nothing: any plan that fits), or ["peak",
    "cost"] (the cheapest of the plans of the lowest peak)."""
    read_with: dict[str, Any] | None = None
    """The options with which the problem was read from another file, such as a model; they are applied already."""
    moves: MovesOrBool = False
    """Buffers may move between pools: each has pieces, which lie in one pool for a part of its lifetime, and copies. A
    copy costs its bytes times the sum of both pools' `cost`. `true` means a lead of 0 and no limit of bytes per step.
    The objective is then `cost`, also if it is left out."""

    @cached_property
    def index(self) -> Mapping[int | str, int]:
        """The position of each buffer, by its id."""
        return {name: i for i, name in enumerate(self.buffers.ids)}

    @cached_property
    def pool_index(self) -> Mapping[str, int]:
        """The position of each pool, by its name."""
        return {pool.name: i for i, pool in enumerate(self.pools)}

    def target(self, i: int) -> tuple[int, int]:
        """Return the reference of the `relative` buffer `i`: (a buffer that is not an alias, bytes above its start)."""
        return target(self.buffers.rules["relative"][i], self.index, self.roots)

    def allowed_pools(self, i: int) -> tuple[int, ...]:
        """Return the positions of the pools that buffer `i` may use, in the problem's order of preference."""
        names = set(self.buffers.pool_choices[int(self.buffers.pool_choice[i])]) or self.pool_index.keys()
        return tuple(
            sorted(self.pool_index[name] for name in names - set(self.buffers.rules["forbid_pools"].get(i, ())))
        )

    @cached_property
    def roots(self) -> Mapping[int, tuple[int, int]]:
        """For each alias, by position: (the outermost buffer that contains it, bytes above that buffer's start)."""
        roots: dict[int, tuple[int, int]] = {}
        for i in self.buffers.aliases:
            path = []
            while i in self.buffers.aliases and i not in roots:
                path.append(i)
                i = self.index[self.buffers.aliases[i][0]]
            at, distance = roots.get(i, (i, 0))
            for j in reversed(path):
                distance += self.buffers.aliases[j][1]
                roots[j] = (at, distance)
        return roots

    @cached_property
    def rigid_leads(self) -> Mapping[int, tuple[int, int]]:
        """For each buffer in a rigid group (fixed distances), by position: (lowest buffer, bytes above its start)."""
        return (
            rigid_groups(self.buffers.rules["relative"], self.index, self.roots)
            if self.buffers.rules["relative"]
            else {}
        )

    def root_of(self, name: int | str) -> int:
        """Return the position of a buffer or, for an alias, of the outermost buffer that contains it."""
        i = self.index[name]
        return self.roots.get(i, (i, 0))[0]
