"""The disk of the SQLite file: its free space, and a reserve that allows jobs to be removed when the disk is full."""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection

RESERVE = 16 * 2**20
"""The size of the reserve in bytes. Removing a job writes pages of every table and index before it frees any."""
LEAST_ROOM = 4 * 2**20
"""The minimum free bytes for accepting jobs. SQLite's write-ahead log grows by as much before it restarts."""
_allocate = getattr(os, "posix_fallocate", lambda file, _start, size: os.write(file, bytes(size)))


class Disk:
    """The disk of an SQLite file, and the reserve: a file in its folder that is removed when the disk is full."""

    def __init__(self, file: Path) -> None:
        """Set the paths of the SQLite file, its write-ahead log and the reserve."""
        self._file, self._log = file, file.with_name(f"{file.name}-wal")
        self._reserve = file.with_name(f"{file.name}-reserve")

    def capacity(self, connection: Connection) -> int:
        """Return the bytes that the database can still store: the free pages of its file, and the free disk space."""
        return self._free_bytes + self._free_pages(connection)

    def room(self, connection: Connection) -> int:
        """Return the bytes that one transaction can add; fewer than `capacity`, as each byte also goes to the log."""
        log = _file_size(self._log)
        low, high = sorted((self._free_pages(connection), log))
        return low + self._free_bytes if self._free_bytes <= high - low else (low + high + self._free_bytes) // 2

    def keep_reserve(self) -> None:
        """Enlarge the reserve to its full size or, on a full disk, to a half, a quarter and so on of that size."""
        size, is_kept = RESERVE, False
        with suppress(OSError), os.fdopen(os.open(self._reserve, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
            while not is_kept and size > _file_size(self._reserve):
                try:
                    _allocate(file.fileno(), 0, size)
                    is_kept = True
                except OSError:
                    size //= 2

    def give_reserve(self) -> bool:
        """Remove the reserve; return True if it existed."""
        with suppress(OSError):
            self._reserve.unlink()
            return True
        return False

    @property
    def _free_bytes(self) -> int:
        free = shutil.disk_usage(self._file.parent).free
        return max(0, free - LEAST_ROOM - max(0, RESERVE - _file_size(self._reserve)))

    def _free_pages(self, connection: Connection) -> int:
        pages, size = (
            connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in ("freelist_count", "page_size")
        )
        return int(pages or 0) * int(size or 0)


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
