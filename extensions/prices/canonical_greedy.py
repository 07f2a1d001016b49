"""The canonical greedy planner of dsa-solver, which places each buffer at the cheapest of a few candidate offsets.

The candidates are 0, the ends of reserved ranges, and the ends of placed buffers that conflict with the buffer or share
bytes with it at a cost. Several orders of buffers and first fit are tried, and the cheapest plan is returned.
"""

from collections.abc import Iterator
from random import Random

import numpy as np

from memplan.extensions.prices.core.kernels import NEVER
from memplan.extensions.prices.pieces import Piece, pools_of, suits, whole_offsets
from memplan.planner.instance.compile import compile_problem, lift
from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.problem import Problem
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.reference.tensors import PlannerAnswer, StopCheck, tensors

_SHUFFLES = 4
_NEEDS = "dsa-solver needs exactly one pool for each buffer, with a given size"


def canonical_greedy(problem: Problem, seed: int, stop_check: StopCheck) -> PlannerAnswer:
    """Try several orders of buffers, place each buffer at the cheapest candidate, and return the cheapest plan.

    Of equally cheap candidates, the lowest is used. Random orders differ from those of the C++ original.

    Source: tonibohnlein/dsa-solver a8d1257, src/dsa/algorithms/reuse_penalty_baseline_solvers.cpp:
    CanonicalGreedySolver, first_fit_solver.cpp: FirstFitSolver.
    """
    instance = compile_problem(problem)
    if not suits(instance) or any(pool.size is None for pool in problem.pools):
        return PlannerAnswer({}, because=_NEEDS)
    pieces = pools_of(instance, Costs.from_instance(instance).clash)
    born = {tensor.position: tensor.start for tensor in tensors(problem, stop_check)}
    birth = column([born[i] for i in instance.source.tolist()])
    best: tuple[int, I64] | None = None
    for is_blind in (True, False):
        is_first_fit = best is not None
        for order in _ranks_by_order(pieces, birth, seed):
            offset = np.zeros(len(instance), dtype=np.int64)
            price = 0
            for piece in pieces:
                at = _place_by_rank(piece, order, is_blind, stop_check)
                if at is None:
                    break
                whole_offsets(piece, at, offset)
                price += piece.cost(at)
            else:
                if best is None or price < best[0] or (is_first_fit and price == best[0]):
                    best, is_first_fit = (price, offset), False
    if best is None:
        return PlannerAnswer({}, because="canonical greedy places all buffers in no order that it tries")
    placements = lift(problem, instance, instance.allowed.argmax(axis=0), best[1])
    names = [problem.pool_index[name] for name in placements.pool_names]
    rows = zip(placements.ids, placements.pool.tolist(), placements.offset.tolist(), strict=True)
    return PlannerAnswer({problem.index[name]: (names[q], at) for name, q, at in rows})


def _ranks_by_order(pieces: list[Piece], birth: I64, seed: int) -> Iterator[I64]:
    """Yield the buffers' ranks in each order to try: by start and size, by start, by size and price, and random."""
    size, weight = np.zeros(len(birth), dtype=np.int64), np.zeros(len(birth), dtype=np.int64)
    for piece in pieces:
        size[piece.members] = piece.size * piece.unit
        weight[piece.members] = np.maximum(piece.price, 0).sum(axis=1)
    for keys in ((birth, -size), (birth,), (-size, -weight)):
        yield np.argsort(np.lexsort(keys))
    random, ranks = Random(seed), list(range(len(birth)))
    for _ in range(_SHUFFLES):
        random.shuffle(ranks)
        yield column(ranks)


def _place_by_rank(piece: Piece, rank: I64, is_blind: bool, stop_check: StopCheck) -> I64 | None:
    """Place a pool's buffers by rank, each at the cheapest offset; return the offsets, or None if one does not fit."""
    at = np.full(len(piece), -1)
    for i in np.argsort(rank[piece.members]).tolist():
        stop_check()
        near = np.flatnonzero((piece.price[i] != 0) & (at >= 0))
        price, low, high = piece.price[i, near], at[near], at[near] + piece.size[near]
        first, step = piece.lowest[i], piece.step[i]
        starts = np.unique(np.concatenate(([first], high, piece.reserved[:, 1])))
        starts = np.unique(first - (first - starts[starts >= first]) // step * step)[:, None]
        meets = (starts < high) & (low < starts + piece.size[i])
        in_use = (starts < piece.reserved[:, 1]) & (piece.reserved[:, 0] < starts + piece.size[i])
        is_free = ~(meets & (price == NEVER)).any(axis=1) & ~in_use.any(axis=1) & (starts[:, 0] <= piece.highest[i])
        if not is_free.any():
            return None
        paid = (meets[is_free] * np.maximum(price, 0)).sum(axis=1)
        at[i] = starts[is_free, 0][0 if is_blind else paid.argmin()]
    return at
