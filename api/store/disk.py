"""The disk of a database file: its room, and a reserve with which jobs can be removed from a full one."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection

RESERVE = 16 * 2**20
"""The bytes of the reserve: removing a job writes some pages of every table and index before it frees any."""
LEAST_ROOM = 4 * 2**20
"""The least room for jobs in bytes; with less, none is taken. SQLite's log grows by so much before it begins anew."""
_allocate = getattr(os, "posix_fallocate", lambda file, _start, size: os.write(file, bytes(size)))


class Disk:
    """The disk of an SQLite file. Its reserve is a file in the same folder, which is released if the disk is full."""

    def __init__(self, file: Path) -> None:
        self._file, self._log = file, file.with_name(f"{file.name}-wal")
        self._reserve = file.with_name(f"{file.name}-reserve")

    def capacity(self, connection: Connection) -> int:
        """Return the bytes that the file can still take, in its free pages and beyond its end."""
        return self._free_bytes + self._free_pages(connection)

    def room(self, connection: Connection) -> int:
        """Return the bytes that one transaction can add: they are written to the log first, and to the file later."""
        log = _size(self._log)
        low, high = sorted((self._free_pages(connection), log))
        return low + self._free_bytes if self._free_bytes <= high - low else (low + high + self._free_bytes) // 2

    def keep_reserve(self) -> None:
        """Make the reserve as large as it should be, or by halves as large as the disk has room for."""
        size, is_kept = RESERVE, False
        with suppress(OSError), os.fdopen(os.open(self._reserve, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            while not is_kept and size > _size(self._reserve):
                try:
                    _allocate(file.fileno(), 0, size)
                    is_kept = True
                except OSError:
                    size //= 2

    def give_reserve(self) -> bool:
        """Remove the reserve; return True if there was one."""
        with suppress(OSError):
            self._reserve.unlink()
            return True
        return False

    @property
    def _free_bytes(self) -> int:
        """The free bytes in addition to the reserve, which may not exist yet."""
        free = shutil.disk_usage(self._file.parent).free
        return max(0, free - LEAST_ROOM - max(0, RESERVE - _size(self._reserve)))

    def _free_pages(self, connection: Connection) -> int:
        pages, size = (
            connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("freelist_count", "page_size")
        )
        return int(pages or 0) * int(size or 0)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
