"""Free storages of Relay's memory planner, in one dimension (bytes) and in two (textures).

Source: apache/tvm, src/relay/backend/token_allocator.cc (v0.14: TokenAllocator1D, TokenAllocator2D), before v0.9 part
of graph_plan_memory.cc, first in pull request 2120. A token is one storage, whose users all begin at its start. All
storages here are of one device, and all textures of one scope and element type, as others never mix with them.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from itertools import chain

MATCH_RANGE = 16
"""Relay's range: a storage is reused for requests between a 16th and 16 times its size."""
_MAX_RATIO = 5
"""A texture is reused if each of its sides is at most this many times the requested one, or the other way round."""


@dataclass(eq=False)
class Token:
    """A storage by its number.

    Attributes:
        storage: its number.
        width: its bytes so far, or the width of a texture.
        height: the height of a texture.
        has_grown: True of a texture that has grown, which is not free again.
    """

    storage: int
    width: int
    height: int = 1
    has_grown: bool = False


class FreeTokens:
    """Free storages of one dimension, ordered by size; of equal sizes, the first freed comes first."""

    def __init__(self, match_range: int = MATCH_RANGE) -> None:
        self._range = match_range
        self._entries: list[tuple[int, int, Token]] = []
        self._freed = 0

    def take(self, size: int, _height: int = 1) -> Token | None:
        """Remove and return a storage for `size` bytes, None if no size is close enough.

        The smallest sufficient storage is preferred, of equal ones the first freed. Otherwise the largest of the
        smaller ones grows, of equal ones the last freed.
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
        """Add a storage that is free again."""
        self._freed += 1
        insort(self._entries, (token.width, self._freed, token), key=lambda entry: entry[:2])

    def _first_at_least(self, size: int) -> int:
        return bisect_left(self._entries, size, key=lambda entry: entry[0])


class FreeTextures:
    """Free textures.

    The original searches them in the order of a hash table; here the lowest number comes first.
    """

    def __init__(self) -> None:
        self._free: dict[int, Token] = {}

    def put(self, token: Token) -> None:
        """Add a texture that is free again, unless it has grown."""
        if not token.has_grown:
            self._free[token.storage] = token

    def take(self, width: int, height: int) -> Token | None:
        """Remove and return a texture of these sides, None if none is close enough; it grows if it is too small.

        A texture is better than the best so far if, in one direction, it grows less while that one grows, or it grows
        as much and wastes less; the other direction does not matter.
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
