"""The rows of the wire format (a problem's buffer and a plan's placement) and their base classes."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    ValidationError,
    WithJsonSchema,
    WrapValidator,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from memplan.planner.errors import (
    ONE_OF_THEM,
    TYPE_STEP,
    Break,
    InputError,
    OptionError,
    PlanError,
    ProblemError,
    Sentence,
    add_way,
    buffer_name_rule,
    excerpt,
    raise_rules,
    sentences,
    sentences_of_options,
)
from memplan.planner.errors.did_you_mean import did_you_mean, register_fields, word_table
from memplan.planner.extensions import extensions
from memplan.planner.model.field_docs import DescribedFields
from memplan.planner.model.parts import drop_unknown_fields, validate_in_parts

MAX_BYTES = 2**62
"""The maximum of sizes, alignments, traffic, base addresses and offsets in a problem, in bytes."""
MIN_TIME, MAX_TIME = -(2**63), 2**63 - 1
"""The range of time steps: all 64-bit integers."""
_BOTH = "give both, or lifetimes, as [[0, 3]]"


def _validated_id(value: object) -> int | str:
    """Return a valid id, either a non-empty string or an integer; raises PydanticCustomError for any other value."""
    if isinstance(value, str) and value:
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    rule = "must be a non-empty string or an integer"
    if isinstance(value, Mapping) and "id" in value:
        rule = f"must be the id alone, {excerpt(value['id'])}"
        if "offset" in value:
            rule += f", with alias_offset {excerpt(value['offset'])} beside alias_of"
    got = f"bytes, {value!r}" if isinstance(value, bytes) else excerpt(value)
    way = 'write a name, as "conv1", or a number' if rule.startswith("must be a ") else ""
    raise PydanticCustomError("rule", "{rule}, got {got}", {"rule": rule, "got": got, "way": way})


def tuple_from_list(value: Any) -> Any:
    """Return a JSON list as a tuple, for fields that require a tuple; return any other value unchanged."""
    return tuple(value) if isinstance(value, list) else value


Id = Annotated[
    int | str,
    PlainValidator(_validated_id),
    WithJsonSchema({"anyOf": [{"type": "string", "minLength": 1}, {"type": "integer"}]}),
]
Time = Annotated[int, Field(ge=MIN_TIME, le=MAX_TIME)]
Bytes = Annotated[int, Field(ge=0, le=MAX_BYTES)]
Alignment = Annotated[int, Field(ge=1, le=MAX_BYTES)]
Name = Annotated[str, Field(min_length=1)]
Interval = Annotated[tuple[Time, Time], BeforeValidator(tuple_from_list)]
Lifetimes = Annotated[tuple[Interval, ...], WrapValidator(validate_in_parts)]
PoolNames = Annotated[tuple[Name, ...], Field(min_length=1), WrapValidator(validate_in_parts)]
Shift = Annotated[int, Field(ge=-MAX_BYTES, le=MAX_BYTES)]


class WireValue(DescribedFields, BaseModel):
    """The base class of all values in the wire format: frozen, exact types, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)

    if not TYPE_CHECKING:

        @classmethod
        def model_validate(cls, obj: Any, **options: Any) -> "WireValue":
            """Return the value of a mapping; if it has many unknown fields, the error names only some of them."""
            return super().model_validate(drop_unknown_fields(obj, cls.model_fields), **options)

        def __getattr__(self, name: str) -> Any:
            """Raise AttributeError, with a suggestion of the attribute that was probably meant."""
            fields, is_own = type(self).model_fields, name.startswith("_")  # Pydantic looks up private names.
            hint = "" if is_own else did_you_mean(name, fields, word_table("attributes"), 0.75)
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint}")


