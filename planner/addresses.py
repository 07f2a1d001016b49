"""Where buffers may lie: pins, reserved ranges, alignments with base addresses, for whole families of aliases."""

from __future__ import annotations

from math import gcd, lcm

import numpy as np

from planner.instance import I64_MAX, Bool
from planner.problem import ADDRESS_SPACE, Pool, Problem
from planner.table import ABSENT, I64


def families(problem: Problem) -> I64:
    """Return, for each buffer, the position of the one it lives in (its own, where it is no alias)."""
    family = np.arange(len(problem.buffers))
    for i, (root, _) in problem.roots.items():
        family[i] = root
    return family


def pins(problem: Problem, family: I64) -> I64:
    """Return where each family is pinned (ABSENT: nowhere); a pin that cannot be kept becomes I64_MAX."""
    pin = np.array(problem.buffers.offset)
    for i, (root, distance) in problem.roots.items():
        mine = int(problem.buffers.offset[i])
        if mine == ABSENT:
            continue
        start = mine - distance
        pin[root] = start if start >= 0 and pin[root] in (ABSENT, start) else I64_MAX
    return pin


def reserved_ranges(pool: Pool) -> I64:
    """Return a pool's reserved ranges as disjoint ascending (start, end) rows, in bytes."""
    rows: list[list[int]] = []
    for offset, size in sorted(pool.reserved):
        if size == 0:
            continue
        if rows and offset <= rows[-1][1]:
            rows[-1][1] = max(rows[-1][1], offset + size)
        else:
            rows.append([offset, offset + size])
    limit = last_end(pool)
    return np.array([(low, min(high, limit)) for low, high in rows if low < limit], dtype=np.int64).reshape(-1, 2)


def last_end(pool: Pool) -> int:
    """Return the largest end offset that a buffer in the pool can have, in bytes; fits int64."""
    return ADDRESS_SPACE - 1 if pool.size is None else pool.size


def where_allowed(problem: Problem, pin: I64, reserved: list[I64]) -> tuple[Bool, I64, I64]:
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
        limit = last_end(pool)
        lowest = np.where(pin >= 0, pin, residue[q])
        allowed[q] &= (table.size <= limit) & (lowest <= limit - table.size)
        allowed[q] &= (pin < 0) | ((pin - residue[q]) % alignment[q] == 0)
        allowed[q] &= ~_meets(pin, table.size, reserved[q])
    return allowed, alignment, residue


def _meets(pin: I64, size: I64, ranges: I64) -> Bool:
    """Say which buffers of some bytes, pinned at `pin`, share bytes with one of some disjoint ascending ranges."""
    # Of the ranges that end above the pin, the lowest is touched if any is.
    first = np.searchsorted(ranges[:, 1], pin, side="right")
    lows = np.append(ranges[:, 0], I64_MAX)
    return (pin >= 0) & (size > 0) & (first < len(ranges)) & (lows[first] - size < pin)


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
