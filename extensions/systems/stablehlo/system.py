"""The registration of StableHLO: a reader of programs as MLIR text."""

from __future__ import annotations

import re

from memplan.planner.foreign.recognition import NEAR, begins_as_mlir
from memplan.planner.systems import FileReader, System


def is_stablehlo(data: bytes) -> bool:
    """Return True if the bytes start like MLIR, and name StableHLO, CHLO, MHLO or JAX near the start."""
    return begins_as_mlir(data) and re.search(rb"\b(?:stablehlo|chlo|mhlo|jax)\.\w", data[:NEAR]) is not None


SYSTEM = System(
    name="stablehlo",
    title="StableHLO",
    files=".mlir",
    readers=(
        FileReader(
            "stablehlo",
            is_stablehlo,
            "memplan.extensions.systems.stablehlo.reader",
            has_symbols=True,
            options=frozenset({"scratch", "views"}),
        ),
    ),
)
