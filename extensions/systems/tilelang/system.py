"""The registration of TileLang for Ascend: a reader of kernels as TVMScript with addresses."""

from __future__ import annotations

from memplan.planner.systems import FileReader, System


def is_tilelang(data: bytes) -> bool:
    """Return True if the bytes contain a TVMScript function whose buffers have addresses."""
    return b"@T.prim_func" in data and b'"address_map": {' in data


SYSTEM = System(
    name="tilelang",
    title="TileLang",
    files=".tir of kernels for Ascend, with addresses",
    readers=(
        FileReader(
            "tilelang",
            is_tilelang,
            "memplan.extensions.systems.tilelang.reader",
            suffixes=(".tir",),
            options=frozenset({"views"}),
        ),
    ),
)
