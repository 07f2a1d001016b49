"""The same problem as int64 columns and live sets: all that solvers see.

Aliases are folded into the buffers they live in, buffers of no bytes are left out, and everything is counted in units
of the largest number of bytes that divides all that matters, so that searches work with small numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd, lcm

import numpy as np
import numpy.typing as npt

from planner.problem import ADDRESS_SPACE, Objective, Pool, Problem
from planner.table import ABSENT, I64, BufferTable, PlacementTable, column

Bool = npt.NDArray[np.bool_]
I64_MAX = 2**63 - 1


@dataclass(frozen=True, eq=False)
class Memory:
    """A pool in units: no end offset may pass `capacity`; `reserved` holds disjoint ascending (start, end) rows."""

    name: str
    capacity: int
    is_limited: bool
    reserved: I64
    cost: float = 0.0


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem for solvers: `n` buffers, `m` lifetimes, `p` memories; everything in bytes is counted in `unit`s.

    Time is cut into live sets, the maximal sets of buffers alive together, numbered in time order. Lifetime `k` of
    buffer `i`, for `k` in `first[i]:first[i + 1]`, spans the live sets `start[k]:end[k]`, half-open. Buffers conflict
    where they share a live set, and where the (symmetric) lists `conflict[conflict_first[i]:conflict_first[i + 1]]`
    say so.

    Buffer `i` may lie in memory `q` only where `allowed[q, i]`, at offsets o with o % alignment[q, i] == residue[q, i]
    (these are 1 and 0 elsewhere); `pin[i]` is the one offset it may have, or ABSENT. `source[i]` is its position in the
    problem.
    """

    unit: int
    objective: Objective
    memories: tuple[Memory, ...]
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
    homeless: tuple[int, ...] = ()  # positions, in the problem, of buffers that fit nowhere even alone

    def __len__(self) -> int:
        return len(self.size)

    @property
    def n_live_sets(self) -> int:
        """How many maximal live sets there are."""
        return len(self.live_set_time)

    @cached_property
    def owner(self) -> I64:
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
            "pools": len(self.memories) > 1,
            "capacity": any(memory.is_limited for memory in self.memories),
            "alignment": bool((self.alignment > 1).any()),
            "pins": bool((self.pin >= 0).any()),
            "reserved": any(len(memory.reserved) for memory in self.memories),
            "cost": self.objective == "cost",
        }
        return frozenset(name for name, is_asked in asked.items() if is_asked)

    @cached_property
    def is_small_numbered(self) -> bool:
        """Whether no sum of sizes and alignment waste, on a pin or a reserved range, can pass 2^62: int64 is safe."""
        waste = self.alignment.max(axis=0, initial=1).sum(dtype=np.float64)
        base = max(int(self.pin.max(initial=0)), *(int(memory.reserved.max(initial=0)) for memory in self.memories))
        return float(self.size.sum(dtype=np.float64) + waste + base) < 2.0**61

    def members(self, live_set: int) -> I64:
        """Return the buffers of a live set, ascending."""
        alive = (self.start <= live_set) & (live_set < self.end)
        return self.owner[alive]

    def load(self, weight: npt.NDArray[np.generic] | None = None) -> npt.NDArray[np.generic]:
        """Return, for each live set, the sum of its buffers' sizes (or weights), in units.

        The sums are int64 where they are safe, else Python integers in an object array.
        """
        values = np.asarray(self.size if weight is None else weight)
        kind = np.dtype(np.int64) if self.is_small_numbered else np.dtype(object)
        change = np.zeros(self.n_live_sets + 1, dtype=kind)
        mine = values[self.owner].astype(kind)
        np.add.at(change, self.start, mine)
        np.subtract.at(change, self.end, mine)
        return np.asarray(np.cumsum(change)[:-1])


