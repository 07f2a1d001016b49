"""The registration of PyTorch: readers of exported programs, allocator snapshots and inductor's wrapper code."""

import re

from memplan.planner.foreign.recognition import JSON, NEAR
from memplan.planner.systems import FileReader, System

_LIST_OF_NAMES = 1 << 20
"""The number of bytes at the end of an archive that are searched for its directory of file names."""
_SNAPSHOT = re.compile(JSON % rb"segments|device_traces|allocator_settings")


def is_snapshot(data: bytes) -> bool:
    """Return True if the bytes start like a PyTorch memory snapshot, which is a pickle or a JSON object."""
    is_pickle = data[:1] == b"\x80" and (b"segments" in data[:64] or b"device_traces" in data)
    return is_pickle or _SNAPSHOT.match(data) is not None


def is_archive(data: bytes) -> bool:
    """Return True for a ZIP archive whose directory lists the files of an exported PyTorch program."""
    names = data[-_LIST_OF_NAMES:] if data.startswith(b"PK\x03\x04") else b""
    return b"serialized_exported_program.json" in names or (b"archive_format" in names and b"models/" in names)


def is_wrapper(data: bytes) -> bool:
    """Return True if the bytes are inductor's Python code: torch._inductor near the start, and a function `call`."""
    return b"torch._inductor" in data[:NEAR] and b"def call(" in data


SYSTEM = System(
    name="torch",
    title="PyTorch",
    files=".pt2, memory snapshots, and wrapper code of inductor",
    readers=(
        FileReader(
            "torch-export",
            is_archive,
            "memplan.runtimes.torch.archive",
            suffixes=(".pt2",),
            has_symbols=True,
            options=frozenset({"views"}),
        ),
        FileReader("torch-snapshot", is_snapshot, "memplan.runtimes.torch.snapshot"),
        FileReader("inductor", is_wrapper, "memplan.runtimes.torch.wrapper"),
    ),
)
