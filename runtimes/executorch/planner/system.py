"""The registration of ExecuTorch: its own planners, and a writer of plans as the lists that ExecuTorch reads."""

from memplan.planner.systems import ANY, ReferencePlanner, System

VERSION = "pytorch/executorch v1.5.1"


SYSTEM = System(
    name="executorch",
    title="ExecuTorch",
    planners=(
        ReferencePlanner(
            "reference:executorch-greedy",
            "largest first, into shared objects laid side by side (ExecuTorch)",
            f"{VERSION}, exir/memory_planning.py: greedy, pick_shared_obj, materialize_buffer",
            "memplan.runtimes.executorch.planner.planner:plan_greedily",
            ANY | {"pools"},
            "executorch exir",
        ),
        ReferencePlanner(
            "reference:executorch-banked-greedy",
            "the same into the fastest memory with room, the next one where it is full (ExecuTorch)",
            "pytorch/executorch, pull request 21821, exir/memory_planning.py: banked_greedy, TargetMemoryMap",
            "memplan.runtimes.executorch.planner.planner:banked_greedy",
            ANY | {"pools"},
        ),
        ReferencePlanner(
            "reference:executorch-naive",
            "one after the other, nothing shared (ExecuTorch)",
            f"{VERSION}, exir/memory_planning.py: naive",
            "memplan.runtimes.executorch.planner.planner:plan_naively",
            ANY | {"pools"},
        ),
    ),
    writers={"executorch": "memplan.planner.foreign.lists:write_executorch"},
    other_targets={"executorch": "exir"},
)
