"""USMP, a memory planner that TVM once had: greedy by size, greedy by conflicts, hill climb.

Source: apache/tvm v0.16.0, src/tir/usmp/algo/greedy.cc and hill_climb.cc. There, the offset above a neighbour is
rounded up to the neighbour's alignment, so a buffer may lie where its own alignment forbids it; such a plan is
rejected. The forms with `_own_alignment` round up to the buffer's own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from memplan.planner.model.problem import Problem
from memplan.solvers.reference.tensors import Placed, StopCheck, Tensor
from memplan.solvers.reference.usmp.greedy import Placements, order_by_conflicts, order_by_size, place_above_conflicts
from memplan.solvers.reference.usmp.hill_climb import hill_climb as hill_climb_order
from memplan.solvers.reference.usmp.workspace import MOST_CONFLICTS, TooManyConflictsError, UsmpWorkspace, workspace

Algorithm = Callable[[UsmpWorkspace, StopCheck], tuple[Mapping[int, tuple[int, int]], Sequence[int]]]
"""Returns (pool, offset) by position of a buffer, and the positions of those that fit nowhere."""


def _greedy_by_size(task: UsmpWorkspace, stop_check: StopCheck) -> tuple[Placements, Sequence[int]]:
    placements, stuck = place_above_conflicts(task, order_by_size(task), stop_check)
    return placements, [] if stuck is None else [stuck]


def _greedy_by_conflicts(task: UsmpWorkspace, stop_check: StopCheck) -> tuple[Placements, Sequence[int]]:
    placements, stuck = place_above_conflicts(task, order_by_conflicts(task), stop_check)
    return placements, [] if stuck is None else [stuck]


def greedy_by_size(problem: Problem, seed: int, stop_check: StopCheck) -> Placed:
    """Place the largest first, above all its conflicts."""
    return _plan(problem, stop_check, _greedy_by_size)


def greedy_by_size_own_alignment(problem: Problem, seed: int, stop_check: StopCheck) -> Placed:
    """Place the largest first, above all its conflicts; keep to each buffer's own alignment."""
    return _plan(problem, stop_check, _greedy_by_size, rounds_to_own=True)


def greedy_by_conflicts(problem: Problem, seed: int, stop_check: StopCheck) -> Placed:
    """Place what has most conflicts first, above all of them."""
    return _plan(problem, stop_check, _greedy_by_conflicts)


def greedy_by_conflicts_own_alignment(problem: Problem, seed: int, stop_check: StopCheck) -> Placed:
    """Place what has most conflicts first, above all of them; keep to each buffer's own alignment."""
    return _plan(problem, stop_check, _greedy_by_conflicts, rounds_to_own=True)


def hill_climb(problem: Problem, seed: int, stop_check: StopCheck) -> Placed:
    """Change the order by swaps, at most 500 times; the seed is USMP's own, 0."""
    return _plan(problem, stop_check, hill_climb_order)


def hill_climb_own_alignment(problem: Problem, seed: int, stop_check: StopCheck) -> Placed:
    """Change the order by hill climbing; keep to each buffer's own alignment."""
    return _plan(problem, stop_check, hill_climb_order, rounds_to_own=True)


def _plan(problem: Problem, stop_check: StopCheck, algorithm: Algorithm, *, rounds_to_own: bool = False) -> Placed:
    try:
        task, found = workspace(problem, stop_check, rounds_to_own)
    except TooManyConflictsError:
        return Placed({}, because=f"USMP lists all conflicts; here are more than {MOST_CONFLICTS:,}")
    placements, stuck = algorithm(task, stop_check)
    return Placed(
        {found[i].position: placement for i, placement in placements.items()},
        stuck=_positions(found, stuck),
    )


def _positions(found: Sequence[Tensor], chosen: Sequence[int]) -> tuple[int, ...]:
    return tuple(found[i].position for i in chosen)
