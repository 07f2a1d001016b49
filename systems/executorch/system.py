"""ExecuTorch: programs of PyTorch for devices."""

from __future__ import annotations

from memplan.planner.systems import ANY, FileReader, ReferencePlanner, System

VERSION = "pytorch/executorch v1.5.1"


def is_executorch(data: bytes) -> bool:
    """Return True if the bytes are a FlatBuffer with one of ExecuTorch's identifiers."""
    return data[4:6] == b"ET" and data[6:8].isdigit()


SYSTEM = System(
    name="executorch",
    title="ExecuTorch",
    files=".pte",
    readers=(FileReader("executorch", is_executorch, "memplan.systems.executorch.reader", suffixes=(".pte",)),),
    planners=(
        ReferencePlanner(
            "reference:executorch-greedy",
            "largest first, into shared objects laid side by side (ExecuTorch)",
            f"{VERSION}, exir/memory_planning.py: greedy, pick_shared_obj, materialize_buffer",
            "memplan.systems.executorch.planner:greedy",
            ANY | {"pools"},
            "executorch exir",
        ),
        ReferencePlanner(
            "reference:executorch-banked-greedy",
            "the same into the fastest memory with room, the next one where it is full (ExecuTorch)",
            "pytorch/executorch, pull request 21821, exir/memory_planning.py: banked_greedy, TargetMemoryMap",
            "memplan.systems.executorch.planner:banked_greedy",
            ANY | {"pools"},
        ),
        ReferencePlanner(
            "reference:executorch-naive",
            "one after the other, nothing shared (ExecuTorch)",
            f"{VERSION}, exir/memory_planning.py: naive",
            "memplan.systems.executorch.planner:naive",
            ANY | {"pools"},
        ),
    ),
    writers={
        "executorch": "memplan.systems.lists:write_executorch",
        "pte": "memplan.systems.executorch.pte:write_pte",
    },
    other_targets={"executorch": "exir"},
)
