"""The registration of Cadence, ExecuTorch's backend for DSPs: a reader of memory configurations, and its planners."""

import re

from memplan.planner.foreign.recognition import JSON
from memplan.planner.systems import ANY, FileReader, ReferencePlanner, System

_SOURCE = "pytorch/executorch v1.5.1, backends/cadence/aot/memory_planning.py"
_CAN = ANY | {"pools", "pins", "relative"}
_CONFIG = re.compile(JSON % rb"memory_\w+|base_addrs")


def is_cadence(data: bytes) -> bool:
    """Return True if the bytes start with the first key of a MemoryConfig in JSON."""
    return _CONFIG.match(data) is not None


SYSTEM = System(
    name="cadence",
    title="Cadence",
    files="memories as JSON",
    readers=(FileReader("cadence", is_cadence, "memplan.runtimes.executorch.cadence.reader"),),
    planners=(
        ReferencePlanner(
            "reference:cadence-position-based-greedy-with-hierarchy",
            "largest first, into the fastest memory with room, bumped past what overlaps (Cadence)",
            f"{_SOURCE}: PositionBasedGreedyWithHierarchy",
            "memplan.runtimes.executorch.cadence.planner:position_based_greedy",
            _CAN,
        ),
        ReferencePlanner(
            "reference:cadence-greedy-by-size-with-hierarchy",
            "largest first, into the smallest gap of the fastest memory with room (Cadence; arXiv 2001.03288)",
            f"{_SOURCE}: GreedyWithHeuristic",
            "memplan.runtimes.executorch.cadence.planner:greedy_by_size",
            _CAN,
        ),
        ReferencePlanner(
            "reference:cadence-greedy-by-size-paper-literal",
            "the same with the paper's update of prev_offset taken literally: nearly nothing is shared",
            f"{_SOURCE}: GreedyWithHeuristic, the comment on prev_offset; arXiv 2001.03288, algorithm 3",
            "memplan.runtimes.executorch.cadence.planner:greedy_by_size_paper_literal",
            _CAN,
        ),
    ),
)
