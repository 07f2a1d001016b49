"""Operations in execution order, as Relay's memory planner sees them.

A value is a list of tensors: of one, or, for a tuple and for an operation with several outputs, of more. A tuple and
an item of one have no storage of their own, they only name the tensors they are made of.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from memplan.planner.errors import ProblemError, shown

_DTYPE = re.compile(r"(?:(?P<kind>bfloat|float|uint|int)(?P<bits>\d+)|bool)(?:x(?P<lanes>\d+))?")
TEXTURES = ("global.texture", "global.texture-nhwc", "global.texture-weight")
"""The scopes of two-dimensional storage, each of which packs data in a way of its own."""


@dataclass(frozen=True)
class TensorType:
    """Shape, type of the elements (such as `float32`, `int4`, `bool`, `float16x4`), and where the tensor lives.

    Raises ProblemError for what has no size: a dimension that is not a number yet, an unknown type or scope.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    scope: str = "global"
    device: str = "cpu"

    def __post_init__(self) -> None:
        for axis, extent in enumerate(self.shape):
            if type(extent) is not int or extent < 0:
                raise ProblemError(f"shape[{axis}]: must be a number of at least 0, got {shown(extent)}")
        if _DTYPE.fullmatch(self.dtype) is None:
            raise ProblemError(f"dtype: must be a type such as float32 or int8x4, got {shown(self.dtype)}")
        if self.scope not in ("global", *TEXTURES):
            raise ProblemError(f"scope: must be global, {', '.join(TEXTURES)}, got {shown(self.scope)}")
        if self.is_texture and len(self.shape) < 2:
            raise ProblemError(f"shape: must have at least 2 axes in {self.scope}, got {shown(self.shape)}")

    @property
    def is_texture(self) -> bool:
        """True if it lives in two-dimensional storage."""
        return self.scope in TEXTURES

    @property
    def element_bytes(self) -> int:
        """Bytes of one element, whole: (bits * lanes + 7) / 8."""
        match = _DTYPE.fullmatch(self.dtype)
        assert match is not None  # checked when it was made
        return (int(match["bits"] or 1) * int(match["lanes"] or 1) + 7) // 8

    def size(self, storage_alignment: int = 1) -> int:
        """Return the bytes, rounded up to bytes (1), words (4) or double words (8)."""
        size = math.prod(self.shape) * self.element_bytes
        return -(-size // storage_alignment) * storage_alignment

    def texture(self) -> tuple[int, int]:
        """Return width and height of the texture that the shape is flattened to; its last axis is the channels.

        Source: src/runtime/texture.h (DefaultTextureLayoutSeparator, ApplyTexture2DFlattening).
        """
        rank = len(self.shape)
        axis = {"global.texture": rank - 2, "global.texture-weight": 1}.get(self.scope, 1 if rank == 3 else 2)
        return math.prod(self.shape[axis:-1]), math.prod(self.shape[:-1][:axis])


@dataclass(frozen=True)
class RelayParameter:
    """An input or a constant: it has storage of its own, which no other value gets."""

    name: str
    type: TensorType


@dataclass(frozen=True)
class RelayCall:
    """An operation that writes its outputs while its inputs are alive.

    Where it `may_reuse`, the outputs may go where something else has been; else they are new, like parameters.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[TensorType, ...]
    may_reuse: bool = True


@dataclass(frozen=True)
class Reshape:
    """The same bytes in another shape: the output is the input."""

    name: str
    input: str
    output: TensorType


@dataclass(frozen=True)
class Bundle:
    """A tuple of values: all their tensors, one after the other."""

    name: str
    fields: tuple[str, ...]


@dataclass(frozen=True)
class Item:
    """One tensor of a tuple, or one output of an operation."""

    name: str
    of: str
    index: int


Operation = RelayParameter | RelayCall | Reshape | Bundle | Item


def inputs_of(operation: Operation) -> tuple[str, ...]:
    """Return the names of the values that an operation takes."""
    match operation:
        case RelayParameter():
            return ()
        case RelayCall():
            return operation.inputs
        case Reshape():
            return (operation.input,)
        case Bundle():
            return operation.fields
        case Item():
            return (operation.of,)


def check(operations: Sequence[Operation], results: Sequence[str]) -> None:
    """Raise ProblemError where a value is named twice, before it exists, or has no such item."""
    width: dict[str, int] = {}
    for k, operation in enumerate(operations):
        where = f"operations[{k}]"
        if operation.name in width:
            raise ProblemError(f"{where}.name: must be unique, got {shown(operation.name)} again")
        for name in inputs_of(operation):
            if name not in width:
                raise ProblemError(f"{where}: must take values of operations before it, got {shown(name)}")
        width[operation.name] = _width(operation, width, where)
    for k, name in enumerate(results):
        if name not in width:
            raise ProblemError(f"results[{k}]: must name an operation, got {shown(name)}")


def _width(operation: Operation, width: dict[str, int], where: str) -> int:
    match operation:
        case RelayCall():
            return len(operation.outputs)
        case Reshape() if width[operation.input] != 1:
            raise ProblemError(f"{where}.input: must be one tensor, got {width[operation.input]}")
        case Bundle():
            return sum(width[name] for name in operation.fields)
        case Item() if not 0 <= operation.index < width[operation.of]:
            tensors = width[operation.of]
            raise ProblemError(f"{where}.index: must be at least 0 and below {tensors}, got {operation.index}")
    return 1
