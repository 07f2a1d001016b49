"""The registration of IREE: a reader of the packs in the MLIR that its compiler prints."""

from __future__ import annotations

from memplan.planner.foreign.recognition import NEAR, begins_as_mlir
from memplan.planner.systems import FileReader, System


def is_iree(data: bytes) -> bool:
    """Return True if the bytes start like MLIR or a dump of IREE, and contain packs."""
    return (begins_as_mlir(data) or b"\n// -----// IR Dump" in data[:NEAR]) and b"stream.resource.pack" in data


SYSTEM = System(
    name="iree",
    title="IREE",
    files=".mlir, after it packed",
    readers=(FileReader("iree", is_iree, "memplan.extensions.systems.iree.reader", suffixes=(".mlir",)),),
)