def compile_problem(problem: Problem) -> Instance:
    """Compile a problem for the solvers. O(m log m) time and linear memory; no pair of buffers is listed."""
    table = problem.buffers
    family = _families(problem)
    is_root = family == np.arange(len(table))
    kept = np.flatnonzero((table.size > 0) & is_root)
    position = np.full(len(table), ABSENT)
    position[kept] = np.arange(len(kept))

    pin = _pins(problem, family)
    reserved = [_merged(pool) for pool in problem.pools]
    allowed, alignment, residue = _where_allowed(problem, pin, reserved)
    homeless = np.flatnonzero(~allowed.any(axis=0) & is_root)
    allowed, alignment, residue = allowed[:, kept], alignment[:, kept], residue[:, kept]
    unit = _common_unit(table.size[kept], pin[kept], reserved, alignment, residue, allowed)

    owner, start, end = _lifetimes(table, family, position)
    live_start, live_end, time = _live_sets(start, end)
    conflict_first, conflict = _conflicts(problem, family, position, len(kept))
    return Instance(
        unit=unit,
        objective=problem.objective,
        memories=tuple(_memory(pool, ranges, unit) for pool, ranges in zip(problem.pools, reserved, strict=True)),
        source=column(kept),
        size=column(table.size[kept] // unit),
        first=column(np.searchsorted(owner, np.arange(len(kept) + 1))),
        start=column(live_start),
        end=column(live_end),
        live_set_time=column(time),
        conflict_first=conflict_first,
        conflict=conflict,
        allowed=allowed,
        alignment=column(np.where(~allowed | (unit % alignment == 0), 1, alignment // unit)),
        residue=column(np.where(allowed, residue // unit, 0)),
        pin=column(np.where(pin >= 0, pin // unit, ABSENT)[kept]),
        hint=column(np.where(table.hint >= 0, table.hint // unit, ABSENT)[kept]),
        traffic=column(_traffic(problem)[kept]),
        homeless=tuple(homeless.tolist()),
    )


def lift(problem: Problem, instance: Instance, pool: I64, offset: I64) -> PlacementTable:
    """Return the placements, in the problem's order and in bytes, of an assignment to an instance's buffers.

    Buffers of no bytes go where they do not raise a peak, where there is such a place; aliases go into their buffers.
    """
    table = problem.buffers
    pools, offsets = np.zeros(len(table), dtype=np.int64), np.zeros(len(table), dtype=np.int64)
    pools[instance.source], offsets[instance.source] = pool, offset * instance.unit
    used = np.zeros(len(problem.pools), dtype=np.int64)
    np.maximum.at(used, pool, (offset + instance.size) * instance.unit)
    empty = np.flatnonzero((table.size == 0) & (_families(problem) == np.arange(len(table))))
    if len(empty):
        pools[empty], offsets[empty] = _place_empty(problem, empty, used)
    for i, (root, distance) in problem.roots.items():
        pools[i], offsets[i] = pools[root], offsets[root] + distance
    names = tuple(memory.name for memory in instance.memories)
    return PlacementTable(table.ids, names, column(pools), column(offsets))


def _place_empty(problem: Problem, empty: I64, used: I64) -> tuple[I64, I64]:
    """Place buffers of no bytes: in the first pool whose peak they leave alone, else as low as can be."""
    pin = _pins(problem, _families(problem))
    allowed, _, residue = _where_allowed(problem, pin, [_merged(pool) for pool in problem.pools])
    offset = np.where(pin >= 0, pin, residue)[:, empty]
    rank = np.where(offset <= used[:, None], 0, 1 + offset.astype(np.float64))
    rank[~allowed[:, empty]] = np.inf
    pool = rank.argmin(axis=0)
    return pool, offset[pool, np.arange(len(empty))]


def _families(problem: Problem) -> I64:
    """Return, for each buffer, the position of the one it lives in (its own, where it is no alias)."""
    family = np.arange(len(problem.buffers))
    for i, (root, _) in problem.roots.items():
        family[i] = root
    return family


def _pins(problem: Problem, family: I64) -> I64:
    """Return where each family is pinned (ABSENT: nowhere); a pin that cannot be kept becomes I64_MAX."""
    pin = np.array(problem.buffers.offset)
    for i, (root, distance) in problem.roots.items():
        mine = int(problem.buffers.offset[i])
        if mine == ABSENT:
            continue
        start = mine - distance
        pin[root] = start if start >= 0 and pin[root] in (ABSENT, start) else I64_MAX
    return pin


def _traffic(problem: Problem) -> I64:
    """Return the bytes that each family moves: those of its buffers of some bytes, 2^63 - 1 at the most."""
    table = problem.buffers
    traffic = np.where(table.size == 0, 0, np.where(table.traffic >= 0, table.traffic, table.size))
    for i, (root, _) in problem.roots.items():
        traffic[root] = min(int(traffic[root]) + int(traffic[i]), I64_MAX)
    return traffic


def _merged(pool: Pool) -> I64:
    """Return a pool's reserved ranges as disjoint ascending (start, end) rows, in bytes."""
    rows: list[list[int]] = []
    for offset, size in sorted(pool.reserved):
        if size == 0:
            continue
        if rows and offset <= rows[-1][1]:
            rows[-1][1] = max(rows[-1][1], offset + size)
        else:
            rows.append([offset, offset + size])
    limit = _last_end(pool)
    return np.array([(low, min(high, limit)) for low, high in rows if low < limit], dtype=np.int64).reshape(-1, 2)


def _last_end(pool: Pool) -> int:
    """Return the largest end offset that a buffer in the pool can have, in bytes; fits int64."""
    return ADDRESS_SPACE - 1 if pool.size is None else pool.size


def _where_allowed(problem: Problem, pin: I64, reserved: list[I64]) -> tuple[Bool, I64, I64]:
    """Return (allowed, alignment, residue), each (pools, buffers), in bytes, for the buffers that are no alias.

    The address base + o of a buffer at offset o must be a multiple of lcm(its alignment, the pool's); an alias adds its
    own such condition to its family's (Chinese remainders).
    """
    table, pools = problem.buffers, problem.pools
    shape = (len(pools), len(table))
    allowed, alignment, residue = np.zeros(shape, dtype=np.bool_), np.ones(shape, np.int64), np.zeros(shape, np.int64)
    values, which = np.unique(table.alignment, return_inverse=True)
    choices = [{problem.pool_index[name] for name in names} for names in table.pool_choices]
    choices[0] = set(range(len(pools)))
    for q, pool in enumerate(pools):
        rules = [_congruence(int(value), pool) for value in values]
        allowed[q] = np.array([q in choice for choice in choices], dtype=np.bool_)[table.pool_choice]
        joint: dict[int, tuple[int, int] | None] = {}
        for i, (root, distance) in problem.roots.items():
            step, start = rules[which[i]]
            joint[root] = _both(joint.get(root, rules[which[root]]), (step, start - distance))
            allowed[q, root] &= allowed[q, i]
        alignment[q] = np.array([_in_int64(rule)[0] for rule in rules], dtype=np.int64)[which]
        residue[q] = np.array([_in_int64(rule)[1] for rule in rules], dtype=np.int64)[which]
        for root, rule in joint.items():
            alignment[q, root], residue[q, root] = _in_int64(rule)
        allowed[q] &= (residue[q] != I64_MAX) & (pin != I64_MAX)
        limit = _last_end(pool)
        lowest = np.where(pin >= 0, pin, residue[q])
        allowed[q] &= (table.size <= limit) & (lowest <= limit - table.size)
        allowed[q] &= (pin < 0) | ((pin - residue[q]) % alignment[q] == 0)
        for low, high in reserved[q].tolist():
            allowed[q] &= (pin < 0) | (table.size == 0) | (pin >= high) | (pin <= low - table.size)
    return allowed, alignment, residue


def _congruence(value: int, pool: Pool) -> tuple[int, int]:
    """Return (m, r) such that an offset o in the pool meets both alignments where o = r mod m."""
    step = lcm(value, pool.alignment)
    return step, -pool.base_address % step


def _both(first: tuple[int, int] | None, second: tuple[int, int]) -> tuple[int, int] | None:
    """Return (m, r) with o = r mod m exactly where both congruences hold, or None where no offset meets them."""
    if first is None:
        return None
    (a, r), (b, s) = first, second
    if a > I64_MAX:  # there is one offset, r, at the most; so m need not grow with every alias
        return first if (r - s) % b == 0 else None
    shared = gcd(a, b)
    if (s - r) % shared:
        return None
    step = lcm(a, b)
    return step, (r + a * ((s - r) // shared * pow(a // shared, -1, b // shared) % (b // shared))) % step


def _in_int64(rule: tuple[int, int] | None) -> tuple[int, int]:
    """Return a congruence in int64, for offsets below 2^63 - 1; r = 2^63 - 1 says that none of them meets it."""
    step, start = rule or (1, I64_MAX)
    return min(step, I64_MAX), min(start, I64_MAX)


def _common_unit(size: I64, pin: I64, reserved: list[I64], alignment: I64, residue: I64, allowed: Bool) -> int:
    """Return the largest unit such that some best plan has all its offsets on multiples of it.

    Offsets pushed down as far as they go are sums of sizes, pins, ends of reserved ranges and residues, rounded up to
    alignments. So what divides all those, and either divides or is divided by each alignment, divides the offsets.
    """
    parts = [size, pin[pin >= 0], *(ranges.ravel() for ranges in reserved), residue[allowed]]
    unit = int(np.gcd.reduce(np.concatenate(parts), initial=0)) or 1
    steps = np.unique(alignment[allowed]).tolist()
    while rest := [step for step in steps if unit % step and gcd(unit, step) != unit]:
        unit = gcd(unit, *rest)
    return unit


def _memory(pool: Pool, reserved: I64, unit: int) -> Memory:
    capacity = _last_end(pool) // unit
    return Memory(pool.name, capacity, pool.size is not None, column(reserved // unit), pool.cost)


def _lifetimes(table: BufferTable, family: I64, position: I64) -> tuple[I64, I64, I64]:
    """Return the lifetimes of the kept buffers as (owner, start, end), sorted by owner and time, disjoint and apart."""
    counts = np.diff(table.first)
    owner = position[family[np.repeat(np.arange(len(table)), counts)]]
    kept = owner >= 0
    owner, start, end = owner[kept], table.start[kept], table.end[kept]
    if len(owner) == 0 or np.bincount(owner).max() == 1:
        order = np.argsort(owner, kind="stable")
        return owner[order], start[order], end[order]
    order = np.lexsort((start, owner))
    merged: list[tuple[int, int, int]] = []
    for who, low, high in zip(owner[order].tolist(), start[order].tolist(), end[order].tolist(), strict=True):
        if merged and merged[-1][0] == who and low <= merged[-1][2]:
            merged[-1] = (who, merged[-1][1], max(high, merged[-1][2]))
        else:
            merged.append((who, low, high))
    rows = np.array(merged, dtype=np.int64)
    return rows[:, 0], rows[:, 1], rows[:, 2]


def _live_sets(start: I64, end: I64) -> tuple[I64, I64, I64]:
    """Cut time into maximal live sets; return each lifetime's (first set, set after its last) and a time in each set.

    Going through all starts and ends in time order, ends first, a set is a run of starts that an end follows.
    """
    m = len(start)
    time = np.concatenate((start, end))
    is_start = np.arange(2 * m) < m
    order = np.lexsort((is_start, time))
    starts = is_start[order]
    opens = starts & np.concatenate(([True], ~starts[:-1])) if m else starts
    live_set = np.empty(2 * m, dtype=np.int64)
    live_set[order] = np.cumsum(opens) - 1
    when = np.full(int(opens.sum()), np.iinfo(np.int64).min)
    np.maximum.at(when, live_set[:m], start)
    return live_set[:m], live_set[m:] + 1, when


def _conflicts(problem: Problem, family: I64, position: I64, n: int) -> tuple[I64, I64]:
    """Return the explicit conflicts among kept buffers as symmetric adjacency lists (first, neighbours)."""
    index = problem.index if problem.conflicts else {}
    pairs = np.array([(index[a], index[b]) for a, b in problem.conflicts], dtype=np.int64).reshape(-1, 2)
    pairs = position[family[pairs]]
    pairs = pairs[(pairs >= 0).all(axis=1) & (pairs[:, 0] != pairs[:, 1])]
    # One number a pair, n * first + second, sorts and compares much faster than a row; np.unique would hash it, slowly.
    both = np.sort(np.concatenate((pairs, pairs[:, ::-1])) @ np.array([n, 1]))
    both = both[np.diff(both, prepend=-1) > 0]
    return column(np.searchsorted(both, n * np.arange(n + 1))), column(both % max(n, 1))
