"""The bytes of tasks, results and progress on their way: pickled, and compressed where they are large.

Packing and unpacking belongs into threads: what Dask does with the bytes, it does on the event loop.
"""

from __future__ import annotations

import pickle
import zlib
from typing import Any

_SMALL = 1 << 18
_PLAIN, _COMPRESSED = b"p", b"z"


def pack(content: object) -> bytes:
    """Return the bytes of a value."""
    data = pickle.dumps(content, pickle.HIGHEST_PROTOCOL)
    return _PLAIN + data if len(data) < _SMALL else _COMPRESSED + zlib.compress(data, 1)


def unpack(data: bytes) -> Any:
    """Return the value of bytes that `pack` made, in a process of our own: a pickle can run programs."""
    return pickle.loads(data[1:] if data[:1] == _PLAIN else zlib.decompress(memoryview(data)[1:]))
