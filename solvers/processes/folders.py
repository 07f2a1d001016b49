"""Temporary folders of programs that may be killed: their names have the process id, for removal of leftovers."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

_NAME = re.compile(r"memplan-([0-9]+)-[^/]+")


def make_temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder, removed at its end, or by `remove_left` if this process was killed."""
    return tempfile.TemporaryDirectory(prefix=f"memplan-{os.getpid()}-", ignore_cleanup_errors=True)


def remove_left() -> None:
    """Remove the temporary folders of this user's processes that have ended."""
    if os.name != "posix":
        return
    for path in Path(tempfile.gettempdir()).glob("memplan-*"):
        made = _NAME.fullmatch(path.name)
        if made is not None and _is_left(path, int(made[1])):
            shutil.rmtree(path, ignore_errors=True)


def _is_left(path: Path, process: int) -> bool:
    """Return True if a folder is this user's and its process has ended."""
    try:
        if path.is_symlink() or not path.is_dir() or path.stat().st_uid != os.geteuid():
            return False
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
