"""From a problem to an instance, and from an assignment back to placements."""

from __future__ import annotations

from math import gcd

import numpy as np

from planner.addresses import families, last_end, pins, reserved_ranges, where_allowed
from planner.instance import I64_MAX, Bool, Instance, Memory
from planner.placements import PlacementTable
from planner.problem import Pool, Problem
from planner.table import ABSENT, I64, BufferTable, column


def compile_problem(problem: Problem) -> Instance:
    """Compile a problem for the solvers. O(m log m) time and linear memory; no pair of buffers is listed."""
    table = problem.buffers
    family = families(problem)
    is_root = family == np.arange(len(table))
    kept = np.flatnonzero((table.size > 0) & is_root)
    position = np.full(len(table), ABSENT)
    position[kept] = np.arange(len(kept))

    pin = pins(problem, family)
    reserved = [reserved_ranges(pool) for pool in problem.pools]
    allowed, alignment, residue = where_allowed(problem, pin, reserved)
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
    empty = np.flatnonzero((table.size == 0) & (families(problem) == np.arange(len(table))))
    if len(empty):
        pools[empty], offsets[empty] = _place_empty(problem, empty, used)
    for i, (root, distance) in problem.roots.items():
        pools[i], offsets[i] = pools[root], offsets[root] + distance
    names = tuple(memory.name for memory in instance.memories)
    return PlacementTable(table.ids, names, column(pools), column(offsets))


def _place_empty(problem: Problem, empty: I64, used: I64) -> tuple[I64, I64]:
    """Place buffers of no bytes: in the first pool whose peak they leave alone, else as low as can be."""
    pin = pins(problem, families(problem))
    allowed, _, residue = where_allowed(problem, pin, [reserved_ranges(pool) for pool in problem.pools])
    offset = np.where(pin >= 0, pin, residue)[:, empty]
    rank = np.where(offset <= used[:, None], 0, 1 + offset.astype(np.float64))
    rank[~allowed[:, empty]] = np.inf
    pool = rank.argmin(axis=0)
    return pool, offset[pool, np.arange(len(empty))]


def _traffic(problem: Problem) -> I64:
    """Return the bytes that each family moves: those of its buffers of some bytes, 2^63 - 1 at the most."""
    table = problem.buffers
    traffic = np.where(table.size == 0, 0, np.where(table.traffic >= 0, table.traffic, table.size))
    for i, (root, _) in problem.roots.items():
        traffic[root] = min(int(traffic[root]) + int(traffic[i]), I64_MAX)
    return traffic


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
    capacity = last_end(pool) // unit
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
