"""One table of reference planners: name, where it lives, its source, what it can express."""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, cast

from memplan.planner.errors import OptionError, shown
from memplan.planner.errors.extras import imported

if TYPE_CHECKING:
    from memplan.solvers.reference.tensors import Planner

PREFIX = "reference:"
"""The prefix of a reference planner's name where a solver is named."""

ANY = frozenset({"capacity", "alignment", "cost"})
"""Features that need no rule: a planner that ignores them may keep to them, and the verifier says if not."""


@dataclass(frozen=True)
class ReferencePlanner:
    """Another system's planner: `where` is `module:function`, a `tensors.Planner`.

    `source` names repository, version, file and function. `can` names the features of problems that it can express, in
    the words of `memplan.solvers.portfolio.registry`; others are refused.
    """

    name: str
    summary: str
    source: str
    where: str
    can: frozenset[str] = ANY

    def load(self) -> Planner:
        """Import the planner's function."""
        return cast("Planner", imported(self.where))


_EXECUTORCH = "pytorch/executorch v1.5.1"
_CADENCE = f"{_EXECUTORCH}, backends/cadence/aot/memory_planning.py"
_CADENCE_CAN = ANY | {"pools", "pins", "relative"}
_USMP = "apache/tvm v0.16.0, src/tir/usmp/algo"
_USMP_CAN = ANY | {"pools", "conflicts", "holes"}
_XLA = "openxla/xla 16569562fc04, xla/service/heap_simulator.cc"


def _usmp(name: str, summary: str, source: str) -> tuple[ReferencePlanner, ReferencePlanner]:
    """Return the rows of a planner of USMP: as it is, and rounding to the buffer's own alignment."""
    source, function = f"{_USMP}/{source}", f"memplan.systems.tvm.usmp.planners:{name.replace('-', '_')}"
    own, rounded = "the same, rounded to the buffer's own alignment", f"{source}, but for the rounding"
    return (
        ReferencePlanner(f"reference:tvm-{name}", summary, source, function, _USMP_CAN),
        ReferencePlanner(f"reference:tvm-{name}-own-alignment", own, rounded, f"{function}_own_alignment", _USMP_CAN),
    )


PLANNERS = (
    ReferencePlanner(
        "reference:executorch-greedy",
        "largest first, into shared objects laid side by side (ExecuTorch)",
        f"{_EXECUTORCH}, exir/memory_planning.py: greedy, pick_shared_obj, materialize_buffer",
        "memplan.systems.executorch.planner:greedy",
        ANY | {"pools"},
    ),
    ReferencePlanner(
        "reference:executorch-naive",
        "one after the other, nothing shared (ExecuTorch)",
        f"{_EXECUTORCH}, exir/memory_planning.py: naive",
        "memplan.systems.executorch.planner:naive",
        ANY | {"pools"},
    ),
    ReferencePlanner(
        "reference:cadence-position-based-greedy-with-hierarchy",
        "largest first, into the fastest memory with room, bumped past what overlaps (Cadence)",
        f"{_CADENCE}: PositionBasedGreedyWithHierarchy",
        "memplan.systems.cadence.planner:position_based_greedy",
        _CADENCE_CAN,
    ),
    ReferencePlanner(
        "reference:cadence-greedy-by-size-with-hierarchy",
        "largest first, into the smallest gap of the fastest memory with room (Cadence; arXiv 2001.03288)",
        f"{_CADENCE}: GreedyWithHeuristic",
        "memplan.systems.cadence.planner:greedy_by_size",
        _CADENCE_CAN,
    ),
    ReferencePlanner(
        "reference:cadence-greedy-by-size-paper-literal",
        "the same with the paper's update of prev_offset taken literally: nearly nothing is shared",
        f"{_CADENCE}: GreedyWithHeuristic, the comment on prev_offset; arXiv 2001.03288, algorithm 3",
        "memplan.systems.cadence.planner:greedy_by_size_paper_literal",
        _CADENCE_CAN,
    ),
    *_usmp(
        "greedy-by-size",
        "largest first, above all its conflicts, rounded to their alignment (TVM USMP)",
        "greedy.cc: GreedySize",
    ),
    *_usmp(
        "greedy-by-conflicts",
        "most conflicts first, above all of them, rounded to their alignment (TVM USMP)",
        "greedy.cc: GreedyConflicts",
    ),
    *_usmp(
        "hill-climb",
        "first fit, in an order changed by at most 500 swaps below the top (TVM USMP)",
        "hill_climb.cc: HillClimbAllocator",
    ),
    ReferencePlanner(
        "reference:relay-storage-tokens",
        "whole storages handed on, each buffer at the start of one (TVM Relay, graph executor)",
        "apache/tvm v0.14.0, src/relay/backend/graph_plan_memory.cc and token_allocator.cc: TokenAllocator1D",
        "memplan.systems.tvm.relay_planner:storage_tokens",
    ),
    ReferencePlanner(
        "reference:tflite-micro-greedy",
        "largest first, into the lowest gap (TFLite Micro)",
        "tensorflow/tflite-micro 17bebc092249, "
        "tensorflow/lite/micro/memory_planner/greedy_memory_planner.cc: GreedyMemoryPlanner",
        "memplan.systems.tflite.planner:greedy",
        ANY | {"pins"},
    ),
    ReferencePlanner(
        "reference:xla-best-fit-by-size",
        "largest first, into the smallest gap (XLA)",
        f"{_XLA}: GlobalDecreasingSizeBestFitHeap, kSpatial",
        "memplan.systems.xla.planner:best_fit_by_size",
    ),
    ReferencePlanner(
        "reference:xla-best-fit-by-life",
        "longest alive first, into the smallest gap (XLA)",
        f"{_XLA}: GlobalDecreasingSizeBestFitHeap, kTemporal",
        "memplan.systems.xla.planner:best_fit_by_life",
    ),
    ReferencePlanner(
        "reference:xla-best-fit",
        "the smaller of both, as the compiler takes it (XLA)",
        f"{_XLA}: ChooseBestHeapAlgorithm; xla/service/buffer_assignment.cc",
        "memplan.systems.xla.planner:best_fit",
    ),
    ReferencePlanner(
        "reference:vela-hill-climb",
        "first fit, in an order learnt from the highest buffer (Vela, the compiler for Ethos-U)",
        "ethos-u-vela 5.2.0, ethosu/vela/hillclimb_allocation.py: HillClimbAllocator",
        "memplan.systems.vela.planner:hill_climb",
    ),
)

BY_NAME = {planner.name: planner for planner in PLANNERS}


def find(name: str) -> ReferencePlanner | None:
    """Return the reference planner of that name, None for a name of something else; raises OptionError."""
    if not name.startswith(PREFIX):
        return None
    if name not in BY_NAME:
        names = [planner.name.removeprefix(PREFIX) for planner in PLANNERS]
        word = name.removeprefix(PREFIX)[:60].lower()
        near = next(
            iter([*get_close_matches(word, names, n=1), *(each for each in names if each[:3] == word[:3])]), None
        )
        hint = "" if near is None else f" (did you mean {PREFIX}{near}?)"
        raise OptionError(f"solver: {PREFIX} must come with one of {', '.join(names)}, got {shown(name)}{hint}")
    return BY_NAME[name]
