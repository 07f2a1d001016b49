"""Problems that come again byte for byte, as they do from builds: read, checked and compiled once."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256

from memplan.api.options import Options
from memplan.api.service.cache.compiled_problem import CompiledProblem

_BYTES_A_BYTE = 6
"""The bytes of memory that a parsed problem takes for each byte of its JSON."""
_LARGEST_PART = 8
"""No problem takes more than this part of the memory."""

Reading = tuple[CompiledProblem, Options]


class Readings:
    """The latest bodies that were read, up to so many bytes of memory. For one event loop."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes // _BYTES_A_BYTE
        self._held = 0
        self._kept: OrderedDict[bytes, tuple[Reading, int]] = OrderedDict()

    @staticmethod
    def name(kind: str, query: str, body: bytes) -> bytes:
        """Return a name for all that a reading depends on."""
        return sha256(f"{kind}\n{query}\n".encode() + body).digest()

    def find(self, name: bytes) -> Reading | None:
        """Return what was read of such a body."""
        if name not in self._kept:
            return None
        self._kept.move_to_end(name)
        return self._kept[name][0]

    def keep(self, name: bytes, reading: Reading, size: int) -> None:
        """Keep what was read of a body of `size` bytes, if that is not too large; the oldest are dropped."""
        if size > self._most // _LARGEST_PART or name in self._kept:
            return
        self._kept[name] = reading, size
        self._held += size
        while self._held > self._most:
            _, (_, gone) = self._kept.popitem(last=False)
            self._held -= gone
