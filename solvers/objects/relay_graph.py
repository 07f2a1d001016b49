"""Types of tensors, as Relay's memory planner sees them."""

from __future__ import annotations

import math
import re
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
