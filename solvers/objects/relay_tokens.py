"""Storage tokens: Relay's memory planner hands them out and takes them back, in one dimension and in two.

Source: apache/tvm, src/relay/backend/token_allocator.cc (v0.14: TokenAllocator1D, TokenAllocator2D), before v0.9 part
of graph_plan_memory.cc, first in pull request 2120. A token is one storage, and whatever uses it begins at its start.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass
from itertools import chain

from memplan.solvers.objects.relay_graph import TensorType

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
