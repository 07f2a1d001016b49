"""The search for cheap plans of any size.

It fills the preferred pools by gain per byte, and packs them in quick orders.

An item is a set of buffers that must share a pool. An item's gain in a pool is the item's price in the best later pool
minus that in this pool. Multipliers give the value of an item's bytes. Items are chosen in descending order of gain per
value, the better pool first, while the load of each live set allows. Some capacity stays free, because packings leave
gaps. If an item gets no offset in a packing, it moves to the next pool, where it fills gaps. Then a local search
changes the choice: in a range of time, items of low gain per value leave their pools, so that others can use the bytes,
and all buffers are packed again.
"""

from __future__ import annotations

import numpy as np

from memplan.planner.instance.instance import F64, Bool
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.formulation.pair_rules import pairs_of
from memplan.solvers.heuristics.greedy import preference
from memplan.solvers.memory_choice.knapsack import Knapsack
from memplan.solvers.memory_choice.multipliers import Multipliers
from memplan.solvers.packing.orders import RULES, Traits
from memplan.solvers.packing.packer import Packer, packing_work
from memplan.solvers.packing.place import bounded_first
from memplan.solvers.search.incumbent import Search

_CAPACITY_PARTS = (1.0, 0.98, 0.95, 0.92, 0.88)
"""The shares of each capacity that a choice may use."""
_RULES = (RULES[3], RULES[1], RULES[7])
_SHARES = (0.02, 0.05, 0.1, 0.2)
"""The shares of all items that may leave their pools at once."""
_STRETCHES = (0.02, 0.05, 0.1, 1.0)
"""The lengths of the time ranges in which items leave, as shares of all rows."""
_PATIENCE = 300
"""The packings without a gain after which the search ends."""


