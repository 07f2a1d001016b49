"""The cache of compiled kernels: a folder for each version of them, used only while it is whole and sound.

One process at a time fills a new folder, stamps it with the digests of its files, and only then gives it its name. The
name is a hash of all that the kernels depend on. Nothing here imports numba.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from memplan.solvers.kernels import abi

_HERE = Path(__file__).parent
_STAMP = "digests"
_SETTINGS = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT", "NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT")
_PROCESSOR = ("vendor_id", "cpu family", "model", "model name", "flags", "CPU implementer", "CPU part", "Features")
"""The fields of /proc/cpuinfo that decide which instructions numba uses; others, such as the clock, may change."""

_chosen: Path | None = None


def places() -> tuple[Path, ...]:
    """Return the folders that may hold the cache: NUMBA_CACHE_DIR if set, else beside the sources, else the user's."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        return (Path(chosen),)
    beside = _HERE / "__pycache__"
    if mine := os.environ.get("XDG_CACHE_HOME"):
        return (beside, Path(mine) / "memplan")
    if home := os.environ.get("HOME"):
        return (beside, Path(home) / ".cache" / "memplan")
    return (beside,)


@cache
def folder_name() -> str:
    """Return the name of the folder for these sources, this numba, this Python, this processor and these settings."""
    facts = [source.read_bytes() for source in sorted(_HERE.rglob("*.py"))]
    facts += [abi.version(), sys.version.encode(), platform.machine().encode(), _processor()]
    facts += [os.environ.get(name, "").encode() for name in _SETTINGS]
    return "memplan-kernels-" + hashlib.sha256(b"\0".join(facts)).hexdigest()[:20]


def _processor() -> bytes:
    name = os.environ.get("NUMBA_CPU_NAME")
    if name == "generic" or (name and "NUMBA_CPU_FEATURES" in os.environ):
        return b""  # numba asks nothing else of the processor
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        return platform.processor().encode()
    return "".join(line for line in first.splitlines() if line.partition("\t")[0] in _PROCESSOR).encode()


def find() -> Path | None:
    """Return the folder with all kernels, or None where there is none that is sound; once found, it is kept."""
    global _chosen
    if _chosen is None:
        _chosen = next((place / folder_name() for place in places() if is_sound(place / folder_name())), None)
    return _chosen


def read(name: str) -> bytes | None:
    """Return a file of the folder; None where it is missing, or differs from its digest."""
    folder = find()
    if folder is None:
        return None
    try:
        content = (folder / name).read_bytes()
        return content if _line(name, content) in (folder / _STAMP).read_text() else None
    except (OSError, UnicodeDecodeError):
        return None


def is_sound(folder: Path) -> bool:
    """Return True if the files are those of the digests, unchanged."""
    try:
        return (folder / _STAMP).read_text() == _digests(folder)
    except (OSError, UnicodeDecodeError):
        return False


def stamp(folder: Path) -> None:
    """Write the digests of all files in a folder."""
    (folder / _STAMP).write_text(_digests(folder))


def _digests(folder: Path) -> str:
    files = sorted(file for file in folder.iterdir() if file.name != _STAMP)
    return "".join(_line(file.name, file.read_bytes()) for file in files)


def _line(name: str, content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()} {name}\n"


def fill(compile_all: Callable[[Path], None]) -> None:
    """Make the folder, by a call that compiles all kernels into it, unless another process has made it meanwhile.

    One process at a time does that, the others wait for it. Raises OSError where no place can be written.
    """
    errors: list[OSError] = []
    for place in places():
        try:
            with _locked(place):
                if find() is None:
                    _fill(place, compile_all)
            return
        except OSError as error:
            errors.append(error)
    raise errors[-1]


def _fill(place: Path, compile_all: Callable[[Path], None]) -> None:
    global _chosen
    folder = place / folder_name()
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)  # of a process that was killed
    part.mkdir()
    compile_all(part)
    stamp(part)
    shutil.rmtree(folder, ignore_errors=True)  # which is not sound
    _chosen = part.rename(folder)


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    """Hold the lock of a folder; it is released with this process, however that ends."""
    place.mkdir(parents=True, exist_ok=True)
    lock = os.open(place / "memplan-kernels.lock", os.O_RDONLY | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
