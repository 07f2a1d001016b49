"""ggml: graphs of its computations, and the planner that gives their tensors memory."""

from __future__ import annotations

from memplan.planner.systems import ReferencePlanner, System

SYSTEM = System(
    name="ggml",
    title="ggml",
    planners=(
        ReferencePlanner(
            "reference:ggml-allocator",
            "over time, each into the smallest free block (ggml's graph allocator)",
            "ggml-org/ggml d99724f2, src/ggml-alloc.c",
            "memplan.systems.ggml.planner:best_fit",
            other_names="llama.cpp whisper.cpp",
        ),
    ),
)
