"""TensorFlow Lite, and its runtime for microcontrollers, TFLite Micro."""

from __future__ import annotations

from memplan.planner.systems import ANY, FileReader, ReferencePlanner, System
from memplan.systems.recognition import NEAR

IDENTIFIER = b"TFL3"


def is_tflite(data: bytes) -> bool:
    """Return True if the bytes are a FlatBuffer with TFLite's identifier."""
    # FlatBuffers have the identifier of their schema behind the first offset.
    return data[4:8] == IDENTIFIER


def is_state(data: bytes) -> bool:
    """Return True if the state of an interpreter, as LiteRT prints it, is near the beginning."""
    return b"\nTensor  ID Name " in data[:NEAR] and b"Subgraph-" in data[:NEAR]


SYSTEM = System(
    name="tflite",
    title="TensorFlow Lite",
    files=".tflite, .lite, and what LiteRT prints of an interpreter",
    readers=(
        FileReader(
            name="tflite",
            recognises=is_tflite,
            where="memplan.systems.tflite.reader",
            suffixes=(".tflite", ".lite"),
            has_symbols=True,
            options=frozenset({"scratch"}),
            planner="reference:tflite-micro-greedy",
        ),
        FileReader("litert-state", is_state, "memplan.systems.tflite.state"),
    ),
    planners=(
        ReferencePlanner(
            "reference:tflite-micro-greedy",
            "largest first, into the lowest gap (TFLite Micro)",
            "tensorflow/tflite-micro 17bebc092249, "
            "tensorflow/lite/micro/memory_planner/greedy_memory_planner.cc: GreedyMemoryPlanner",
            "memplan.systems.tflite.planner:greedy",
            ANY | {"pins"},
            "tflm tflite tflite-micro",
        ),
    ),
    writers={"tflite": "memplan.systems.tflite.tflm:write_tflm"},
    other_targets={"tflite": "tflm tflite-micro micro lite"},
    reorders="memplan.systems.tflite.reordered:with_orders",
    rewrites="memplan.capabilities.cascade.in_parts.tflite:TfliteRewriting",
)
