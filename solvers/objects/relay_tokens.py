"""Storage tokens: Relay's memory planner hands them out and takes them back, in one dimension and in two.

Source: apache/tvm, src/relay/backend/token_allocator.cc (v0.14: TokenAllocator1D, TokenAllocator2D), before v0.9 part
of graph_plan_memory.cc, first in pull request 2120. A token is one storage, and whatever uses it begins at its start.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, insort
from dataclasses import dataclass
from itertools import chain

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


MATCH_RANGE = 16
"""A storage is reused for what is between a 16th and 16 times its size; 0: nothing is reused."""
MAX_RATIO = 5
"""A texture is reused where neither side is more than so many times the other's, in whole numbers."""


@dataclass(eq=False)
class Token:
    """A storage: how many uses are still to come, its largest size in bytes, and its number."""

    type: TensorType
    uses: int = 0
    max_bytes: int = 0
    storage: int = -1


class FreeTokens:
    """Free storages of one dimension, in the order of their sizes, of equal ones first freed first."""

    def __init__(self, match_range: int = MATCH_RANGE) -> None:
        self.match_range = match_range
        self._entries: list[tuple[int, int, Token]] = []
        self._freed = 0

    def take(self, size: int, device: str) -> Token | None:
        """Return a storage of that device and remove it, None where none is like enough in size.

        The smallest that is large enough comes first, of equal ones the first freed; else the largest of the smaller
        ones, of equal ones the last freed, which grows.
        """
        if self.match_range == 0:
            return None
        begin, middle = self._below(size // self.match_range), self._below(size)
        end = self._below(size * self.match_range + 1)
        for k in chain(range(middle, end), reversed(range(begin, middle))):
            token = self._entries[k][2]
            if token.type.device == device:
                del self._entries[k]
                token.max_bytes = max(token.max_bytes, size)
                return token
        return None

    def put(self, token: Token) -> None:
        """Take a storage back."""
        self._freed += 1
        insort(self._entries, (token.max_bytes, self._freed, token), key=lambda entry: entry[:2])

    def _below(self, size: int) -> int:
        return bisect_left(self._entries, size, key=lambda entry: entry[0])


@dataclass(eq=False)
class Texture:
    """A storage of two dimensions, and the token that it was made, or grown, for."""

    token: Token
    width: int
    height: int


class FreeTextures:
    """All textures by their numbers, and which of them are free.

    The original goes through the free ones in the order of a hash table; here the lowest number comes first.
    """

    def __init__(self) -> None:
        self.textures: dict[int, Texture] = {}
        self._free: set[int] = set()

    def add(self, token: Token) -> None:
        """Keep a new texture for a token that has its number."""
        self.textures[token.storage] = Texture(token, *token.type.texture())

    def put(self, token: Token) -> None:
        """Take a texture back."""
        self._free.add(token.storage)

    def take(self, wanted: Token) -> Token | None:
        """Return the token of a free texture of the same scope and type of elements, None where none will do.

        One that need not grow goes on under its old token. One that grows goes on under `wanted`, with one use more
        than will ever be: it is not free again.
        """
        width, height = wanted.type.texture()
        best = self._best(wanted, width, height)
        if best is None:
            return None
        storage, (added_width, added_height) = best
        if added_width == added_height == 0:
            self._free.remove(storage)
            token = self.textures[storage].token
            token.uses += wanted.uses
            return token
        if added_width <= width or added_height <= height:
            self._free.remove(storage)
            wanted.uses += 1
            wanted.storage = storage
            known = self.textures[storage]
            self.textures[storage] = Texture(wanted, known.width + added_width, known.height + added_height)
            return wanted
        return None

    def _best(self, wanted: Token, width: int, height: int) -> tuple[int, tuple[int, int]] | None:
        """Return the texture to use, and what it must grow by in width and height.

        One is better than the best so far where it grows less in a direction in which that one grows, or grows as much
        and wastes less in one direction, whatever it does in the other.
        """
        best: tuple[int, tuple[int, int]] | None = None
        least_wasted = (0, 0)
        for storage in sorted(self._free):
            known = self.textures[storage]
            if not _are_alike(known, wanted, width, height):
                continue
            added = max(known.width, width) - known.width, max(known.height, height) - known.height
            wasted = max(known.width, width) - width, max(known.height, height) - height
            if best is None or any(
                (least > 0 and more < least) or (more == least and waste < least_waste)
                for more, least, waste, least_waste in zip(added, best[1], wasted, least_wasted, strict=True)
            ):
                best, least_wasted = (storage, added), wasted
        return best


def _are_alike(known: Texture, wanted: Token, width: int, height: int) -> bool:
    mine, other = wanted.type, known.token.type
    sides = ((width, known.width), (height, known.height))
    return (mine.dtype, mine.scope) == (other.dtype, other.scope) and all(
        max(a, b) // max(1, min(a, b)) <= MAX_RATIO for a, b in sides
    )
