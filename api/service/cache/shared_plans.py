"""Proved plans as written JSON, shared by the processes of a server through a memory-mapped file.

They are in a file that all of them map into their memory: a table from digests to places, and a ring of records, of
which the newest takes the place of the oldest. One process at a time writes; who reads waits for nobody, and takes a
record for what it is by its check alone, as it may be written over meanwhile.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import struct
from hashlib import blake2b
from pathlib import Path

from memplan.api.service.cache.written_plans import WrittenPlan, parted

_HEAD, _PLACE = struct.Struct("=Q"), struct.Struct("=Q")
_RECORD = struct.Struct("=32s16sIII")
"""A digest, a checksum of the rest, and the lengths of the status and of the text around the elapsed time."""
_SLOTS, _WAYS = 1 << 14, 4
"""The slots of the hash table, and how many adjacent ones a digest may use."""
_TABLE = _SLOTS * _PLACE.size
_STARTS = mmap.PAGESIZE + _TABLE


def make_shared(path: Path, n_bytes: int) -> None:
    """Create the file for a server's shared plans; raises OSError if there is no room."""
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, _STARTS + n_bytes)  # a mapped file that finds no room kills its process


class SharedPlans:
    """The plans shared by the processes of a server. For one event loop in each."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), 0)
        self._room = len(self._map) - _STARTS

    def close(self) -> None:
        """Stop finding and keeping plans."""
        self._map.close()
        self._file.close()

    def find(self, digest: bytes) -> WrittenPlan | None:
        """Return the plan for a request with this digest."""
        for slot in _slots(digest):
            (place,) = _PLACE.unpack_from(self._map, slot)
            if place and (plan := self._read(place - 1, digest)) is not None:
                return plan
        return None

    def keep(self, digest: bytes, content: bytes, status: str) -> None:
        """Keep a proved plan as written JSON, unless another process is writing."""
        plan = parted(content, status)
        size = _RECORD.size + len(status) + len(content)
        if plan is None or size > self._room // 8 or self.find(digest) is not None:
            return
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        try:
            self._write(digest, plan)
        finally:
            fcntl.flock(self._file, fcntl.LOCK_UN)

    def _write(self, digest: bytes, plan: WrittenPlan) -> None:
        parts = plan.status.encode(), plan.before, plan.after
        record = _RECORD.pack(digest, _check(digest, *parts), *map(len, parts)) + b"".join(parts)
        (head,) = _HEAD.unpack_from(self._map, 0)
        if head % self._room + len(record) > self._room:  # no record crosses the end
            head += self._room - head % self._room
        _HEAD.pack_into(self._map, 0, head + len(record))
        at = _STARTS + head % self._room
        self._map[at : at + len(record)] = record
        oldest = min(_slots(digest), key=lambda slot: _PLACE.unpack_from(self._map, slot)[0])
        _PLACE.pack_into(self._map, oldest, head + 1)

    def _read(self, place: int, digest: bytes) -> WrittenPlan | None:
        """Return the record at a position if it is complete and belongs to the digest."""
        (head,) = _HEAD.unpack_from(self._map, 0)
        at = _STARTS + place % self._room
        if head - place > self._room or at + _RECORD.size > len(self._map):
            return None
        its, check, *sizes = _RECORD.unpack_from(self._map, at)
        if its != digest or sum(sizes) > self._room:
            return None
        parts, at = [], at + _RECORD.size
        for size in sizes:
            parts.append(self._map[at : at + size])
            at += size
        if check != _check(digest, *parts):
            return None
        return WrittenPlan(parts[1], parts[2], parts[0].decode())


def _slots(digest: bytes) -> list[int]:
    """Return the slots that may hold a digest."""
    first = int.from_bytes(digest[:8], "little") % (_SLOTS // _WAYS) * _WAYS
    return [mmap.PAGESIZE + (first + way) * _PLACE.size for way in range(_WAYS)]


def _check(digest: bytes, *parts: bytes) -> bytes:
    check = blake2b(digest, digest_size=16)
    for part in parts:
        check.update(struct.pack("=Q", len(part)))
        check.update(part)
    return check.digest()
