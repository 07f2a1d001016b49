"""The choice of pools without offsets: in no live set may the bytes in a pool exceed its capacity.

Every assignment is such a choice, so a bound on choices is also a bound on assignments. Rules on offsets and prices of
pairs are left out, and so are the bytes that a buffer may share with a larger one. The choice is a multiple-choice
knapsack problem with a row for each live set and pool. All offsets in a pool are multiples of its granule, so buffers
that are alive together occupy different granules. Only the last granule of the topmost buffer may exceed the pool's
end.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

import numpy as np

from memplan.planner.instance.instance import F64, I64_MAX, Bool, CompiledPool, Instance
from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.core.choice import ChoiceItems
from memplan.solvers.core.tables import Reference
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.formulation.sharing import Sharing

Amounts = TypeVar("Amounts", I64, F64)

_MOST_KINDS = 64
"""The most different amounts of waste that are distinguished between rows."""


class RowCapacity:
    """The capacity of a pool in each row (live set), in units.

    Buffer `i` occupies size[i] units, and all buffers together at most `most`. `lives` are the lifetimes as arrays
    (lifetime_buffer, start, end), in rows. In row `r`, all buffers end at or below top[r].
    """

    def __init__(self, instance: Instance, q: int, lives: tuple[I64, I64, I64], rows: int, top: I64) -> None:
        """Round sizes and reserved ranges to the granule of the pool's offsets, and compute the waste in each row."""
        here = instance.allowed[q]
        step = int(np.gcd.reduce(instance.alignment[q, here], initial=0)) or 1
        self.top = top
        self.granule = step if not (instance.lowest[q, here] % step).any() else 1
        self.size: I64 = -(-instance.size // self.granule) * self.granule
        self.most = int(self.size[here].sum())
        self.reserved = _rounded_reserves(instance.pools[q], self.granule)
        self.waste = _waste_by_row(np.where(here, self.size - instance.size, 0), lives, rows)
        self.widest_waste = int(self.waste.max(initial=0))
        last = self.reserved[-1][1] if self.reserved else 0
        self.horizon = last + self.most + self.granule

    def capacity_below(self, end: int) -> I64:
        """Return, for each row (live set), the usable units below `end`, at most the total size of all buffers."""
        # A buffer's last granule may exceed the end by its unused units, so add them to the end.
        ends = (np.minimum(min(end, self.horizon), self.top) + self.waste) // self.granule * self.granule
        free = ends.copy()
        for low, high in self.reserved:
            free -= np.clip(ends, low, high) - low
        return np.minimum(self.most, free)

    def reach(self, load: I64) -> int:
        """Return the least end, in units, below which each row (live set) has room for its entry of `load`."""
        return int((self._filled_ends(load) - np.where(load > 0, self.waste, 0)).max(initial=0))

    def min_end(self, load: int) -> int:
        """Return a lower bound, in units, on the pool's end in a plan where one row (live set) has this load."""
        return int(self._filled_ends(np.array([load]))[0]) - self.widest_waste if load > 0 else 0

    def _filled_ends(self, load: I64) -> I64:
        ends = load.copy()
        for low, high in self.reserved:
            ends += np.where(low < ends, high - low, 0)
        return ends


def _rounded_reserves(pool: CompiledPool, granule: int) -> list[tuple[int, int]]:
    rows = pool.reserved.tolist()
    return [(-(-low // granule) * granule, -(-high // granule) * granule) for low, high in rows]


def _waste_by_row(waste: I64, lives: tuple[I64, I64, I64], rows: int) -> I64:
    """Return, for each row (live set), the most units that a live buffer leaves unused in the last granule."""
    lifetime_buffer, start, end = lives
    kinds = np.unique(waste[waste > 0])
    # The largest waste is valid for all rows but gives a weaker bound, so use it only for many kinds of waste.
    if len(kinds) > _MOST_KINDS:
        return np.full(rows, int(kinds[-1]))
    wasted = np.zeros(rows, dtype=np.int64)
    for kind in kinds.tolist():
        mine = waste[lifetime_buffer] == kind
        change = np.zeros(rows + 1, dtype=np.int64)
        np.add.at(change, start[mine], 1)
        np.subtract.at(change, end[mine], 1)
        wasted[np.cumsum(change)[:-1] > 0] = kind
    return wasted


_LARGEST = 2**58
"""The limit on sums of sizes and of costs, so that products with small multipliers fit int64."""


@dataclass(eq=False)
class Knapsack:
    """The choice of pools as a knapsack problem: `k` items, each to be put into one of `p` pools, and `rows` rows.

    An item is a set of buffers that must be in one pool. Rows are the live sets in the order of time, followed by
    cliques of buffers without lifetimes; in each row, the capacity of each pool is limited. The row of a live set may
    precede a row of those of its buffers whose ends are limited. Lifetime `m` of buffer lifetime_buffer[m] covers
    the rows `start[m]:end[m]`. In pool `q`, buffer `i` occupies size[q, i] units, in whole granules of the pool. Item
    `j` may be in pool `q` if homes[q, j], and adds price[q, j] to the cost there, in steps above the cheapest
    conceivable plan.
    """

    instance: Instance
    costs: Costs | None
    size: I64 = field(init=False)  # (p, n): size of each buffer in each pool, in units
    item: I64 = field(init=False)  # (n,): number of the item of each buffer
    homes: Bool = field(init=False)  # (p, k): True if the item may be in the pool
    price: I64 = field(init=False)  # (p, k): price of each item in each pool, in steps
    lifetime_buffer: I64 = field(init=False)
    start: I64 = field(init=False)
    end: I64 = field(init=False)
    rows: int = field(init=False)
    row_capacities: list[RowCapacity] = field(init=False)

    @classmethod
    def from_instance(cls, instance: Instance) -> "Knapsack | None":
        """Return the choice of pools of an instance, or None if its numbers exceed int64."""
        costs = Costs.from_instance(instance) if instance.objective == "cost" else None
        total = float(instance.size.sum(dtype=np.float64) + instance.alignment.max(axis=0, initial=1).sum())
        if not instance.is_small_numbered or total >= _LARGEST or (costs is not None and costs.max_steps >= _LARGEST):
            return None
        return cls(instance, costs)

    def __post_init__(self) -> None:
        """Number the items and the rows, and compute what each buffer occupies in each pool."""
        instance = self.instance
        self.item, self.homes, self.price = self._item_columns()
        # Buffers without lifetimes are in no live set, so append rows for the cliques of their explicit conflicts.
        timeless = _covering_cliques(instance, np.flatnonzero(np.diff(instance.first) == 0))
        members = np.array([i for clique in timeless for i in clique], dtype=np.int64)
        row = instance.n_live_sets + np.repeat(np.arange(len(timeless)), [len(clique) for clique in timeless])
        self.lifetime_buffer = column(np.concatenate((instance.lifetime_buffer, members)))
        self.start = column(np.concatenate((instance.start, row)))
        self.end = column(np.concatenate((instance.end, row + 1)))
        self.rows = instance.n_live_sets + len(timeless)
        if not instance.features.isdisjoint({"relative", "sharing"}):
            self.lifetime_buffer, self.start, self.end = self._lifetimes_of_own_bytes()
        tops = self._insert_rows_of_low_buffers()
        lives = self.lifetime_buffer, self.start, self.end
        self.row_capacities = [RowCapacity(instance, q, lives, self.rows, top) for q, top in enumerate(tops)]
        self.size = np.stack([capacity.size for capacity in self.row_capacities])

    def _lifetimes_of_own_bytes(self) -> tuple[I64, I64, I64]:
        """Return the lifetimes (buffer, start, end), in rows, without the rows in which a larger buffer may hide one.

        A buffer hides another one with which it may share bytes. So no byte counts twice in a row.
        """
        sharing, partners = Sharing(self.instance), self._partners()
        columns = (self.lifetime_buffer, self.start, self.end)
        free = ~np.array(sharing.is_tied)[self.lifetime_buffer]
        kept = [[*values[free].tolist()] for values in columns]
        spans: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for i, start, end in zip(*(values[~free].tolist() for values in columns), strict=True):
            spans[i].append((start, end))
        groups: dict[int, list[int]] = defaultdict(list)
        for i in spans:
            groups[int(self.instance.anchor[i])].append(i)
        for i in sorted(spans, key=lambda i: (-int(self.instance.size[i]), i)):
            views = (j for j in groups[int(self.instance.anchor[i])] if j != i and sharing.overlap_always(i, j))
            larger = [j for j in {*partners[i], *views} if (-self.instance.size[j], j) < (-self.instance.size[i], i)]
            for j in larger:
                for low, high in spans[j]:
                    cut = [((start, min(end, low)), (max(start, high), end)) for start, end in spans[i]]
                    spans[i] = [(start, end) for both in cut for start, end in both if start < end]
            for start, end in spans[i]:
                for values, value in zip(kept, (i, start, end), strict=True):
                    values.append(value)
        buffer, start, end = map(column, kept)
        return buffer, start, end

    def _partners(self) -> dict[int, list[int]]:
        """Return, for each buffer, those with which it may share bytes at an offset that both may have in some pool."""
        instance = self.instance
        pairs = np.stack((np.repeat(np.arange(len(instance)), np.diff(instance.share_first)), instance.share))
        low, high, step = (values[:, pairs] for values in (instance.lowest, instance.highest, instance.alignment))
        may = instance.allowed[:, pairs].all(axis=1) & (low.max(axis=1) <= high.min(axis=1))
        may &= (low[:, 0] - low[:, 1]) % np.gcd(step[:, 0], step[:, 1]) == 0
        partners = defaultdict[int, list[int]](list)
        for i, j in pairs.T[may.any(axis=0)].tolist():
            partners[i].append(j)
        return partners

    def _insert_rows_of_low_buffers(self) -> I64:
        """Return the highest end (p, rows) of a buffer, after rows are inserted for the buffers whose ends are limited.

        Such a row follows the row of a live set if these buffers may not fit below their limits.
        """
        instance, buffer, start, end = self.instance, self.lifetime_buffer, self.start, self.end
        limited = instance.allowed & (instance.highest < I64_MAX)
        limited &= (limited == instance.allowed).all(axis=0)
        if not limited.any():
            return np.full((len(limited), self.rows), I64_MAX)
        tops = (instance.highest + instance.size).max(axis=1, where=limited, initial=0)
        load = self.row_sums(np.where(limited[:, buffer], instance.size[buffer], 0))
        follow = np.flatnonzero((load > tops[:, None]).any(axis=0))
        before = np.searchsorted(follow, np.arange(self.rows + 1))
        number = np.arange(self.rows + 1) + before
        # The lifetimes of other buffers are cut where such a row follows.
        is_low: Bool = np.logical_or.reduce(limited)[buffer]
        pieces = np.where(is_low, 1, 1 + before[end - 1] - before[start])
        of = np.repeat(np.arange(len(buffer)), pieces)
        k = np.arange(len(of)) - (np.cumsum(pieces) - pieces)[of]
        cuts = np.append(follow + 1, 0)
        first = np.where(k == 0, start[of], cuts[before[start[of]] + k - 1])
        stop = np.where(k == pieces[of] - 1, end[of], cuts[np.minimum(before[start[of]] + k, len(follow))])
        self.lifetime_buffer, self.start = column(buffer[of]), column(number[first])
        self.end = column(np.where(is_low[of], number[stop], number[stop - 1] + 1))
        self.rows = int(number[-1])
        highest = np.full((len(tops), self.rows), I64_MAX)
        highest[:, number[follow] + 1] = tops[:, None]
        return highest

    def _item_columns(self) -> tuple[I64, Bool, I64]:
        """Return each buffer's item (n,), a mask of each item's allowed pools (p, k), and each item's price (p, k)."""
        instance = self.instance
        first, item = np.unique(instance.colocation, return_inverse=True)
        shape = (len(instance.pools), len(first))
        homes, price = np.ones(shape, dtype=np.bool_), np.zeros(shape, dtype=np.int64)
        for q in range(shape[0]):
            np.logical_and.at(homes[q], item, instance.allowed[q])
        for i, extra in enumerate([] if self.costs is None else self.costs.extra):
            for q, steps in extra.items():
                price[q, item[i]] += steps
        return column(item), homes, price

    @property
    def n_items(self) -> int:
        """The number of items (sets of buffers that must be in one pool)."""
        return int(self.homes.shape[1])

    @property
    def mean_alive(self) -> float:
        """The mean number of buffers in a row."""
        return float((self.end - self.start).sum()) / max(1, self.rows)

    @cached_property
    def item_of_lifetime(self) -> I64:
        """The number of the item of each lifetime's buffer, as an array (m,)."""
        return column(self.item[self.lifetime_buffer])

    @cached_property
    def size_of_lifetime(self) -> I64:
        """The units that each lifetime's buffer occupies in each pool, as an array (p, m)."""
        return self.size[:, self.lifetime_buffer]

    @cached_property
    def table(self) -> Reference[ChoiceItems]:
        """The knapsack in the layout that kernels read."""
        tables = (np.ascontiguousarray(self.homes, dtype=np.int64), np.ascontiguousarray(self.price), self.size)
        return Reference(ChoiceItems(self.rows, self.item, *tables, self.lifetime_buffer, self.start, self.end))

    def limits(self, ends: list[int]) -> I64:
        """Return an array (p, rows) with the capacity of each pool in each row below the given ends, in units."""
        return np.stack([capacity.capacity_below(end) for capacity, end in zip(self.row_capacities, ends, strict=True)])

    def row_sums(self, amounts: Amounts) -> Amounts:
        """Return an array (r, rows): for each row, the sum of `amounts` (r, m) over the lifetimes that cover it."""
        # numpy's add.at is much faster on flat arrays, so flatten the amounts.
        change = np.zeros(len(amounts) * (self.rows + 1), dtype=amounts.dtype)
        before = np.arange(len(amounts))[:, None] * (self.rows + 1)
        np.add.at(change, (before + self.start).ravel(), amounts.ravel())
        np.subtract.at(change, (before + self.end).ravel(), amounts.ravel())
        sums: Amounts = np.cumsum(change.reshape(len(amounts), -1), axis=1)[:, :-1]
        return sums

    def loads(self, home: I64) -> I64:
        """Return the load of each pool in each row (live set), (p, rows), if each item `j` is in pool home[j]."""
        pools = np.arange(len(self.row_capacities))[:, None]
        return self.row_sums(np.where(home[self.item_of_lifetime] == pools, self.size_of_lifetime, 0))

    def cost(self, home: I64) -> int:
        """Return the cost of a choice in steps, if each item `j` is in pool home[j]."""
        return int(self.price[home, np.arange(self.n_items)].sum())


def _covering_cliques(instance: Instance, timeless: I64) -> list[list[int]]:
    """Return cliques of explicit conflicts that together contain the given buffers, built from the largest buffer."""
    among = set(timeless.tolist())
    near = {
        i: among.intersection(instance.conflict[instance.conflict_first[i] : instance.conflict_first[i + 1]].tolist())
        for i in among
    }
    by_size = sorted(among, key=lambda i: (-int(instance.size[i]), i))
    covered: set[int] = set()
    cliques: list[list[int]] = []
    for i in by_size:
        if i in covered:
            continue
        clique, common = [i], near[i]
        for j in by_size:
            if j in common:
                clique.append(j)
                common = common & near[j]
        covered.update(clique)
        cliques.append(clique)
    return cliques
