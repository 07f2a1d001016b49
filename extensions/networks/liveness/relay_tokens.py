"""Storage tokens: Relay's memory planner hands them out and takes them back, in one dimension and in two.

Source: apache/tvm, src/relay/backend/token_allocator.cc (v0.14: TokenAllocator1D, TokenAllocator2D), before v0.9 part
of graph_plan_memory.cc, first in pull request 2120. A token is one storage, and whatever uses it begins at its start.
All storages here are of one device, and all textures of one scope and type of elements, which never mix there.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from itertools import chain

MATCH_RANGE = 16
"""A storage is reused for requests between a 16th and 16 times its size."""
_MAX_RATIO = 5
"""A texture is reused where neither side is more than so many times the other's, in whole numbers."""


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
    """Free storages of one dimension by size; among equal sizes, the first freed comes first."""

    def __init__(self, match_range: int = MATCH_RANGE) -> None:
        self._range = match_range
        self._entries: list[tuple[int, int, Token]] = []
        self._freed = 0

    def take(self, size: int, _height: int = 1) -> Token | None:
        """Return a storage and remove it, None where none is like enough in size.

        The smallest that is large enough comes first, of equal ones the first freed; else the largest of the smaller
        ones, of equal ones the last freed, which grows.
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
        """Take a storage back."""
        self._freed += 1
        insort(self._entries, (token.width, self._freed, token), key=lambda entry: entry[:2])

    def _first_at_least(self, size: int) -> int:
        return bisect_left(self._entries, size, key=lambda entry: entry[0])


class FreeTextures:
    """The textures that are free.

    The original visits the free ones in the order of a hash table; here the lowest number comes first.
    """

    def __init__(self) -> None:
        self._free: dict[int, Token] = {}

    def put(self, token: Token) -> None:
        """Return a texture to the free ones, unless it has grown."""
        if not token.has_grown:
            self._free[token.storage] = token

    def take(self, width: int, height: int) -> Token | None:
        """Return a texture and remove it, None where none will do; it grows where it must.

        One is better than the best so far where it grows less in a direction in which that one grows, or grows as much
        and wastes less in one direction, whatever it does in the other.
        """
        best: Token | None = None
        least_added = least_wasted = (0, 0)
        for _, token in sorted(self._free.items()):
            if not _are_alike(width, token.width) or not _are_alike(height, token.height):
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


def _are_alike(side: int, other: int) -> bool:
    return max(side, other) // max(1, min(side, other)) <= _MAX_RATIO
