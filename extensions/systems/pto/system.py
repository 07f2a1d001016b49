"""The registration of PTO, the tile language of PTOAS: a reader and a writer of kernels as MLIR."""

from __future__ import annotations

from memplan.planner.systems import FileReader, System


def is_pto(data: bytes) -> bool:
    """Return True if the bytes contain operations or memories of PTO's dialect of MLIR."""
    return b" pto." in data or b"#pto." in data


SYSTEM = System(
    name="pto",
    title="PTO",
    files=".pto kernels as PTOAS prints them, with addresses or without",
    writers={"pto": "memplan.extensions.systems.pto.writer:write_addresses"},
    readers=(
        FileReader(
            "pto", is_pto, "memplan.extensions.systems.pto.reader", suffixes=(".pto",), options=frozenset({"views"})
        ),
    ),
)
