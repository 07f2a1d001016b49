"""How tasks, plans and news travel: pickled, and compressed where they are large.

All packing and unpacking belongs into threads: what Dask does with the bytes, it does on the event loop.
"""

from __future__ import annotations

import copyreg
import pickle
import zlib
from types import MappingProxyType
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


def _read_only(content: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(content)


# Problems have read-only views of dictionaries, which pickle does not know.
copyreg.pickle(MappingProxyType, lambda view: (_read_only, (dict(view),)))
