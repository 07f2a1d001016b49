"""A small disk that can be filled to its last byte: a file system in memory, which only root can mount."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """Mount a disk of this size until the block ends, and yield its path; skip the test if mounting fails."""
    folder = Path(tempfile.mkdtemp(prefix="memplan-disk-"))
    asked = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=1777", "tmpfs", str(folder)]
    is_there = shutil.which("mount") is not None and subprocess.run(asked, capture_output=True).returncode == 0
    try:
        if not is_there:
            pytest.skip("a small disk cannot be mounted here, which takes the rights of root")
        yield folder
    finally:
        if is_there:
            subprocess.run(["umount", "-l", str(folder)], check=True)
        folder.rmdir()


def fill(folder: Path) -> Path:
    path = folder / "filled"
    with suppress(OSError), os.fdopen(os.open(path, os.O_CREAT | os.O_WRONLY), "wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
    assert shutil.disk_usage(folder).free == 0
    return path
