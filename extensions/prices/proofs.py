"""Writes the certificate of a lower bound on the cost of reuse: the cliques and multipliers of all parts."""

import numpy as np

from memplan.extensions.prices.cuts import MOST_PAIRS, CutBound, cut_bounds
from memplan.extensions.prices.pieces import NO_END, Piece, suits
from memplan.extensions.prices.search import hard_pieces
from memplan.planner.instance.instance import Instance
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.search.control import Control

_ROUNDS = 400


def price_lines(instance: Instance, price: int, control: Control) -> list[str] | None:
    """Return the certificate's lines that prove a price (total of all pieces); None if no proof is found in time.

    Checkers compare cliques with the whole pool, so they may refuse a proof for an instance that `is_narrow`.
    """
    if price == 0:  # A bound of 0 needs no cliques, so return one empty part.
        return [f"scale {CutBound(0).scale}", "part"]
    if not suits(instance):
        return None
    step = int(Costs.from_instance(instance).step)
    lines, proved = [f"scale {CutBound(0).scale}"], 0
    for piece in hard_pieces(instance):
        if len(piece.pairs) > MOST_PAIRS:
            return None
        bound = CutBound(0)
        for better in cut_bounds(piece, 0, np.zeros(1, dtype=np.int64), _ROUNDS):
            bound = better
            if control.cancelled.is_set() or control.remaining_s <= 0:
                break
        # The prices of a piece are in steps of `Costs`, so scale the multipliers of its cliques by the step.
        proved += step * bound.bound
        lines.append("part")
        lines += [
            _clique_line(instance, piece, cut.members, cut.divisor, step * times) for cut, times in bound.multipliers
        ]
    return lines if proved >= price else None


def is_narrow(instance: Instance) -> bool:
    """Return True if pins or limits keep a piece's buffers out of some bytes of their pool."""
    for piece in hard_pieces(instance):
        pool = instance.pools[int(instance.allowed[:, piece.members[0]].argmax())]
        ends = (piece.highest + piece.size) * piece.unit
        if piece.lowest.min() > 0 or ends.max() < min(pool.capacity, NO_END):
            return True
    return False


def _clique_line(instance: Instance, piece: Piece, members: tuple[int, ...], divisor: int, times: int) -> str:
    rows = sorted(instance.source[piece.members[list(members)]].tolist())
    return " ".join(map(str, ("clique", times, divisor * piece.unit * instance.unit, *rows)))
