"""The cache of compiled kernels: a folder for each version of a group, used only while it is whole and sound.

One process at a time fills a new folder, stamps it with the digests of its files, and only then gives it its name. The
name is a hash of all that its kernels depend on. Nothing here imports numba.
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
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from memplan.solvers.kernels import abi

_HERE = Path(__file__).parent
_STAMP = "digests"
SETTINGS = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_OPT", "NUMBA_BOUNDSCHECK", "NUMBA_DISABLE_JIT")
"""The environment variables that numba's code depends on."""
_PROCESSOR = ("vendor_id", "cpu family", "model", "model name", "flags", "CPU implementer", "CPU part", "Features")
"""The fields of /proc/cpuinfo that decide which instructions numba uses; others, such as the clock, may change."""


@dataclass(frozen=True)
class KernelGroup:
    """Kernels that are compiled together, and kept in a folder of their own.

    `folder` begins its name, the patterns in `sources` find all that they depend on, `kernels` are `module.function`.
    """

    name: str
    folder: str
    sources: str
    kernels: tuple[str, ...]


PLANNING = KernelGroup(
    *("planning", "memplan-kernels", "*.py exact/*.py packing/*.py lemmas/*.py"),
    ("exact.search.search", "packing.pack.pack", "packing.quick_orders.pack_in_orders", "lemmas.search.prove_unfit"),
)
ORDER = KernelGroup(
    *("order", "memplan-order-kernels", "**/*.py"),
    (
        "order.depth_first.search_order",
        "order.beam.beam_order",
        "order.closure.close_cheaply",
        "order.nearness.follow_order",
        "order.replay.replay_drops",
    ),
)
STABLE = KernelGroup("stable", "memplan-stable-kernels", "**/*.py", ("stable.ejection.eject",))
CASCADE = KernelGroup(
    *("cascade", "memplan-cascade-kernels", "**/*.py"),
    (
        "cascade.rows.grow_rows",
        "cascade.tiles.grow_tiles",
        "cascade.front.cull",
        "cascade.front.best_chain",
        "cascade.front.least_of_three",
    ),
)
GROUPS = (PLANNING, ORDER, STABLE, CASCADE)

_chosen: dict[KernelGroup, Path] = {}


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
def folder_name(group: KernelGroup = PLANNING) -> str:
    """Return the name of the folder for these sources, this numba, this Python, this processor and these settings."""
    facts = [
        source_digest(group).encode(),
        abi.version(),
        sys.version.encode(),
        platform.machine().encode(),
        _processor(),
    ]
    facts += [os.environ.get(name, "").encode() for name in SETTINGS]
    return f"{group.folder}-" + hashlib.sha256(b"\0".join(facts)).hexdigest()[:20]


def source_digest(group: KernelGroup) -> str:
    """Return a digest of all the sources that a group's machine code depends on."""
    sources = {source for pattern in group.sources.split() for source in _HERE.glob(pattern)}
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in sorted(sources))).hexdigest()


def _processor() -> bytes:
    name = os.environ.get("NUMBA_CPU_NAME")
    if name == "generic" or (name and "NUMBA_CPU_FEATURES" in os.environ):
        return b""  # numba asks nothing else of the processor
    try:
        first = Path("/proc/cpuinfo").read_text().partition("\n\n")[0]
    except OSError:
        return platform.processor().encode()
    return "".join(line for line in first.splitlines() if line.partition("\t")[0] in _PROCESSOR).encode()


def find(group: KernelGroup = PLANNING) -> Path | None:
    """Return the folder with all kernels, or None where there is none that is sound; once found, it is kept."""
    if group not in _chosen:
        for folder in (place / folder_name(group) for place in places()):
            if is_sound(folder):
                return _chosen.setdefault(group, folder)
    return _chosen.get(group)


def read(name: str, group: KernelGroup = PLANNING) -> bytes | None:
    """Return a file of the folder; None where it is missing, or differs from its digest."""
    folder = find(group)
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


def fill(compile_all: Callable[[Path], None], group: KernelGroup = PLANNING) -> None:
    """Make the folder, by a call that compiles all kernels into it, unless another process has made it meanwhile.

    One process at a time does that, the others wait for it. Raises OSError where no place can be written.
    """
    errors: list[OSError] = []
    for place in places():
        try:
            with _locked(place / f"{group.folder}.lock"):
                if find(group) is None:
                    _chosen[group] = _filled(place / folder_name(group), compile_all)
            return
        except OSError as error:
            errors.append(error)
    raise errors[-1]


def _filled(folder: Path, compile_all: Callable[[Path], None]) -> Path:
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)  # of a process that was killed
    part.mkdir()
    compile_all(part)
    stamp(part)
    shutil.rmtree(folder, ignore_errors=True)  # which is not sound
    return part.rename(folder)


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Hold the lock of a file; it is released with this process, however that ends."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = os.open(file, os.O_RDONLY | os.O_CREAT, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
