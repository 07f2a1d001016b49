"""The instance of a problem: int64 columns and live sets, the only input of solvers.

`memplan.planner.instance.compile` creates it. Aliases are merged into the buffers that contain them, and zero-size
buffers are left out. Bytes are counted in units of the largest number that divides all relevant bytes, so that searches
work with small numbers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
import numpy.typing as npt

from memplan.planner.instance.columns import ALWAYS, NEVER, Axis, Column, Holds, Scale
from memplan.planner.instance.columns import I64_MAX as I64_MAX
from memplan.planner.model.buffer_table import ABSENT, I64, freeze
from memplan.planner.model.buffer_table import Bool as Bool
from memplan.planner.model.problem_fields import Objective, counts_cost

F64 = npt.NDArray[np.float64]
FEW = 7
"""The number of buffers up to which solvers enumerate plans, so that the lowest peak among equally cheap plans is
found.
"""


class CompiledPool(NamedTuple):
    """A pool in units: no end offset may exceed `capacity`; `reserved` has disjoint ascending rows (start, end).

    If `bank` is not 0, the unit at offset o is in bank (o + bank_shift) // bank. `cost` is the cost of moving one byte.
    """

    name: str
    capacity: int
    is_limited: bool
    reserved: I64
    cost: float = 0.0
    bank: int = 0
    bank_shift: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class PricedPairs:
    """Pairs of buffers with a price, which a plan pays if both use common bytes, or a common bank, of one pool.

    rows: (k, 2), the positions of each pair's buffers, the lower one first.
    price: (k,), the price of each pair.
    by_bank: (k,), True if a common bank incurs the price, False if common bytes do.
    """

    rows: I64
    price: F64
    by_bank: Bool

    def __len__(self) -> int:
        """Return the number of pairs."""
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem in the form for solvers: `n` buffers, `m` lifetimes, `p` pools; sizes and offsets are in `unit`s.

    Time is divided into live sets, the maximal sets of simultaneously live buffers, numbered in time order. Lifetime
    `k` of buffer `i`, for `k` in `first[i]:first[i + 1]`, spans the live sets `start[k]:end[k]`, half-open. Buffers
    conflict if they share a live set, or if one is in the other's (symmetric) list
    `conflict[conflict_first[i]:conflict_first[i + 1]]`.

    Buffer `i` may use pool `q` only if `allowed[q, i]`. Its offsets there are lowest[q, i] + k * alignment[q, i], k >=
    0, up to highest[q, i], which is I64_MAX if only the pool's capacity limits them. In other pools, these three
    columns are 0, 1 and I64_MAX. If page[q, i] is not 0, the buffer is inside one page: (o + page_shift[q, i]) %
    page[q, i] + size[i] <= page[q, i]. Its offset must be outside the half-open ranges barred_ranges[barred[q, i]], (k,
    2), ascending and disjoint; ABSENT means that it has none. `pin[i]` is the only offset of a pinned buffer, equal to
    its lowest and highest; ABSENT for other buffers. `source[i]` is the buffer's position in the problem. `traffic[i]`
    is in bytes, including its aliases.

    Rigid groups: buffer `i` starts distance[i] above buffer anchor[i], the lowest of its group, in the same pool. The
    anchor of a buffer outside all groups is the buffer itself. Members of a group never conflict with each other.
    `allowed`, `alignment`, `lowest`, `highest` and `pin` of each member combine the requirements of all members; pages,
    capacities, barred and reserved ranges apply to each member separately.

    Buffers in the (symmetric) lists `share` are alive together, but may have the same offset. Buffers in the lists
    `bank_with` must not touch a common bank, whatever their lifetimes. If costs are minimised, row (i, j) of
    `soft_pairs`, i < j, costs soft_weight[k] if both touch a common bank. A row of `reuse_pairs`, whose buffers are
    never alive together, costs reuse_price[k] if both use common bytes. `priced_pairs` has both kinds of pairs. If both
    buffers of clear_pairs[k], i < j, which are never in one rigid group, use one pool, at least clearance[k] units
    between them stay free, whatever their lifetimes. colocation[i] is the first of the buffers that must be in one pool
    with `i`, including its rigid group. offset_group[i] is the first of the buffers that must have i's offset in other
    pools. With `has_equal_use`, all pools count as used up to the same end. No solver supports these last two columns,
    because such problems are planned as one pool. `live_set_time` is a time of the problem at which a whole live set is
    alive. `unplaceable` has the positions, in the problem, of buffers that fit into no pool even alone.

    Each field's annotation declares its column; the columns that affect best plans are hashed in this order.
    """

    unit: Annotated[int, Column(Axis.WHOLE)]
    objective: Annotated[Objective, Column(Axis.WHOLE, ALWAYS)]
    pools: Annotated[tuple[CompiledPool, ...], Column(Axis.POOL, ALWAYS)]
    source: Annotated[I64, Column(Axis.BUFFER, free=ABSENT)]
    # An instance leaves out zero-size buffers, so all sizes are positive.
    size: Annotated[I64, Column(Axis.BUFFER, ALWAYS, Scale.EXACT)]
    pin: Annotated[I64, Column(Axis.BUFFER, ALWAYS, Scale.OPTIONAL, free=ABSENT)]
    hint: Annotated[I64, Column(Axis.BUFFER, NEVER, Scale.OPTIONAL, free=ABSENT)]
    traffic: Annotated[I64, Column(Axis.BUFFER, "cost")]
    allowed: Annotated[Bool, Column(Axis.POOL_AND_BUFFER, ALWAYS, free=True)]
    alignment: Annotated[I64, Column(Axis.POOL_AND_BUFFER, ALWAYS, Scale.STEP, free=1)]
    lowest: Annotated[I64, Column(Axis.POOL_AND_BUFFER, ALWAYS, Scale.EXACT)]
    page: Annotated[I64, Column(Axis.POOL_AND_BUFFER, "pages", Scale.EXACT)]
    page_shift: Annotated[I64, Column(Axis.POOL_AND_BUFFER, "pages", Scale.EXACT)]
    first: Annotated[I64, Column(Axis.START)]
    start: Annotated[I64, Column(Axis.LIFETIME, ALWAYS, along="first")]
    end: Annotated[I64, Column(Axis.LIFETIME, ALWAYS, along="first")]
    live_set_time: Annotated[I64, Column(Axis.LIVE_SET)]
    conflict_first: Annotated[I64, Column(Axis.START)]
    conflict: Annotated[I64, Column(Axis.LIST, ALWAYS, holds=Holds.BUFFERS, along="conflict_first")]
    share_first: Annotated[I64, Column(Axis.START)]
    share: Annotated[I64, Column(Axis.LIST, "sharing", holds=Holds.BUFFERS, along="share_first")]
    bank_first: Annotated[I64, Column(Axis.START)]
    bank_with: Annotated[I64, Column(Axis.LIST, "banks", holds=Holds.BUFFERS, along="bank_first")]
    anchor: Annotated[I64, Column(Axis.BUFFER, "relative", holds=Holds.GROUPS)]
    distance: Annotated[I64, Column(Axis.BUFFER, "relative", Scale.EXACT)]
    colocation: Annotated[I64, Column(Axis.BUFFER, "together", holds=Holds.GROUPS)]
    soft_pairs: Annotated[I64, Column(Axis.PAIR, "bank-weights", holds=Holds.BUFFERS, along="soft_pairs")]
    soft_weight: Annotated[F64, Column(Axis.PAIR, "bank-weights", along="soft_pairs")]
    clear_pairs: Annotated[I64, Column(Axis.PAIR, "clearances", holds=Holds.BUFFERS, along="clear_pairs")]
    clearance: Annotated[I64, Column(Axis.PAIR, "clearances", Scale.EXACT, along="clear_pairs")]
    reuse_pairs: Annotated[I64, Column(Axis.PAIR, "reuse", holds=Holds.BUFFERS, along="reuse_pairs")]
    reuse_price: Annotated[F64, Column(Axis.PAIR, "reuse", along="reuse_pairs")]
    highest: Annotated[I64, Column(Axis.POOL_AND_BUFFER, "ranges", Scale.MOST, free=I64_MAX)]
    barred: Annotated[I64, Column(Axis.POOL_AND_BUFFER, "intervals", free=ABSENT)]
    offset_group: Annotated[I64, Column(Axis.BUFFER, "same-offset", holds=Holds.GROUPS)]
    has_equal_use: Annotated[bool, Column(Axis.WHOLE, "equal-use")] = False
    unplaceable: Annotated[tuple[int, ...], Column(Axis.WHOLE, ALWAYS)] = ()
    barred_ranges: Annotated[tuple[I64, ...], Column(Axis.WHOLE, "intervals")] = ()

    def __len__(self) -> int:
        """Return the number of buffers."""
        return len(self.size)

    @property
    def n_live_sets(self) -> int:
        """The number of maximal live sets."""
        return len(self.live_set_time)

    def __getstate__(self) -> dict[str, object]:
        """Return a copy of the fields for pickling, because another thread may cache a property at the same time."""
        return dict(vars(self))

    @cached_property
    def lifetime_buffer(self) -> I64:
        """(m,): the buffer of each lifetime."""
        number = np.arange(len(self.size))
        return freeze(number if self.has_one_lifetime_each else np.repeat(number, np.diff(self.first)))

    @cached_property
    def has_one_lifetime_each(self) -> bool:
        """True if each buffer has exactly one lifetime, so that buffer `i` has lifetime `i`."""
        return len(self.start) == len(self.size) and "holes" not in self.features

    @cached_property
    def is_ranged(self) -> Bool:
        """(n,): True for each buffer that a rule keeps away from the bottom or the top of a pool.

        It is False for pinned buffers, and in a rigid group (fixed distances) for all members but the anchor.
        """
        is_cut = self.allowed & ((self.highest < I64_MAX) | (self.lowest >= self.alignment))
        is_ranged: Bool = is_cut.any(axis=0) & (self.pin < 0) & (self.anchor == np.arange(len(self)))
        return is_ranged

    @cached_property
    def features(self) -> frozenset[str]:
        """The names of the features that a solver must support for this instance: keys of PLAIN and CONSTRAINTS."""
        return frozenset(word for word, is_there in (*PLAIN.items(), *CONSTRAINTS.items()) if is_there(self))

    @cached_property
    def priced_pairs(self) -> PricedPairs:
        """The pairs with a price: first the weighted pairs of banks, then the `reuse` pairs."""
        rows, price = (self.soft_pairs, self.reuse_pairs), (self.soft_weight, self.reuse_price)
        by_bank = np.arange(len(rows[0]) + len(rows[1])) < len(rows[0])
        return PricedPairs(np.concatenate(rows), np.concatenate(price), by_bank)

    @cached_property
    def is_plain(self) -> bool:
        """True for one pool, one lifetime per buffer, and no rules except capacity and alignment."""
        if len(self) == 0 or self.unplaceable or not self.features <= {"capacity", "alignment"}:
            return False
        return self.has_one_lifetime_each and not self.lowest.any()

    @cached_property
    def is_small_numbered(self) -> bool:
        """True if int64 cannot overflow, because all sizes, waste and fixed offsets together are below 2^61 units.

        Waste is the space that alignments, pages, banks, clearances and distances in rigid groups may leave free. Fixed
        offsets are lowest offsets and the ends of reserved and barred ranges.
        """
        waste = (
            self.alignment.max(axis=0, initial=1).sum(dtype=np.float64) if "alignment" in self.features else len(self)
        )
        if not self.features.isdisjoint({"pages", "relative"}):
            waste += self.page.max(axis=0, initial=0).sum(dtype=np.float64) + self.distance.sum(dtype=np.float64)
        waste += len(self) * float(max(pool.bank for pool in self.pools)) + self.max_clearance
        return float(self.size.sum(dtype=np.float64) + waste + self.fixed_end) < 2.0**61

    @cached_property
    def fixed_end(self) -> int:
        """The offset in units that is not exceeded by any pin, lowest offset, barred range or reserved range."""
        ranges = (*(pool.reserved for pool in self.pools), *self.barred_ranges, self.lowest)
        return max(int(rows.max(initial=0)) for rows in ranges)

    def barred_to(self, i: int, q: int) -> list[tuple[int, int]]:
        """Return the half-open ranges that must not contain the offset of buffer `i` in pool `q`."""
        number = self.barred[q, i]
        return [] if number == ABSENT else [(low, high) for low, high in self.barred_ranges[number].tolist()]

    def barred_in(self, q: int) -> tuple[I64, I64]:
        """Return (first, ranges) for pool `q`: the ranges that must not contain a buffer's offset, as lists.

        The list of buffer `i` is ranges[first[i]:first[i + 1]].
        """
        counts = np.zeros(len(self), dtype=np.int64)
        rows = [np.zeros((0, 2), dtype=np.int64)]
        for i in np.flatnonzero(self.barred[q] != ABSENT).tolist():
            rows.append(self.barred_ranges[self.barred[q, i]])
            counts[i] = len(rows[-1])
        return np.concatenate(([0], np.cumsum(counts))), np.concatenate(rows)

    @property
    def max_clearance(self) -> float:
        """Twice the sum of all clearances: an upper bound, in units, on the space that they leave free in a plan."""
        return 2 * float(self.clearance.sum(dtype=np.float64))

    def live_set_members(self, live_set: int) -> I64:
        """Return the positions of a live set's buffers, in ascending order."""
        alive = (self.start <= live_set) & (live_set < self.end)
        return self.lifetime_buffer[alive]

    def loads(self, weight: npt.NDArray[np.generic] | None = None) -> npt.NDArray[np.generic]:
        """Return, for each live set, the sum of its buffers' sizes in units, or the sum of their `weight` if given.

        The sums are int64 if int64 cannot overflow, else Python integers in an object array.
        """
        values = np.asarray(self.size if weight is None else weight)
        return self.live_set_sums(self.start, self.end, values[self.lifetime_buffer])

    def live_set_sums(self, start: I64, end: I64, weight: npt.NDArray[np.generic]) -> npt.NDArray[np.generic]:
        """Return, for each live set, the sum of the weights of all ranges that contain it.

        Range r is half-open, from the live set `start[r]` to `end[r]`, and has the weight `weight[r]`. The sums have
        the same type as those of `loads`.
        """
        kind = np.dtype(np.int64) if self.is_small_numbered else np.dtype(object)
        change = np.zeros(len(self.live_set_time) + 1, dtype=kind)
        np.add.at(change, start, weight.astype(kind))
        np.subtract.at(change, end, weight.astype(kind))
        return np.asarray(np.cumsum(change)[:-1])


