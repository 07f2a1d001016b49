"""Free storages of Relay's memory planner, in one dimension (bytes) and in two (textures).

Source: apache/tvm, src/relay/backend/token_allocator.cc (v0.14: TokenAllocator1D, TokenAllocator2D), before v0.9 part
of graph_plan_memory.cc, first in pull request 2120. A token is one storage; all its buffers begin at its start. All
storages here belong to one device, and all textures to one scope and element type, as different kinds never mix.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from itertools import chain

MATCH_RANGE = 16
"""Relay's default range: a storage is reused for requests between 1/16 and 16 times its size."""
_MAX_RATIO = 5
"""The maximum ratio between a side of a texture and the requested side, in either direction, for its reuse."""


@dataclass(eq=False)
class Token:
    """A storage and its current size.

    Attributes:
        storage: its number.
        width: its bytes so far, or the width of a texture.
        height: the height of a texture.
        has_grown: True for a texture that has grown; it is not reused again.
    """

    storage: int
    width: int
    height: int = 1
    has_grown: bool = False


class FreeTokens:
    """Free storages of one dimension, in ascending order of size, and of release for equal sizes."""

    def __init__(self, match_range: int = MATCH_RANGE) -> None:
        self._range = match_range
        self._entries: list[tuple[int, int, Token]] = []
        self._freed = 0

    def take(self, size: int, _height: int = 1) -> Token | None:
        """Remove and return a storage for `size` bytes, or None if no size is close enough.

        The smallest sufficient storage is preferred, and of several such the first released. Otherwise the largest
        smaller storage grows, and of several such the last released.
        """
        if not self._range:
            return None
        begin, middle = self._first_at_least(size // self._range), self._first_at_least(size)
        end = self._first_at_least(size * self._range + 1)
        for k in chain(range(middle, end), reversed(range(begin, middle))):
            token = self._entries.pop(k)[2]
            token.width = max(token.width, size)
            return token
        return None

    def put(self, token: Token) -> None:
        """Add a released storage to the free ones."""
        self._freed += 1
        insort(self._entries, (token.width, self._freed, token), key=lambda entry: entry[:2])

    def _first_at_least(self, size: int) -> int:
        return bisect_left(self._entries, size, key=lambda entry: entry[0])


class FreeTextures:
    """Free textures.

    Relay searches them in the order of a hash table; here the lowest storage number comes first.
    """

    def __init__(self) -> None:
        self._free: dict[int, Token] = {}

    def put(self, token: Token) -> None:
        """Add a released texture to the free ones, unless it has grown."""
        if not token.has_grown:
            self._free[token.storage] = token

    def take(self, width: int, height: int) -> Token | None:
        """Remove and return a texture with these sides, which grows if needed; None if no texture is close enough.

        As in Relay, a texture replaces the best so far if, along one side, it grows less than a best one that grows, or
        grows as much and wastes less. The other side is not compared.
        """
        best: Token | None = None
        least_added = least_wasted = (0, 0)
        for _, token in sorted(self._free.items()):
            if not _has_close_size(width, token.width) or not _has_close_size(height, token.height):
                continue
            added = max(width - token.width, 0), max(height - token.height, 0)
            wasted = max(token.width - width, 0), max(token.height - height, 0)
            if best is None or any(
                (least > 0 and more < least) or (more == least and waste < least_waste)
                for more, least, waste, least_waste in zip(added, least_added, wasted, least_wasted, strict=True)
            ):
                best, least_added, least_wasted = token, added, wasted
        if best is not None:
            del self._free[best.storage]
            best.has_grown = least_added != (0, 0)
            best.width, best.height = max(best.width, width), max(best.height, height)
        return best


def _has_close_size(side: int, other: int) -> bool:
    return max(side, other) // max(1, min(side, other)) <= _MAX_RATIO
