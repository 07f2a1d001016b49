"""The registration of readers for TensorFlow Lite models and LiteRT's interpreter states, with their writers."""

from memplan.planner.extensions import Hook
from memplan.planner.foreign.recognition import NEAR
from memplan.planner.systems import FileReader, System

IDENTIFIER = b"TFL3"


def is_tflite(data: bytes) -> bool:
    """Return True if bytes 4 to 7, where a FlatBuffer identifies its schema, are those of TFLite."""
    return data[4:8] == IDENTIFIER


def is_state(data: bytes) -> bool:
    """Return True if a state printed by LiteRT's interpreter begins near the start of the bytes."""
    return b"\nTensor  ID Name " in data[:NEAR] and b"Subgraph-" in data[:NEAR]


SYSTEM = System(
    name="tflite",
    title="TensorFlow Lite",
    files=".tflite, .lite, and what LiteRT prints of an interpreter",
    readers=(
        FileReader(
            name="tflite",
            recognises=is_tflite,
            where="memplan.runtimes.tflite.reader",
            suffixes=(".tflite", ".lite"),
            has_symbols=True,
            options=frozenset({"scratch", "views", "target", "kernels"}),
            planner="reference:tflite-micro-greedy",
        ),
        FileReader("litert-state", is_state, "memplan.runtimes.tflite.state"),
    ),
    writers={"tflite": "memplan.runtimes.tflite.tflm:write_tflm"},
    other_targets={"tflite": "tflm tflite-micro micro lite"},
    reorders="memplan.runtimes.tflite.reordered:set_orders",
    rewrites=Hook("rewrite-tflite"),
    arena="memplan.runtimes.tflite.arena",
    deploys=Hook("deploy-tflite"),
)
