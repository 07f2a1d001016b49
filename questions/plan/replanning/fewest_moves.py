"""Minimisation of moves with CP-SAT: one Boolean per old place, and a minimum total weight of places given up."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.cp_sat.boxes import AddressBoxes, address_boxes, choose_pools, colocated_buffers_live_in_one_pool
from memplan.solvers.cp_sat.model import offsets_are_legal
from memplan.solvers.heuristics.ejection import Places
from memplan.solvers.processes.threads import threads_of_one
from memplan.solvers.search.meanwhile import call_periodically

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar

MOST_BUFFERS = 600
"""The maximum number of buffers for a proof; in larger instances, only neighbourhoods are searched."""
_LOOK_EVERY_S = 0.02
_WORK_PER_S = 0.1
"""The deterministic seconds of CP-SAT that correspond to about one second of wall time on such models."""


@dataclass(frozen=True)
class FewestMoves:
    """The result of a search: the places or None, a lower bound on the moved weight, and whether it is optimal."""

    places: Places | None
    bound: int
    is_proved: bool


@dataclass(frozen=True)
class EngineLimit:
    """The time limit of CP-SAT, counted in CP-SAT's deterministic seconds if `deterministic` is true."""

    seconds: float
    deterministic: bool = False
    seed: int = 0


def minimise_moves(
    instance: Instance,
    homes: Places,
    weight: I64,
    start: Places,
    *,
    limit: EngineLimit,
    flag: I64,
    free: I64 | None = None,
) -> FewestMoves:
    """Return placements with the smallest weight of buffers away from `homes` (old places; ABSENT without one).

    Only the buffers `free` (by default all) may leave their places in `start`. No buffer may end above the capacity of
    its pool. All constraint kinds of instances are respected. Setting flag[0] ends the search.
    """
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    boxes = _add_placements(model, instance)
    if any(len(mine) == 0 for mine in boxes):
        return FewestMoves(None, 0, True)
    moves = {}
    for i in np.flatnonzero((homes.offset != ABSENT) & (weight > 0)).tolist():
        box = boxes[i].get(int(homes.pool[i]))
        # A buffer whose old place is out of range must move, so it gets no Boolean and `away` counts its weight.
        if box is None or not box.lowest <= homes.offset[i] <= box.highest:
            continue
        moves[i] = model.new_bool_var("")
        model.add(box.start == int(homes.offset[i])).only_enforce_if(~moves[i])
        model.add_implication(~moves[i], box.is_here)
    _add_start(model, boxes, moves, homes, start, free)
    model.minimize(sum(int(weight[i]) * move for i, move in moves.items()))
    solver = cp_model.CpSolver()
    solver.parameters.random_seed = limit.seed % 2**31
    if limit.deterministic:
        solver.parameters.num_workers = 1
        solver.parameters.max_deterministic_time = _WORK_PER_S * limit.seconds
    else:
        solver.parameters.num_workers = threads_of_one()
        solver.parameters.max_time_in_seconds = max(0.01, limit.seconds)

    with call_periodically(lambda: solver.stop_search() if flag[0] else None, _LOOK_EVERY_S, "memplan-flag"):
        status = solver.solve(model)
    # Buffers without a Boolean move in every placement, so their weight belongs to the bound.
    away = int(weight[(homes.offset != ABSENT)].sum()) - sum(int(weight[i]) for i in moves)
    # Weights are integers, so round the float bound of CP-SAT up, with a tolerance for its rounding error.
    bound = max(0, ceil(solver.best_objective_bound - 1e-6)) if status != cp_model.INFEASIBLE else 0
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return FewestMoves(None, away + (bound if status == cp_model.UNKNOWN else 0), False)
    pool = [next(q for q, box in mine.items() if solver.boolean_value(box.is_here)) for mine in boxes]
    offset = [solver.value(mine[q].start) for mine, q in zip(boxes, pool, strict=True)]
    return FewestMoves(Places(column(pool), column(offset)), away + bound, status == cp_model.OPTIMAL)


def _add_placements(model: CpModel, instance: Instance) -> AddressBoxes:
    ends = tuple(pool.capacity for pool in instance.pools)
    boxes = address_boxes(model, instance, ends)
    if any(len(mine) == 0 for mine in boxes):
        return boxes
    choose_pools(model, boxes)
    colocated_buffers_live_in_one_pool(model, instance, boxes)
    offsets_are_legal(model, instance, boxes, ends)
    return boxes


def _add_start(
    model: CpModel, boxes: AddressBoxes, moves: dict[int, IntVar], homes: Places, start: Places, free: I64 | None
) -> None:
    """Add the placement `start` to the model as a hint, and fix the buffers that are not `free` to it."""
    is_free = np.zeros(len(boxes), dtype=np.bool_)
    is_free[np.arange(len(boxes)) if free is None else free] = True
    for i, mine in enumerate(boxes):
        q, offset = int(start.pool[i]), int(start.offset[i])
        if not is_free[i]:
            model.add(mine[q].start == offset)
            model.add(mine[q].is_here == 1)
            continue
        model.add_hint(mine[q].start, offset)
        if i in moves:
            model.add_hint(moves[i], bool(offset != homes.offset[i] or q != homes.pool[i]))
