"""Temporary folders named after their process, so that the folders of killed processes can be removed later."""

import os
import re
import shutil
import tempfile
from pathlib import Path

_NAME = re.compile(r"memplan-([0-9]+)-[^/]+")


def make_temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """Return a temporary folder, which this process removes on exit.

    If the process is killed, `remove_leftover_folders` removes the folder later.
    """
    return tempfile.TemporaryDirectory(prefix=f"memplan-{os.getpid()}-", ignore_cleanup_errors=True)


def remove_leftover_folders() -> None:
    """Remove the temporary folders of this user's processes that ended without removing them."""
    if os.name != "posix":
        return
    for path in Path(tempfile.gettempdir()).glob("memplan-*"):
        made = _NAME.fullmatch(path.name)
        if made is not None and _is_abandoned_folder(path, int(made[1])):
            shutil.rmtree(path, ignore_errors=True)


def _is_abandoned_folder(path: Path, process: int) -> bool:
    """Return True if a folder belongs to this user and the process that made it has ended."""
    try:
        if path.is_symlink() or not path.is_dir() or path.stat().st_uid != os.geteuid():
            return False
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