class Value(WireValue):
    """The base class of the parts of problems and plans; invalid values raise `error`, one sentence per broken rule.

    Integers of numpy are accepted where the wire format has integers. `repr` omits fields with default values, and
    shows only the number of entries of long sequences.
    """

    error: ClassVar[type[InputError]] = ProblemError

    if not TYPE_CHECKING:  # type checkers must see pydantic's signatures instead, so hide these methods

        def __init__(self, /, *given: Any, **fields: Any) -> None:
            """Validate the fields, which must be given by name; raise the class's `error` for broken rules."""
            if given:
                kind, fields_of = type(self).__name__, type(self).model_fields.items()
                needed = ", ".join(f"{name}=..." for name, field in fields_of if field.is_required())
                needed = needed or f"{next(iter(type(self).model_fields))}=..."
                raise self.error(f"{kind}: must be given fields by name, as {kind}({needed}), got {short_repr(given)}")
            try:
                super().__init__(**fields)
            except ValidationError as error:
                self._validate_again(error, lambda fields: super(Value, self).__init__(**fields), fields)

        def __setattr__(self, name: str, value: Any) -> None:
            """Raise the class's `error` for a field, because values are frozen; set any other attribute."""
            if name in type(self).model_fields:
                way = "model_copy(update={...}) returns a changed copy"
                raise self.error(f"{name}: must not be changed, as values are frozen: {way}")
            super().__setattr__(name, value)

        # With this mark, pydantic does not call __init__ for nested values, so their errors keep their location.
        __init__.__pydantic_base_init__ = True

        @classmethod
        def model_validate(cls, obj: Any, **options: Any) -> "Value":
            """Return the value for an object or a mapping; raises the class's `error`, an InputError."""
            try:
                return super().model_validate(obj, **options)
            except ValidationError as error:
                return cls._validate_again(error, lambda obj: super(Value, cls).model_validate(obj, **options), obj)

        @classmethod
        def model_validate_json(cls, json_data: str | bytes | bytearray, **options: Any) -> "Value":
            """Return the value for a JSON text; raises the class's `error`, an InputError."""
            try:
                return super().model_validate_json(json_data, **options)
            except ValidationError as error:
                return cls._validate_again(error, cls.model_validate, json_data)

    @classmethod
    def _validate_again(cls, error: ValidationError, validate: Callable[[Any], Any], value: Any) -> Any:
        """Return the value, validated again with numpy integers as Python integers; raises the class's `error`."""
        if any(isinstance(fault["input"], np.integer) for fault in error.errors(include_url=False)):
            try:
                return validate(_plain_integers(value))
            except ValidationError as second:
                error = second
        if cls.error is OptionError:
            raise OptionError(*sentences_of_options(error, cls.model_fields)) from error
        names = [field.alias or name for name, field in cls.model_fields.items()]
        raise cls.error(*sentences(error, fields=names)) from error

    def __repr__(self) -> str:
        """Return the class's name and the fields whose values differ from their defaults, in the form of a call."""
        fields = type(self).model_fields.items()
        values = {name: value for name, field in fields if (value := getattr(self, name)) != field.default}
        return f"{type(self).__name__}({', '.join(f'{name}={short_repr(value)}' for name, value in values.items())})"

    __str__ = __repr__


def _plain_integers(value: Any) -> Any:
    if isinstance(value, np.integer):
        return int(value)
    if isinstance(value, dict):
        return {key: _plain_integers(entry) for key, entry in value.items()}
    return [*map(_plain_integers, value)] if isinstance(value, (list, tuple)) else value


def short_repr(value: object) -> str:
    """Return a value's repr; for a sequence of more than five entries, only the number of entries."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"<{len(value)} entries>" if len(value) > 5 else repr(list(value))
    return repr(value)


class PlanValue(Value):
    """The base class of the parts of a plan; invalid values raise PlanError."""

    error = PlanError


class Relative(Value):
    """The rule that a buffer starts `offset` bytes above the start of `to` (below if negative), in the same pool."""

    to: Id
    """The buffer from whose start the distance counts."""
    offset: Shift
    """The bytes from the start of `to` to the start of this buffer, such as 4096; negative if it starts below."""


class OffsetMod(Value):
    """The rule that an offset, divided by `modulus`, leaves `remainder`."""

    modulus: Alignment
    """The divisor, in bytes."""
    remainder: Bytes
    """What remains when the offset is divided by `modulus`; less than `modulus`."""

    @model_validator(mode="after")
    def _check_remainder(self) -> "OffsetMod":
        """Raise ValidationError unless the remainder is less than the modulus; return the rule."""
        if self.remainder >= self.modulus:
            raise_rules((("remainder",), f"must be less than modulus ({self.modulus}), got {self.remainder}"))
        return self


class Access(Value):
    """A time at which an operation reads or writes a buffer."""

    time: Time
    """The time step, within the buffer's lifetime."""
    kind: Literal["read", "write"] | None = None
    """A write makes all copies in other pools stale. By default, the first access is a write, unless the buffer is
    `given`; the others are reads."""
    bytes: Bytes | None = None
    """The bytes that the operation reads or writes; by default, the size of the buffer."""


