"""The same problem as int64 columns and live sets: all that solvers see. `memplan.planner.instance.compile` makes it.

Aliases are folded into the buffers they live in, buffers of no bytes are left out, and everything is counted in units
of the largest number of bytes that divides all that matters, so that searches work with small numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from memplan.planner.model.buffer_table import I64, column
from memplan.planner.model.problem import Objective

Bool = npt.NDArray[np.bool_]
F64 = npt.NDArray[np.float64]
I64_MAX = 2**63 - 1


@dataclass(frozen=True, eq=False)
class CompiledPool:
    """A pool in units: no end offset may pass `capacity`; `reserved` holds disjoint ascending (start, end) rows.

    Byte o is in bank (o + bank_shift) // bank, where `bank` is not 0.
    """

    name: str
    capacity: int
    is_limited: bool
    reserved: I64
    cost: float = 0.0
    bank: int = 0
    bank_shift: int = 0


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem for solvers: `n` buffers, `m` lifetimes, `p` memories; everything in bytes is counted in `unit`s.

    Time is cut into live sets, the maximal sets of buffers alive together, numbered in time order. Lifetime `k` of
    buffer `i`, for `k` in `first[i]:first[i + 1]`, spans the live sets `start[k]:end[k]`, half-open. Buffers conflict
    where they share a live set, and where the (symmetric) lists `conflict[conflict_first[i]:conflict_first[i + 1]]`
    say so.

    Buffer `i` may lie in memory `q` only where `allowed[q, i]`, at offsets residue[q, i] + k * alignment[q, i], k >= 0
    (these are 0 and 1 elsewhere); `pin[i]` is the one offset it may have, or ABSENT. Where page[q, i] is not 0, its
    bytes lie in one page: (o + page_shift[q, i]) % page[q, i] + size[i] <= page[q, i]. `source[i]` is its position in
    the problem.

    Rigid groups: buffer `i` lies distance[i] above buffer anchor[i] in the same memory, the lowest of its group (which
    is itself, where it is alone). Members never conflict with each other. `allowed`, `alignment`, `residue` and `pin`
    of each member say what all of them ask together; pages, capacities and reserved ranges are asked for one by one.

    Buffers in the (symmetric) lists `share`, all of them alive together, may have the same offset all the same. Buffers
    in the lists `bank_with` must touch no common bank of a memory that has banks, whatever their lifetimes; each row
    (i, j) of `soft_pairs`, i < j, that does costs soft_weight[k], which counts for objective `cost` only. company[i] is
    the first of the buffers that must lie in one memory with `i`, rigid groups included.
    """

    unit: int
    objective: Objective
    pools: tuple[CompiledPool, ...]
    source: I64  # (n,)
    size: I64  # (n,), all positive
    first: I64  # (n + 1,)
    start: I64  # (m,)
    end: I64  # (m,)
    live_set_time: I64  # (number of live sets,): a time, as the problem counts it, when all of the set are alive
    conflict_first: I64  # (n + 1,)
    conflict: I64
    allowed: Bool  # (p, n)
    alignment: I64  # (p, n)
    residue: I64  # (p, n)
    pin: I64  # (n,)
    hint: I64  # (n,)
    traffic: I64  # (n,), in bytes, with that of its aliases
    page: I64  # (p, n)
    page_shift: I64  # (p, n)
    anchor: I64  # (n,)
    distance: I64  # (n,)
    colocation: I64  # (n,)
    share_first: I64  # (n + 1,)
    share: I64
    bank_first: I64  # (n + 1,)
    bank_with: I64
    soft_pairs: I64  # (k, 2)
    soft_weight: F64  # (k,)
    unplaceable: tuple[int, ...] = ()  # positions, in the problem, of buffers that fit nowhere even alone

    def __len__(self) -> int:
        return len(self.size)

    @property
    def n_live_sets(self) -> int:
        """How many maximal live sets there are."""
        return len(self.live_set_time)

    @cached_property
    def lifetime_buffer(self) -> I64:
        """The buffer of each lifetime, (m,)."""
        return column(np.repeat(np.arange(len(self)), np.diff(self.first)))

    @cached_property
    def has_holes(self) -> bool:
        """Whether a buffer has several lifetimes."""
        return bool((np.diff(self.first) > 1).any())

    @cached_property
    def features(self) -> frozenset[str]:
        """What a solver must be able to do for this instance; the words are those of the registry."""
        asked = {
            "holes": self.has_holes,
            "conflicts": len(self.conflict) > 0,
            "pools": len(self.pools) > 1,
            "capacity": any(memory.is_limited for memory in self.pools),
            "alignment": bool((self.alignment > 1).any()),
            "pins": bool((self.pin >= 0).any()),
            "reserved": any(len(memory.reserved) for memory in self.pools),
            "cost": self.objective == "cost",
            "relative": bool((self.anchor != np.arange(len(self))).any()),
            "sharing": len(self.share) > 0,
            "pages": bool((self.page > 0).any()),
            "banks": len(self.bank_with) > 0,
            "bank-weights": len(self.soft_pairs) > 0,
            "together": len(self.pools) > 1 and bool((self.anchor[self.colocation] != self.anchor).any()),
        }
        return frozenset(name for name, is_asked in asked.items() if is_asked)

    @cached_property
    def is_small_numbered(self) -> bool:
        """Whether no sum of sizes and waste, on a pin or a reserved range, can pass 2^62: int64 is safe.

        Waste is what alignments, pages, banks and the distances in rigid groups may leave free.
        """
        waste = self.alignment.max(axis=0, initial=1).sum(dtype=np.float64)
        waste += self.page.max(axis=0, initial=0).sum(dtype=np.float64) + self.distance.sum(dtype=np.float64)
        waste += len(self) * float(max(memory.bank for memory in self.pools))
        base = max(int(self.pin.max(initial=0)), *(int(memory.reserved.max(initial=0)) for memory in self.pools))
        return float(self.size.sum(dtype=np.float64) + waste + base) < 2.0**61

    def members(self, live_set: int) -> I64:
        """Return the buffers of a live set, ascending."""
        alive = (self.start <= live_set) & (live_set < self.end)
        return self.lifetime_buffer[alive]

    def load(self, weight: npt.NDArray[np.generic] | None = None) -> npt.NDArray[np.generic]:
        """Return, for each live set, the sum of its buffers' sizes (or weights), in units.

        The sums are int64 where they are safe, else Python integers in an object array.
        """
        values = np.asarray(self.size if weight is None else weight)
        kind = np.dtype(np.int64) if self.is_small_numbered else np.dtype(object)
        change = np.zeros(self.n_live_sets + 1, dtype=kind)
        mine = values[self.lifetime_buffer].astype(kind)
        np.add.at(change, self.start, mine)
        np.subtract.at(change, self.end, mine)
        return np.asarray(np.cumsum(change)[:-1])
