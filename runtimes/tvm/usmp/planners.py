"""USMP, a former memory planner of TVM, with three algorithms: greedy by size, greedy by conflicts, and hill climb.

Source: apache/tvm v0.16.0, src/tir/usmp/algo/greedy.cc and hill_climb.cc. USMP rounds an offset above a neighbour up to
the neighbour's alignment. So a buffer may violate its own alignment, and then the plan is rejected. The variants with
`_own_alignment` round up to the buffer's own alignment instead.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from memplan.planner.model.problem import Problem
from memplan.runtimes.tvm.usmp.hill_climb import hill_climb as hill_climb_order
from memplan.runtimes.tvm.usmp.workspace import (
    MOST_CONFLICTS,
    Placements,
    TooManyConflictsError,
    UsmpWorkspace,
    order_by_conflicts,
    order_by_size,
    place_above_conflicts,
    usmp_workspace,
)
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck

Algorithm = Callable[[UsmpWorkspace, StopCheck], tuple[Mapping[int, tuple[int, int]], Sequence[int]]]
"""A function that returns (pool, offset) by position of each placed buffer, and the buffers that fit in no pool."""


def _greedy_algorithm(order_of: Callable[[UsmpWorkspace], Sequence[int]]) -> Algorithm:
    def place_greedily(task: UsmpWorkspace, stop_check: StopCheck) -> tuple[Placements, Sequence[int]]:
        placements, stuck = place_above_conflicts(task, order_of(task), stop_check)
        return placements, [] if stuck is None else [stuck]

    return place_greedily


def _plan(
    problem: Problem, seed: int, stop_check: StopCheck, *, algorithm: Algorithm, rounds_to_own: bool = False
) -> PlannerAnswer:
    """Return the plan of an algorithm for a problem; `seed` is ignored, because USMP has a constant seed."""
    try:
        task, placed = usmp_workspace(problem, stop_check, rounds_to_own)
    except TooManyConflictsError:
        return PlannerAnswer({}, because=f"USMP lists all conflicts, and there are more than {MOST_CONFLICTS:,}")
    placements, stuck = algorithm(task, stop_check)
    return PlannerAnswer(
        {placed[i].position: placement for i, placement in placements.items()},
        stuck=tuple(placed[i].position for i in stuck),
    )


greedy_by_size = partial(_plan, algorithm=_greedy_algorithm(order_by_size))
"""Place buffers by decreasing size, each above all buffers that it conflicts with."""
greedy_by_size_own_alignment = partial(greedy_by_size, rounds_to_own=True)
greedy_by_conflicts = partial(_plan, algorithm=_greedy_algorithm(order_by_conflicts))
"""Place buffers by decreasing number of conflicts, each above all buffers that it conflicts with."""
greedy_by_conflicts_own_alignment = partial(greedy_by_conflicts, rounds_to_own=True)
hill_climb = partial(_plan, algorithm=hill_climb_order)
"""Place buffers by first fit, in an order that is changed by at most 500 swaps."""
hill_climb_own_alignment = partial(hill_climb, rounds_to_own=True)
