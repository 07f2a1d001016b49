"""Facts that a file states about the tensors and operations of a graph; no order depends on them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field, PlainSerializer, PlainValidator, WithJsonSchema, WrapValidator, model_validator
from pydantic_core import PydanticCustomError

from memplan.planner.errors import InputError, Location, OperationsError, excerpt, raise_rules
from memplan.planner.model.parts import validate_in_parts
from memplan.planner.model.rows import MAX_BYTES, Name, Value, tuple_from_list

_DTYPE = re.compile(r"(bool|bfloat|u?int|float|complex)(\d{0,4})(?:_?e\d+m\d+[a-z]*)?(?:x(\d{1,6}))?", re.ASCII)
Dimension = Annotated[int, Field(ge=0, le=MAX_BYTES)]
Shape = Annotated[tuple[Dimension, ...], WrapValidator(validate_in_parts)]
OVERWRITING = frozenset(
    {"abs", "add", "cast", "ceil", "clip", "cos", "div", "elu", "erf", "exp", "floor", "gelu", "hard_sigmoid"}
    | {"hard_swish", "leaky_relu", "log", "maximum", "minimum", "mish", "mul", "neg", "not", "pow", "prelu", "relu"}
    | {"relu6", "round", "rsqrt", "sigmoid", "sign", "silu", "sin", "softplus", "sqrt", "square", "sub", "tanh"}
)
"""The kinds of operations that read each element before they write it, so their output may overwrite an input."""
UPDATING = frozenset({"dynamic_update_slice"})
"""The kinds of operations that copy their first input except for a part, so they may overwrite only this input."""
TensorRole = Literal["input", "output", "weight", "state", "activation"]
Integers = Annotated[tuple[int, ...], WrapValidator(validate_in_parts)]
Floats = Annotated[tuple[float, ...], WrapValidator(validate_in_parts)]


def _validate_attribute(value: object) -> object:
    """Return an attribute's value, with lists as tuples; raise a validation error for an unsupported type."""
    values = tuple_from_list(value)
    parts = values if isinstance(values, tuple) else (values,)
    if all(isinstance(part, int | float) for part in parts) or isinstance(values, bool | str):
        return values
    raise PydanticCustomError(
        "rule", "must be true, false, a number, a string, or a list of numbers, got {shown}", {"shown": excerpt(value)}
    )


Attribute = Annotated[
    bool | int | float | str | tuple[int | float, ...],
    PlainValidator(_validate_attribute),
    PlainSerializer(lambda value: value),  # Pydantic's serializer of a union would warn about lists.
    WithJsonSchema(
        {
            "anyOf": [{"type": kind} for kind in ("boolean", "number", "string")]
            + [{"type": "array", "items": {"type": "number"}}]
        }
    ),
]
Attributes: TypeAlias = Mapping[Name, Attribute]


def bits_of(dtype: str) -> int | None:
    """Return the bits of an element of a type, all lanes included: 8 for a bool, None for an unknown type."""
    match = _DTYPE.fullmatch(dtype)
    if match is None or (match[1] != "bool" and not int(match[2] or 0)) or match[3] == "0":
        return None
    bits = 8 if match[1] == "bool" else int(match[2])
    return bits * int(match[3] or 1)


class Quantization(Value):
    """The real numbers represented by stored integers: scale * (stored - zero point)."""

    error: ClassVar[type[InputError]] = OperationsError

    scales: Floats
    """The scale of the tensor or, with `axis`, one for each index of that axis."""
    zero_points: Integers = ()
    """The zero point of each scale."""
    axis: Annotated[int, Field(ge=0)] | None = None
    """The axis along which scales differ; null if the whole tensor has one."""


class TensorFacts(Value):
    """The facts about a tensor, each null if unknown."""

    error: ClassVar[type[InputError]] = OperationsError

    name: Name | None = None
    """The name of the tensor."""
    shape: Shape | None = None
    """The size of each axis, such as [1, 96, 96, 3]. The tensor's bytes may exceed those of its shape and type, since
    importers round them up to an alignment."""
    dtype: Name | None = None
    """The type of an element, such as `int8` or `float32`."""
    quantization: Quantization | None = None
    """The real numbers that its integers represent."""
    role: TensorRole | None = None
    """Whether it is an input or output of the program, a weight, a state that is kept between runs, or an
    activation."""

    @model_validator(mode="after")
    def _require_type(self) -> "TensorFacts":
        """Return the facts; raise a validation error for an unknown element type."""
        if self.dtype is not None and bits_of(self.dtype) is None:
            raise_rules(
                (("dtype",), f"must be a type such as int8, float32, int4 or float32x4, got {excerpt(self.dtype)}")
            )
        return self


@dataclass(frozen=True)
class OperationFacts:
    """The facts about one operation of a file; several statements of a program may come from that operation.

    `source` is the operation's location in the file, as positions in nested lists.
    """

    name: str | None = None
    kind: str | None = None
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    source: tuple[int, ...] = ()


@dataclass(frozen=True)
class ProgramFacts:
    """The facts about a program: `tensors` by the entry's buffer ids, `operations` by the locations of statements.

    Adjacent statements with equal facts come from the same operation of the file.
    """

    tensors: Mapping[str, TensorFacts] = field(default_factory=dict)
    operations: Mapping[Location, OperationFacts] = field(default_factory=dict)
