"""The allocator `replay.c`, compiled by the machine's C compiler on first use, and called through its C interface."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from memplan.planner.errors import InputError, OptionError

ABI = 1
_HERE = Path(__file__).parent
_NAMES = (
    "calls planned kept unmatched busy outside waits unknown failures runs live arena reserved most".split()  # noqa: SIM905
)


class _Stats(ctypes.Structure):
    """The counters of `struct memplan_stats`, and the allocator's last message."""

    _fields_ = [
        ("bytes", ctypes.c_uint64),
        *((name, ctypes.c_uint64) for name in _NAMES),
        ("message", ctypes.c_char * 256),
    ]


class AllocatorEvent(ctypes.Structure):
    """An allocation of `size` bytes, or its release if `size` is 0; `stream` is None for the default stream."""

    _fields_ = [
        ("number", ctypes.c_uint64),
        ("size", ctypes.c_uint64),
        ("device", ctypes.c_int64),
        ("stream", ctypes.c_void_p),
    ]


@cache
def library_path() -> str:
    """Return the path of the compiled allocator; compile it if needed. Raises InputError without a C compiler."""
    found = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    compiler = shlex.split(os.environ.get("CC", "")) or [found or ""]
    sources = (_HERE / "replay.c", _HERE / "replay.h")
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()[:16]
    cached = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "memplan"
    made = cached / f"replay-{digest}.so"
    if made.is_file():
        return str(made)
    if not compiler[0]:
        raise InputError("allocator: must be compiled, but no C compiler was found: install gcc, or set CC")
    try:
        cached.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cached) as folder:
            built = Path(folder) / "replay.so"
            flags = ["-O2", "-std=c11", "-shared", "-fPIC", "-o", str(built), str(sources[0]), "-ldl"]
            subprocess.run([*compiler, *flags], check=True, capture_output=True, text=True)
            # Another process may build the same file, so rename the built file atomically.
            built.replace(made)
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or error
        raise InputError(f"allocator: must be compiled by {compiler[0]} into {cached}: {said}") from error
    return str(made)


class ReplayLibrary:
    """The loaded allocator; its state belongs to the process, so all objects with the same path share it."""

    def __init__(self, path: str | None = None) -> None:
        """Load the compiled allocator. Raises OptionError if the library has another interface version."""
        self.path = path or library_path()
        self.functions = ctypes.CDLL(self.path)
        if self.functions.memplan_abi() != ABI:
            raise OptionError(
                f"library: must have interface version {ABI}, got version {self.functions.memplan_abi()} of {self.path}"
            )
        self.functions.memplan_alloc.argtypes = (ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p)
        self.functions.memplan_alloc.restype = ctypes.c_void_p
        self.functions.memplan_free.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_void_p)
        self.functions.memplan_free.restype = self.functions.memplan_record_stream.restype = None
        self.functions.memplan_record_stream.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
        self.functions.memplan_recorded.argtypes = (ctypes.c_void_p, ctypes.c_uint64)
        self.functions.memplan_recorded.restype = ctypes.c_uint64

    def allocate(self, size: int, device: int = 0, stream: int | None = None) -> int:
        """Return the address of `size` newly allocated bytes; raises MemoryError if they cannot be allocated."""
        address: int | None = self.functions.memplan_alloc(size, device, stream)
        if address is None:
            raise MemoryError(self.stats()["message"] or f"{size} bytes cannot be allocated")
        return address

    def free(self, address: int, size: int = 0, device: int = 0, stream: int | None = None) -> None:
        """Free the bytes at an address that `allocate` returned; `stream` must be the stream of the allocation."""
        self.functions.memplan_free(address, size, device, stream)

    def use(self, address: int, stream: int | None) -> None:
        """Record that another stream uses the bytes at an address, as `Tensor.record_stream` does."""
        self.functions.memplan_record_stream(address, stream)

    def load(self, path: str | Path) -> None:
        """Load a file of planned addresses; raises InputError, also while blocks of the previous plan are alive."""
        self._raise_failure(self.functions.memplan_load(os.fsencode(path)))

    def begin(self, scope: str) -> None:
        """Begin a scope of the loaded plan; raises InputError if the plan lacks it or another scope is active."""
        self._raise_failure(self.functions.memplan_begin(scope.encode()))

    def record(self) -> None:
        """Begin to record events; raises InputError inside a scope."""
        self._raise_failure(self.functions.memplan_record())

    def end(self) -> None:
        """End the scope or the recording; raises InputError if none has begun."""
        self._raise_failure(self.functions.memplan_end())

    def events(self) -> list[AllocatorEvent]:
        """Return the events of the last recording."""
        count = self.functions.memplan_recorded(None, 0)
        rows = (AllocatorEvent * count)()
        self.functions.memplan_recorded(rows, count)
        return list(rows)

    def release(self) -> None:
        """Return free memory to the driver."""
        self.functions.memplan_release()

    def stats(self) -> dict[str, int | str]:
        """Return the counters of `struct memplan_stats` by name, and the last message."""
        stats = _Stats(bytes=ctypes.sizeof(_Stats))
        self._raise_failure(self.functions.memplan_stats(ctypes.byref(stats)))
        return {name: getattr(stats, name) for name in _NAMES} | {"message": stats.message.decode(errors="replace")}

    def _raise_failure(self, status: int) -> None:
        """Raise InputError with the allocator's last message if a call returned a status other than 0."""
        if status:
            raise InputError(str(self.stats()["message"]))
