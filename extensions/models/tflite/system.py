"""The registration of TensorFlow Lite models, of LiteRT's interpreter states, and of TFLite Micro as a target."""

from __future__ import annotations

from memplan.planner.foreign.recognition import NEAR
from memplan.planner.systems import FileReader, System

IDENTIFIER = b"TFL3"


def is_tflite(data: bytes) -> bool:
    """Return True if the bytes are a FlatBuffer with TFLite's identifier."""
    # A FlatBuffer starts with an offset of 4 bytes, followed by the identifier of its schema.
    return data[4:8] == IDENTIFIER


def is_state(data: bytes) -> bool:
    """Return True if a state that LiteRT's interpreter prints begins near the start of the bytes."""
    return b"\nTensor  ID Name " in data[:NEAR] and b"Subgraph-" in data[:NEAR]


SYSTEM = System(
    name="tflite",
    title="TensorFlow Lite",
    files=".tflite, .lite, and what LiteRT prints of an interpreter",
    readers=(
        FileReader(
            name="tflite",
            recognises=is_tflite,
            where="memplan.extensions.models.tflite.reader",
            suffixes=(".tflite", ".lite"),
            has_symbols=True,
            options=frozenset({"scratch", "views", "target", "kernels"}),
            planner="reference:tflite-micro-greedy",
        ),
        FileReader("litert-state", is_state, "memplan.extensions.models.tflite.state"),
    ),
    writers={"tflite": "memplan.extensions.models.tflite.tflm:write_tflm"},
    other_targets={"tflite": "tflm tflite-micro micro lite"},
    reorders="memplan.extensions.models.tflite.reordered:set_orders",
    rewrites="memplan.extensions.models.tflite.forms:rewritable_model",
    arena="memplan.extensions.models.tflite.arena",
    deploys="memplan.extensions.models.tflite.device_forms:deploy",
)
