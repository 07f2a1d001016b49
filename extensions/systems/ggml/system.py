"""The registration of ggml: a reader of its graphs, and the planner of its graph allocator."""

from __future__ import annotations

from memplan.planner.systems import FileReader, ReferencePlanner, System

_BEGINNING = b'{"format": "ggml-graph/1"'


def is_ggml(data: bytes) -> bool:
    """Return True if the bytes start like a graph that `graph_json.h` wrote."""
    return data.startswith(_BEGINNING)


SYSTEM = System(
    name="ggml",
    title="ggml",
    files="graphs that `graph_json.h` writes",
    readers=(
        FileReader(
            "ggml",
            is_ggml,
            "memplan.extensions.systems.ggml.reader",
            has_symbols=True,
            options=frozenset({"views"}),
            planner="reference:ggml-allocator",
        ),
    ),
    planners=(
        ReferencePlanner(
            "reference:ggml-allocator",
            "over time, each into the smallest free block (ggml's graph allocator)",
            "ggml-org/ggml d99724f2, src/ggml-alloc.c",
            "memplan.extensions.systems.ggml.planner:best_fit",
            other_names="llama.cpp whisper.cpp",
        ),
    ),
)
