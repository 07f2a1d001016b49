"""Bounds, and the reasons for them."""

from __future__ import annotations

from dataclasses import dataclass

from memplan.planner.instance.objective import Score
from memplan.planner.model.plan import ProofKind


@dataclass(frozen=True)
class Witness:
    """The reason of a bound, or of infeasibility: buffers (positions in the instance) alive together at a time.

    Where `kind` is "clique" they conflict pairwise, but for various reasons, and there is no one time.
    `missing` is what `pool` lacks, in units, where nothing fits; `by` names the solvers, where a search is the proof.
    """

    kind: ProofKind
    time: int | None = None
    buffers: tuple[int, ...] = ()
    pool: int | None = None
    missing: int | None = None
    by: str | None = None


@dataclass(frozen=True)
class Bound:
    """No assignment has a smaller `score`, nor a smaller sum of what is used over the pools than `total` (units)."""

    score: Score
    witness: Witness
    total: int
    nothing_fits: Witness | None = None
