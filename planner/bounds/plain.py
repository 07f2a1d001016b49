"""The live-set bound of plain instances: one pool, one lifetime each, no rule but capacity and alignment.

It is that of `lower_bound.py`, for which nothing else holds there: the same numbers, and the same witness.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from memplan.planner.bounds.witness import Bound, Witness
from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.plan import ProofKind

# Rounded up to an alignment, another live set than the heaviest may have the highest end.
PEAKS_TRIED = 8
GRIDS_TRIED = 4
"""The most alignments with a bound of their own, beside what divides them all."""


def plain_bound(instance: Instance) -> Bound:
    """Return the best bound that live sets and alignments give, of an instance that is plain and small-numbered."""
    size, capacity = instance.size, instance.pools[0].capacity
    load = _load(instance, size)
    t = int(load.argmax())
    best = int(load[t]), _witness(instance, t, None, "live-set")
    nothing_fits = None if best[0] <= capacity else _overflow(best[0] - capacity, best[1])
    largest = int(size.argmax())
    if int(size[largest]) > best[0]:
        best = int(size[largest]), Witness("largest-buffer", buffers=(largest,))
    for step in _steps(instance):
        kept = instance.alignment[0] % step == 0
        waste = np.where(kept, -size % step, 0)
        mine = np.where(kept, size + waste, 0)
        rounded = _load(instance, mine)
        tried = np.argsort(np.negative(rounded), kind="stable")[:PEAKS_TRIED]
        alive = (instance.start <= tried[:, None]) & (tried[:, None] < instance.end) & kept
        # The topmost buffer wastes nothing above itself, and which one that is no bound can know: the most wasteful one
        # counts.
        ends = rounded[tried] - np.where(alive, waste, 0).max(axis=1)
        missing = int(rounded[tried[0]]) - -(-capacity // step) * step
        if missing > 0 and nothing_fits is None:
            nothing_fits = _overflow(missing, _witness(instance, int(tried[0]), kept, "alignment"))
        k = int(ends.argmax())
        if int(ends[k]) > best[0]:
            best = int(ends[k]), _witness(instance, int(tried[k]), kept, "alignment")
    end, witness = best
    if end > capacity:
        nothing_fits = _overflow(end - capacity, witness)
    return Bound((end,), witness, max(int(load[t]), end), nothing_fits)


def _overflow(missing: int, witness: Witness) -> Witness:
    return Witness("capacity", witness.time, witness.buffers, 0, missing)


def _witness(instance: Instance, t: int, kept: npt.NDArray[np.bool_] | None, kind: ProofKind) -> Witness:
    """Return the buffers of a live set, those that are kept, as a witness."""
    alive = (instance.start <= t) & (t < instance.end)
    rows = np.flatnonzero(alive if kept is None else alive & kept)
    return Witness(kind, int(instance.live_set_time[t]), tuple(rows.tolist()), 0)


def _load(instance: Instance, size: I64) -> I64:
    """Return the sum of sizes in each live set."""
    change = np.zeros(instance.n_live_sets + 1, dtype=np.int64)
    np.add.at(change, instance.start, size)
    np.subtract.at(change, instance.end, size)
    return change.cumsum()[:-1]


def _steps(instance: Instance) -> list[int]:
    """Return the alignments with a bound of their own: what divides all, and the commonest ones."""
    if "alignment" not in instance.features:
        return []
    alignment = instance.alignment[0]
    if int(alignment.min()) == int(alignment.max()):
        return [int(alignment[0])]
    steps, counts = np.unique(alignment, return_counts=True)
    coarse = {int(np.gcd.reduce(steps)), *steps[np.argsort(-counts, kind="stable")][:GRIDS_TRIED].tolist()} - {1}
    return sorted(coarse)
