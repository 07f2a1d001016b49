"""The free storages of Relay's memory planner, in one dimension (bytes) and in two dimensions (textures).

Source: apache/tvm, src/relay/backend/token_allocator.cc (v0.14: TokenAllocator1D, TokenAllocator2D); until v0.8 in
graph_plan_memory.cc, first in pull request 2120. A token is one storage, and all its buffers begin at its start.
Different kinds of storages never mix, so all storages here belong to one device, and all textures to one scope and
element type.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass
from itertools import chain

MATCH_RANGE = 16
"""Relay's default range, in which a storage is reused for requests of 1/16 to 16 times its size."""
_MAX_RATIO = 5
"""The maximum ratio, in either direction, between a side of a texture and the requested side, for its reuse."""


@dataclass(eq=False)
class Token:
    """A storage and its present size.

    Attributes:
        storage: its number.
        width: its bytes so far, or the width of a texture.
        height: the height of a texture.
        has_grown: True for a texture that has grown and so is not reused again.
    """

    storage: int
    width: int
    height: int = 1
    has_grown: bool = False


class FreeTokens:
    """The free storages of one dimension, by ascending size; equal storages are in the order of their release."""

    def __init__(self, match_range: int = MATCH_RANGE) -> None:
        """Start without free storages; a reused storage is within a factor `match_range` of the needed size."""
        self._range = match_range
        self._entries: list[tuple[int, int, Token]] = []
        self._freed = 0

    def take(self, size: int, _height: int = 1) -> Token | None:
        """Remove and return a storage for `size` bytes, or None if no storage has a close enough size.

        It is the smallest sufficient storage and, among equal sizes, the one released first. If no storage suffices,
        the largest smaller one grows; among equal sizes, the one released last.
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
        """Add a released storage to the free storages."""
        self._freed += 1
        insort(self._entries, (token.width, self._freed, token), key=lambda entry: entry[:2])

    def _first_at_least(self, size: int) -> int:
        return bisect_left(self._entries, size, key=lambda entry: entry[0])


class FreeTextures:
    """The free textures of one scope and element type.

    Relay searches them in the order of a hash table, whereas here the lowest storage number comes first.
    """

    def __init__(self) -> None:
        """Start without free textures."""
        self._free: dict[int, Token] = {}

    def put(self, token: Token) -> None:
        """Add a released texture to the free textures, unless it has grown."""
        if not token.has_grown:
            self._free[token.storage] = token

    def take(self, width: int, height: int) -> Token | None:
        """Remove and return a texture with these sides, grown if necessary; None if no texture has close enough sides.

        As in Relay, the textures are tried one by one. A texture replaces the best one so far if its width or its
        height alone grows less, or grows as much and wastes less.
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
