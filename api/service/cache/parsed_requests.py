"""Problems that come again byte for byte, as they do from builds: read, checked and compiled once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable

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
        self._kept: OrderedDict[Hashable, tuple[Reading, int]] = OrderedDict()

    def find(self, name: Hashable) -> Reading | None:
        """Return what was read of a body; the name is all that the reading depends on."""
        if name not in self._kept:
            return None
        self._kept.move_to_end(name)
        return self._kept[name][0]

    def keep(self, name: Hashable, reading: Reading, size: int) -> None:
        """Keep what was read of a body of `size` bytes, if that is not too large; the oldest are dropped."""
        if size > self._most // _LARGEST_PART or name in self._kept:
            return
        self._kept[name] = reading, size
        self._held += size
        while self._held > self._most:
            _, (_, gone) = self._kept.popitem(last=False)
            self._held -= gone