def object_or(other: type, kind: type[Value]) -> Any:
    """Return the type of a value of another type or an object, so that errors name the field alone."""
    return Annotated[
        Annotated[other, Tag(f"{TYPE_STEP}value")] | Annotated[kind, Tag(f"{TYPE_STEP}object")],
        Discriminator(lambda value: f"{TYPE_STEP}{'object' if isinstance(value, (dict, kind)) else 'value'}"),
    ]


if TYPE_CHECKING:
    AccessOrTime = Time | Access
else:
    AccessOrTime = object_or(Time, Access)


class Buffer(Value):
    """A buffer: its size, the times at which it is alive, and the places where it may be."""

    id: Id
    """The unique name, a non-empty text or an integer; 1 and "1" are different names."""
    size: Bytes
    """The size in bytes. A buffer of size 0 conflicts with no other buffer."""
    start: Time | None = None
    """The first time step at which the buffer is alive, such as the number of the operation that writes it.
    Must be given with `end`."""
    end: Time | None = None
    """The first time step after its lifetime: a buffer that starts at this step may use its bytes."""
    lifetimes: Lifetimes | None = None
    """Several lifetimes instead of `start` and `end`, such as [[0, 3], [7, 9]], all at one offset. Between them, other
    buffers may use the bytes, so the contents are lost. A buffer without these and without `start` and `end` conflicts
    only with the buffers of its pairs in the problem's `conflicts`."""
    alignment: Alignment = 1
    """The address of the buffer is a multiple of this number of bytes and of its pool's `alignment`."""
    pools: PoolNames | None = None
    """The names of the pools in which the buffer may be placed; by default, all pools."""
    offset: Bytes | None = None
    """A pin: the buffer is placed at this offset in bytes. It must be allowed in one pool only, by `pools`,
    `forbid_pools`, or as there is only one. By default, the planner chooses the offset."""
    traffic: Bytes | None = None
    """The bytes that operations read from and write to the buffer; the objective `cost` multiplies them by the cost of
    its pool. By default, the sum of the bytes of `accesses` or, without them, `size`. With the problem's `moves`, the
    default is twice `size`, and one half is moved at the first step of the lifetime, the other at the last."""
    hint: Bytes | None = None
    """The offset in bytes, in the first pool that it may use, that `plan --keep` prefers for a buffer that the old plan
    does not have; else ignored."""
    alias_of: Id | None = None
    """The buffer inside which this one lies wholly, as a view does; it then has no bytes of its own. The bytes are
    taken while either of the two is alive."""
    alias_offset: Bytes | None = None
    """The bytes from the start of `alias_of` to the start of this buffer; 0 by default."""
    relative: Relative | None = None
    """A fixed distance to another buffer in the same pool; unlike an alias, this buffer has bytes of its own."""
    no_cross: Alignment | None = None
    """No address inside the buffer is a multiple of this number of bytes, such as a page of 4096; it may begin and end
    at one. A larger buffer fits nowhere."""
    offset_mod: OffsetMod | None = None
    """A rule for the offset modulo a number of bytes."""
    end_at_most: Bytes | None = None
    """The buffer ends at this offset of its pool or below it, such as in the first 4 KiB, which a DMA engine reaches.
    Must be at least `size`."""
    start_at_least: Bytes | None = None
    """The buffer begins at this offset of its pool or above it, such as above a region for circular buffers."""
    forbid_pools: Annotated[tuple[Name, ...], WrapValidator(validate_in_parts)] = ()
    """The names of the pools in which the buffer must not be placed."""
    accesses: Annotated[tuple[AccessOrTime, ...], WrapValidator(validate_in_parts)] = ()
    """The times at which operations use the buffer, ascending, such as [0, 3, {"time": 9, "kind": "write"}]; a read may
    come before a write of the same time. With `moves` and without this field, the first and the last step of the
    lifetime (`end` - 1) have an access each."""
    given: Name | None = None
    """With `moves`, the pool in which the buffer, an input, lies at the start of its lifetime."""
    kept_in: Name | None = None
    """With `moves`, the pool in which the buffer must lie at the end of its lifetime."""

    @model_validator(mode="after")
    def _check_buffer_alone(self) -> "Buffer":
        """Raise ValidationError if the buffer breaks a rule that concerns this buffer alone; return the buffer."""
        breaks = list(self._broken_rules())
        if breaks:
            raise_rules(*breaks)
        return self

    def _broken_rules(self) -> list[Break]:
        """Return the rules that the buffer breaks regardless of all other parts of the problem."""
        breaks: list[Break] = []
        if self.start is not None or self.end is not None:
            if self.lifetimes is not None:
                breaks.append((("lifetimes",), add_way("must not be given together with start and end", ONE_OF_THEM)))
            if self.start is None:
                breaks.append((("start",), add_way("is required where end is given", _BOTH)))
            elif self.end is None:
                breaks.append((("end",), add_way("is required where start is given", _BOTH)))
            elif self.end <= self.start:
                breaks.append((("end",), end_rule(self.start, self.end)))
        for k, (start, end) in enumerate(self.lifetimes or ()):
            if end <= start:
                breaks.append((("lifetimes", k, 1), end_rule(start, end)))
        if self.alias_offset is not None and self.alias_of is None:
            breaks.append((("alias_offset",), "must not be given without alias_of"))
        if self.alias_of is not None and self.alias_of == self.id and type(self.alias_of) is type(self.id):
            breaks.append((("alias_of",), buffer_name_rule(self.alias_of, "must name another buffer")))
        if self.relative is not None:
            if self.alias_of is not None:
                breaks.append((("relative",), add_way("must not be given together with alias_of", ONE_OF_THEM)))
            if self.relative.to == self.id and type(self.relative.to) is type(self.id):
                breaks.append((("relative", "to"), buffer_name_rule(self.id, "must name another buffer")))
        if self.end_at_most is not None and self.end_at_most < self.size:
            breaks.append((("end_at_most",), f"must be at least size ({self.size}), got {self.end_at_most}"))
        if self.no_cross is not None and self.alias_of is not None:
            breaks.append((("no_cross",), "must not be given together with alias_of; use relative instead of alias_of"))
        if self.accesses and self.traffic is not None:
            breaks.append((("traffic",), add_way("must not be given together with accesses", ONE_OF_THEM)))
        return breaks + self._access_breaks()

    def _access_breaks(self) -> list[Break]:
        """Return the rules that the times of the accesses break."""
        breaks: list[Break] = []
        before: tuple[int, bool] | None = None
        for k, (time, is_write, _) in enumerate(read_accesses(self.accesses, self.size, self.given is not None)):
            if not any(start <= time < end for start, end in self.intervals):
                breaks.append((("accesses", k), f"must be within the lifetime, got time {time}"))
            if before is not None and (time, is_write) <= before:
                rule = f"must be later than the access before, or a write after its read, got time {time}"
                breaks.append((("accesses", k), rule))
            before = time, is_write
        return breaks

    @property
    def intervals(self) -> tuple[tuple[int, int], ...]:
        """The buffer's half-open lifetimes, in the given order."""
        if self.start is not None and self.end is not None:
            return ((self.start, self.end),)
        return self.lifetimes or ()


