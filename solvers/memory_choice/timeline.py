"""The rows at which items arrive and leave, and the key bits that hold each item's pool."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import NamedTuple

import numpy as np

from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.memory_choice.knapsack import Knapsack
from memplan.solvers.memory_choice.measures import Measures

_WORD_BITS = 62


@dataclass(frozen=True)
class NoGood:
    """Items that do not fit into a pool together, unless it reaches `need` units."""

    pool: int
    items: frozenset[int]
    need: int


class KeyField(NamedTuple):
    """The word and bits of a key that hold a number."""

    word: int
    shift: int
    mask: int


@dataclass(frozen=True, eq=False)
class RowEvents:
    """The changes before a row: lifetimes end, items leave, lifetimes start, items arrive.

    Lifetimes are (item, buffer) pairs of items that are known already; those that items arrive with are in `arriving`,
    as (item, what it takes by each measure).
    """

    ending: list[tuple[int, int]]
    leaving: list[int]
    starting: list[tuple[int, int]]
    arriving: list[tuple[int, I64]]


class Timeline:
    """The items with a choice, row by row; fixed items are subtracted from the capacities.

    `capacity` is (r, rows), of each measure; it is negative where nothing fits. `home` has a pool for each item, the
    right one for those that have no choice. `nogoods_of[j]` are the no-goods that item `j` is in; one that only
    concerns items without a choice makes `is_refuted` true.
    """

    def __init__(self, knapsack: Knapsack, measures: Measures, limit: I64, nogoods: Sequence[NoGood]) -> None:
        self.knapsack, self.measures = knapsack, measures
        self.has_choice = knapsack.homes.sum(axis=0) > 1
        self.home = column(knapsack.homes.argmax(axis=0))
        self.capacity = measures.limits(limit) - self._fixed_loads()
        self.first = np.full(knapsack.n_items, knapsack.rows)
        self.last = np.zeros(knapsack.n_items, dtype=np.int64)
        np.minimum.at(self.first, knapsack.item_of_lifetime, knapsack.start)
        np.maximum.at(self.last, knapsack.item_of_lifetime, knapsack.end)
        self.nogoods = [nogood for nogood in nogoods if self._is_open(nogood)]
        self.members = [[j for j in sorted(nogood.items) if self.has_choice[j]] for nogood in self.nogoods]
        # A no-good whose items all have no choice rules everything out.
        self.is_refuted = not all(self.members)
        self.nogoods_of: dict[int, list[int]] = defaultdict(list)
        for number, members in enumerate(self.members):
            for j in members:
                self.nogoods_of[j].append(number)
        self.fields = self._fields()
        self.words = 1 + max((field.word for field in self.fields.values()), default=0)
        self.rows = self._rows()

    def _fixed_loads(self) -> I64:
        """Return the loads of fixed items, by each measure."""
        item = self.knapsack.item_of_lifetime
        is_there = ~self.has_choice[item] & (self.home[item] == self.measures.pool[:, None])
        return self.knapsack.row_sums(np.where(is_there, self.measures.size[:, self.knapsack.lifetime_buffer], 0))

    def _is_open(self, nogood: NoGood) -> bool:
        """Return True if all fixed items of a no-good are in its pool."""
        return all(self.has_choice[j] or self.home[j] == nogood.pool for j in nogood.items)

    def _fields(self) -> dict[int, KeyField]:
        """Assign key bits to each item with a choice while it is alive, and to each no-good.

        No-good `g` has the key -1 - g; it is tracked from the first arrival of an item in it to the last.
        """
        bits = max(1, (len(self.knapsack.row_capacities) - 1).bit_length())
        spans = {j: (int(self.first[j]), int(self.last[j])) for j in np.flatnonzero(self.has_choice).tolist()}
        for number, members in enumerate(self.members):
            arrivals = self.first[members].tolist()
            spans[-1 - number] = min(arrivals, default=0), max(arrivals, default=0) + 1
        fields: dict[int, KeyField] = {}
        busy: list[tuple[int, int]] = []
        spare: list[int] = []
        in_word = _WORD_BITS // bits
        for name in sorted(spans, key=lambda name: (spans[name], name)):
            start, end = spans[name]
            while busy and busy[0][0] <= start:
                heappush(spare, heappop(busy)[1])
            # Bits are used again when an item has left, so keys are as wide as what is alive.
            slot = heappop(spare) if spare else len(busy)
            heappush(busy, (end, slot))
            fields[name] = KeyField(slot // in_word, slot % in_word * bits, (1 << bits) - 1)
        return fields

    def _rows(self) -> list[RowEvents]:
        knapsack = self.knapsack
        rows = [RowEvents([], [], [], []) for _ in range(knapsack.rows + 1)]
        taken: dict[int, I64] = {}
        mine = self.has_choice[knapsack.item_of_lifetime]
        columns = (knapsack.item_of_lifetime, knapsack.lifetime_buffer, knapsack.start, knapsack.end)
        for j, i, start, end in zip(*(values[mine].tolist() for values in columns), strict=True):
            rows[end].ending.append((j, i))
            if start > self.first[j]:
                rows[start].starting.append((j, i))
            elif j in taken:
                taken[j] = taken[j] + self.measures.size[:, i]
            else:
                taken[j] = self.measures.size[:, i]
        for j, amount in taken.items():
            rows[int(self.first[j])].arriving.append((j, amount))
            rows[int(self.last[j])].leaving.append(j)
        return rows