COLUMNS: Mapping[str, Column] = {
    name: item
    for name, hint in Instance.__annotations__.items()
    for item in hint.__metadata__
    if isinstance(item, Column)
}
"""The declaration of each column, by its name."""
ON: Mapping[Axis, Sequence[str]] = {axis: [name for name in COLUMNS if COLUMNS[name].axis is axis] for axis in Axis}
"""The names of the columns on each axis."""
HOLDING_BUFFERS = [
    name for name, column in COLUMNS.items() if column.holds is not Holds.NUMBERS and column.axis is not Axis.LIST
]
"""The names of the columns, except lists, whose values are positions of buffers."""

PLAIN: Mapping[str, Callable[[Instance], bool]] = {
    "holes": lambda instance: bool((np.diff(instance.first) > 1).any()),
    "conflicts": lambda instance: len(instance.conflict) > 0,
    "pools": lambda instance: len(instance.pools) > 1,
    "capacity": lambda instance: any(pool.is_limited for pool in instance.pools),
    "alignment": lambda instance: bool((instance.alignment > 1).any()),
    "pins": lambda instance: bool((instance.pin >= 0).any()),
    "ranges": lambda instance: bool(instance.is_ranged.any()),
    "reserved": lambda instance: any(len(pool.reserved) for pool in instance.pools),
    "cost": lambda instance: counts_cost(instance.objective),
}
"""The features that most solvers support, each with a predicate that detects it in an instance."""

CONSTRAINTS: Mapping[str, Callable[[Instance], bool]] = {
    "relative": lambda instance: bool((instance.anchor != np.arange(len(instance))).any()),
    "sharing": lambda instance: len(instance.share) > 0,
    "pages": lambda instance: bool((instance.page > 0).any()),
    "intervals": lambda instance: bool((instance.barred != ABSENT).any()),
    "banks": lambda instance: len(instance.bank_with) > 0,
    "bank-weights": lambda instance: len(instance.soft_pairs) > 0,
    "reuse": lambda instance: len(instance.reuse_pairs) > 0,
    "clearances": lambda instance: len(instance.clear_pairs) > 0,
    "same-offset": lambda instance: bool((instance.offset_group != np.arange(len(instance))).any()),
    "equal-use": lambda instance: instance.has_equal_use,
    "together": lambda instance: (
        len(instance.pools) > 1 and bool((instance.anchor[instance.colocation] != instance.anchor).any())
    ),
}
"""The features of constraint kinds, each with its predicate; a solver's registry row lists those it supports."""
ON_OFFSETS = CONSTRAINTS.keys() - {"together"}
"""The constraint features that restrict offsets or price them; all others concern only the choice of pools."""