def read_accesses(accesses: Sequence[int | Access], size: int, is_given: bool) -> list[tuple[int, bool, int]]:
    """Return each access as (time, whether it is a write, bytes), with the default kinds and bytes."""
    rows = []
    for k, each in enumerate(accesses):
        time, kind, count = (each, None, None) if isinstance(each, int) else (each.time, each.kind, each.bytes)
        is_write = (k == 0 and not is_given) if kind is None else kind == "write"
        rows.append((time, is_write, size if count is None else count))
    return rows


if not TYPE_CHECKING and extensions("kinds"):
    _fields = {name: (kind.type | None, None) for name, kind in extensions("kinds").items()}
    Buffer = create_model("Buffer", __base__=Buffer, __module__=__name__, __doc__=Buffer.__doc__, **_fields)


register_fields("buffers", Buffer)


def end_rule(start: int, end: int) -> Sentence:
    """Return the error sentence for a lifetime whose end is not after its start."""
    way = "the end is the first time step after the lifetime: are start and end swapped?"
    return add_way(f"must be greater than start ({start}), got {end}", way)


class Placement(PlanValue):
    """The placement of a buffer, or of one piece of a buffer that moves: `offset` bytes from the start of `pool`."""

    id: Id
    """The name of the buffer."""
    pool: Name
    """The name of the pool that holds it."""
    offset: Annotated[int, Field(ge=0, le=2**63 - 1)]
    """The bytes from the start of the pool to the start of the buffer."""
    start: Time | None = None
    """With `moves`, the first time step at which the buffer takes this place; else null."""
    end: Time | None = None
    """With `moves`, the first time step at which the buffer no longer takes this place; else null."""


register_fields("placements", Placement)
