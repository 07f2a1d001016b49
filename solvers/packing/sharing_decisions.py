"""The decisions that constraints leave open: the pairs that share an offset, and those that lie in different banks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from memplan.planner.instance.instance import Bool, Instance
from memplan.planner.instance.objective import clashes
from memplan.planner.model.buffer_table import I64
from memplan.planner.model.constraints.kept import adjacency
from memplan.solvers.formulation.pair_rules import Pair, pairs_of
from memplan.solvers.packing.packer import Packer

_DENSITIES = (0.0, 0.5, 1.0)
_FRESH = 0.3
"""The probability that a choice has nothing to do with the best plan."""


@dataclass(frozen=True)
class SharingDecisions:
    """Packing with it, the `glued` pairs share an offset wherever they can, and the `parted` ones share no bank."""

    glued: tuple[Pair, ...] = ()
    parted: tuple[Pair, ...] = ()

    def packer(self, instance: Instance, flag: I64) -> Packer:
        """Return what packs an instance so."""
        return Packer(parted(instance, self.parted) if self.parted else instance, flag, glued=self.glued)


def extremes(instance: Instance) -> list[SharingDecisions]:
    """Return the choices that are all or nothing: first, no pair is glued, and all are parted."""
    pairs, soft = tuple(share_pairs(instance)), _rows(instance.soft_pairs)
    glues: list[tuple[Pair, ...]] = [(), pairs] if pairs else [()]
    return [SharingDecisions(glued, apart) for apart in ([soft, ()] if soft else [()]) for glued in glues]


def is_needed(instance: Instance) -> bool:
    """Say whether there is anything to choose."""
    return not instance.features.isdisjoint({"sharing", "bank-weights"})


def draw(instance: Instance, rng: np.random.Generator, known: tuple[I64, I64] | None = None) -> SharingDecisions:
    """Draw a choice: that of a known plan (pool, offset), but for a few pairs, or one that owes nothing to it."""
    pairs = np.array(share_pairs(instance), dtype=np.int64).reshape(-1, 2)
    if known is None or rng.random() < _FRESH:
        glued = rng.random(len(pairs)) < _DENSITIES[rng.integers(len(_DENSITIES))]
        apart = rng.random(len(instance.soft_pairs)) < _DENSITIES[rng.integers(len(_DENSITIES))]
    else:
        glued = _flipped(is_shared(pairs, *known), rng)
        apart = _flipped(~clashes(instance, instance.soft_pairs, *known), rng)
    return SharingDecisions(_rows(pairs[glued]), _rows(instance.soft_pairs[apart]))


def _flipped(is_chosen: Bool, rng: np.random.Generator) -> Bool:
    """Change about one of some decisions."""
    found: Bool = is_chosen ^ (rng.random(len(is_chosen)) * max(1, len(is_chosen)) < 1)
    return found


def is_shared(pairs: I64, pool: I64, offset: I64) -> Bool:
    """Say which pairs, (k, 2), have one offset in one pool."""
    i, j = pairs.T
    return np.asarray((pool[i] == pool[j]) & (offset[i] == offset[j]))


def share_pairs(instance: Instance) -> list[Pair]:
    """Return the pairs that may share an offset, as (i, j) with i < j."""
    return pairs_of(instance.share_first, instance.share)


def parted(instance: Instance, pairs: Sequence[Pair]) -> Instance:
    """Return an instance in which some pairs must lie in different banks that only should."""
    both = np.array([*pairs_of(instance.bank_first, instance.bank_with), *pairs], dtype=np.int64)
    bank_first, bank_with = adjacency(both, len(instance))
    return replace(instance, bank_first=bank_first, bank_with=bank_with)


def _rows(pairs: I64) -> tuple[Pair, ...]:
    return tuple((int(i), int(j)) for i, j in pairs)
