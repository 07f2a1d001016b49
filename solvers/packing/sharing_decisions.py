"""Decisions on pairs before a packing: which pairs share an offset, and which priced pairs must not meet."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.instance.objective import cost_mask
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.constraints.kept import adjacency
from memplan.solvers.formulation.pair_rules import Pair, pairs_of
from memplan.solvers.packing.packer import Packer

_DENSITIES = (0.0, 0.5, 1.0)
_FRESH = 0.3
"""The probability of decisions that do not depend on the best plan."""


@dataclass(frozen=True)
class SharingDecisions:
    """The decisions for one packing: pairs that share an offset, and priced pairs that are kept apart.

    The two buffers of a `glued` pair share an offset if possible. `parted` has the numbers of the separated pairs.
    """

    glued: tuple[Pair, ...] = ()
    parted: tuple[int, ...] = ()

    def packer(self, instance: Instance, flag: I64) -> Packer:
        """Return a packer of the instance that follows these decisions."""
        return Packer(forbid_sharing(instance, self.parted) if self.parted else instance, flag, glued=self.glued)


def extreme_decisions(instance: Instance) -> list[SharingDecisions]:
    """Return the extreme decisions: all or no pairs share an offset, and all or no priced pairs are kept apart."""
    pairs, soft = tuple(share_pairs(instance)), tuple(range(len(instance.priced_pairs)))
    glues: list[tuple[Pair, ...]] = [(), pairs] if pairs else [()]
    return [SharingDecisions(glued, apart) for apart in ([soft, ()] if soft else [()]) for glued in glues]


def is_needed(instance: Instance) -> bool:
    """Return True if there is something to decide: pairs that may share an offset, or priced pairs."""
    return not instance.features.isdisjoint({"sharing", "bank-weights", "reuse"})


def random_decisions(
    instance: Instance, rng: np.random.Generator, known: tuple[I64, I64] | None = None
) -> SharingDecisions:
    """Return random decisions: those of a known plan (pool, offset) with a few changes, or independent ones."""
    pairs = np.array(share_pairs(instance), dtype=np.int64).reshape(-1, 2)
    if known is None or rng.random() < _FRESH:
        glued = rng.random(len(pairs)) < _DENSITIES[rng.integers(len(_DENSITIES))]
        apart = rng.random(len(instance.priced_pairs)) < _DENSITIES[rng.integers(len(_DENSITIES))]
    else:
        glued = _flipped_decisions(is_shared(pairs, *known), rng)
        apart = _flipped_decisions(~cost_mask(instance, *known), rng)
    return SharingDecisions(tuple((int(i), int(j)) for i, j in pairs[glued]), tuple(np.flatnonzero(apart).tolist()))


def _flipped_decisions(is_chosen: Bool, rng: np.random.Generator) -> Bool:
    is_flipped: Bool = is_chosen ^ (rng.random(len(is_chosen)) * max(1, len(is_chosen)) < 1)
    return is_flipped


def is_shared(pairs: I64, pool: I64, offset: I64) -> Bool:
    """Return, for each of the pairs (k, 2), True if its buffers have the same pool and the same offset."""
    i, j = pairs.T
    return np.asarray((pool[i] == pool[j]) & (offset[i] == offset[j]))


def share_pairs(instance: Instance) -> list[Pair]:
    """Return the pairs that may share an offset, as (i, j) with i < j."""
    return pairs_of(instance.share_first, instance.share)


def forbid_sharing(instance: Instance, numbers: Sequence[int]) -> Instance:
    """Return the instance with prices replaced by prohibitions: the given priced pairs must not share bytes or banks.

    `numbers` are the numbers of the pairs. Pairs within one rigid group stay as before, because their distance is
    fixed.
    """
    chosen, priced = np.array(numbers, dtype=np.int64), instance.priced_pairs
    # Members of one rigid group have a fixed distance, so no rule can keep them apart: leave out their pairs.
    chosen = chosen[instance.anchor[priced.rows[chosen, 0]] != instance.anchor[priced.rows[chosen, 1]]]
    by_bank = priced.by_bank[chosen]
    named = (instance.bank_first, instance.bank_with), (instance.conflict_first, instance.conflict)
    rows = priced.rows[chosen[by_bank]], priced.rows[chosen[~by_bank]]
    (bank_first, bank_with), (first, conflict) = (
        adjacency(np.array([*pairs_of(*lists), *more.tolist()], dtype=np.int64), len(instance)) if len(more) else lists
        for lists, more in zip(named, rows, strict=True)
    )
    return replace(instance, bank_first=bank_first, bank_with=bank_with, conflict_first=first, conflict=conflict)