class ChoiceSearch:
    """The search that fills pools by ratio[q, j]: the gain of item `j` in pool `q` per value of its bytes."""

    def __init__(self, knapsack: Knapsack, search: Search, multipliers: Multipliers) -> None:
        """Compute each item's gain per value of its bytes, and which buffers are alone in their items."""
        self.knapsack, self.search = knapsack, search
        instance = self.instance = knapsack.instance
        self.pools = preference(instance)
        self.packer, self.traits = Packer(instance, search.flag), Traits(instance)
        self.pairs = pairs_of(instance.share_first, instance.share)
        self.rng = np.random.default_rng(search.seed)
        self.ratio = _ratios(knapsack, multipliers, self.pools)
        self.is_alone = np.bincount(knapsack.item)[knapsack.item] == 1

    def start(self, name: str) -> None:
        """Offer plans that fill different shares of the pools' capacity, each packed by several sorting rules."""
        for part in _CAPACITY_PARTS:
            home = self._choice_by_ratio(part)
            for rule in _RULES:
                if self.search.is_over:
                    return
                order = rule.order(self.traits)
                self._offer(self._pack(home[self.knapsack.item], order, self.ratio), f"{name}:fill")

    def improve(self, name: str) -> None:
        """Offer better plans by local search from the best one, until the search is over or stalls."""
        cost = packing_work(self.instance)
        most = self.search.work_limit // cost if self.search.deterministic else 2**62
        since, tried = 0, 0
        while since < _PATIENCE and tried < most and not self.search.is_over:
            best = self.search.best
            if best is None:
                return
            # No pool has the number `len(pools)`, so a buffer with this number may fill gaps in any pool.
            pool = np.where(self._leaving_buffers(best.pool), len(self.pools), best.pool)
            noise = np.exp(self.rng.choice([0.0, 0.1, 0.3]) * self.rng.standard_normal(self.ratio.shape))
            packed = self._pack(pool, np.argsort(best.offset, kind="stable"), self.ratio * noise)
            since = 0 if self._offer(packed, f"{name}:exchange") else since + 1
            tried += 1

    def _choice_by_ratio(self, part: float) -> I64:
        """Return a pool for each item, chosen by ratio while the loads stay within the share `part` of the capacities.

        The last pool takes all items that remain.
        """
        knapsack = self.knapsack
        home = np.full(knapsack.n_items, ABSENT)
        spans = _item_lifetimes(knapsack)
        for q in self.pools[:-1]:
            capacity = (part * knapsack.row_capacities[q].capacity_below(self.instance.pools[q].capacity)).astype(
                np.int64
            )
            load = np.zeros(knapsack.rows, dtype=np.int64)
            order = np.argsort(-self.ratio[q], kind="stable")
            for j in order[(home[order] == ABSENT) & (self.ratio[q, order] >= 1)].tolist():
                if all((load[low:high] + knapsack.size[q, i] <= capacity[low:high]).all() for i, low, high in spans[j]):
                    for i, low, high in spans[j]:
                        load[low:high] += knapsack.size[q, i]
                    home[j] = q
        return np.where(home == ABSENT, self.pools[-1], home)

    def _leaving_buffers(self, pool: I64) -> Bool:
        """Return a random mask of buffers to leave their pools: alive in one time range, and mostly of low ratio."""
        rows, knapsack = self.knapsack.rows, self.knapsack
        ratio = self.ratio[pool, knapsack.item]
        key = ratio * np.exp(0.5 * self.rng.standard_normal(len(ratio)))
        chosen = key <= np.quantile(key, self.rng.choice(_SHARES))
        low = self.rng.integers(rows)
        high = low + max(1, int(rows * self.rng.choice(_STRETCHES)))
        meets = np.zeros(len(ratio), dtype=np.bool_)
        meets[knapsack.lifetime_buffer[(knapsack.start < high) & (knapsack.end > low)]] = True
        return np.asarray(chosen & meets)

    def _pack(self, pool: I64, order: I64, ratio: F64) -> tuple[I64, I64] | None:
        """Pack a choice of pools in an order, pool after pool; return the pool and the offset of each buffer.

        If a buffer does not fit into its chosen pool, it may fill gaps in other pools; there, the buffers of highest
        ratio come first. Returns None if a buffer fits nowhere.
        """
        instance, item = self.instance, self.knapsack.item
        packer = self.packer
        if self.pairs:  # Pairs that may share bytes do so where both are in one pool.
            packer = Packer(instance, self.search.flag, [(i, j) for i, j in self.pairs if pool[i] == pool[j]])
        found_pool, offsets = np.zeros(len(item), dtype=np.int64), np.full(len(item), ABSENT)
        for q in self.pools:
            is_last = q == self.pools[-1]
            waiting = (offsets == ABSENT) & instance.allowed[q]
            chosen = order[waiting[order] & (pool[order] == q)]
            by_gain = order if is_last else np.argsort(-ratio[q, item], kind="stable")
            # In other pools, only a part of an item of several buffers may fit, so try such items only where chosen.
            others = by_gain[(waiting & (pool != q) & (self.is_alone | is_last))[by_gain]]
            mine = np.concatenate((chosen, others))
            mine = bounded_first(instance, mine)
            offsets[mine], found_pool[mine] = packer.pack(q, mine), q
            is_out = np.zeros(self.knapsack.n_items, dtype=np.bool_)
            # If one buffer of an item finds no offset, the whole item moves to the next pool: drop the item's offsets.
            is_out[item[offsets == ABSENT]] = True
            offsets[is_out[item]] = ABSENT
        return None if (offsets == ABSENT).any() else (column(found_pool), column(offsets))

    def _offer(self, packed: tuple[I64, I64] | None, by: str) -> bool:
        return packed is not None and self.search.offer(*packed, by)


def _ratios(knapsack: Knapsack, multipliers: Multipliers, pools: tuple[int, ...]) -> F64:
    """Return an array (p, k) of ratios: an item's gain in a pool over its best later pool, per value of its bytes."""
    prices = np.where(knapsack.homes, multipliers.prices(knapsack) / multipliers.scale, np.inf)
    own = np.where(knapsack.homes, knapsack.price, np.inf)
    # Capacity without value would give an infinite ratio, so divide by at least 1e-9.
    taken = np.maximum(prices - knapsack.price, 1e-9)
    ratio = np.zeros(prices.shape)
    for rank, q in enumerate(pools):
        later = prices[list(pools[rank + 1 :])].min(axis=0, initial=np.inf)
        gain = np.where(np.isfinite(own[q]), later - np.where(np.isfinite(own[q]), own[q], 0), -np.inf)
        ratio[q] = np.clip(gain / np.where(np.isfinite(taken[q]), taken[q], 1.0), -1e12, 1e12)
    return ratio


def _item_lifetimes(knapsack: Knapsack) -> list[list[tuple[int, int, int]]]:
    spans: list[list[tuple[int, int, int]]] = [[] for _ in range(knapsack.n_items)]
    columns = (knapsack.item_of_lifetime, knapsack.lifetime_buffer, knapsack.start, knapsack.end)
    for j, i, start, end in zip(*(values.tolist() for values in columns), strict=True):
        spans[j].append((i, start, end))
    return spans
