"""Legal offsets of single buffers: pins, reserved ranges, alignments with base addresses; with all their aliases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import gcd, lcm

import numpy as np

from memplan.planner.instance.instance import COLUMNS, I64_MAX, Bool
from memplan.planner.model.buffer_table import ABSENT, I64
from memplan.planner.model.constraints import forbid_pools, no_cross, together
from memplan.planner.model.problem import ADDRESS_SPACE, Pool, Problem


def families(problem: Problem) -> I64:
    """Return, for each buffer, the position of the one it lives in (its own, where it is no alias)."""
    family = np.arange(len(problem.buffers))
    for i, (root, _) in problem.roots.items() if problem.buffers.aliases else ():
        family[i] = root
    return family


@dataclass(frozen=True, eq=False)
class LegalPlaces:
    """The pools and offsets that each buffer of a problem, other than aliases, may have; in bytes.

    `allowed`, `alignment` and `residue` are (pools, buffers), and mean what they do in an instance; `pin` is I64_MAX
    where a pin cannot be kept; `colocation` is the first of the buffers that must lie in one pool with each.
    """

    allowed: Bool
    alignment: I64
    residue: I64
    pin: I64
    reserved: list[I64]
    colocation: I64

    def among(self, kept: I64) -> LegalPlaces:
        """Return the places of the `kept` buffers, positions that ascend; groups keep the positions that name them."""
        # An index would leave gaps in the rows of (pools, buffers); `take` makes them anew, as kernels need them.
        columns = [field.name for field in fields(self) if field.name in COLUMNS]
        return replace(self, **{name: getattr(self, name).take(kept, axis=-1) for name in columns})


def legal_places(problem: Problem) -> LegalPlaces:
    """Return where each buffer may lie when nothing else is placed."""
    table = problem.buffers
    bound = _bound(problem) if table.aliases or table.relatives else {}
    pin = _pins(problem, bound) if bound else table.offset
    reserved = [reserved_ranges(pool) for pool in problem.pools]
    is_joined = table.relatives or problem.together
    colocation = together.colocation_groups(problem) if is_joined else np.arange(len(table))
    return LegalPlaces(*_where_allowed(problem, bound, colocation, pin, reserved), pin, reserved, colocation)


def _bound(problem: Problem) -> Mapping[int, tuple[int, int]]:
    """Return, for each alias and each member of a rigid group, (the buffer it is bound to, bytes above that one).

    That is the group's lowest buffer, or the one that the alias lives in; these are bound to themselves.
    """
    found = {int(i): (int(i), 0) for i in {root for root, _ in problem.roots.values()}} | dict(problem.rigid)
    for i, (root, distance) in problem.roots.items():
        lead, more = problem.rigid.get(root, (root, 0))
        found[i] = (lead, more + distance)
    return found


def _pins(problem: Problem, bound: Mapping[int, tuple[int, int]]) -> I64:
    """Return where each buffer that is no alias is pinned (ABSENT: nowhere); I64_MAX: where it cannot be."""
    pin = np.array(problem.buffers.offset)
    for i, (lead, distance) in bound.items():
        mine = int(problem.buffers.offset[i])
        if mine == ABSENT:
            continue
        start = mine - distance
        pin[lead] = start if start >= 0 and pin[lead] in (ABSENT, start) else I64_MAX
    for i, (lead, distance) in problem.rigid.items():
        pin[i] = min(int(pin[lead]) + distance, I64_MAX) if pin[lead] >= 0 else ABSENT
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


def _where_allowed(
    problem: Problem, bound: Mapping[int, tuple[int, int]], colocation: I64, pin: I64, reserved: list[I64]
) -> tuple[Bool, I64, I64]:
    """Return (allowed, alignment, residue), each (pools, buffers), in bytes, for the buffers that are no alias.

    What must lie in one pool is allowed only where all of it is.
    """
    table, pools = problem.buffers, problem.pools
    shape = (len(pools), len(table))
    allowed, alignment, residue = np.ones(shape, dtype=np.bool_), np.ones(shape, np.int64), np.zeros(shape, np.int64)
    has_pins = bool((pin >= 0).any())
    is_aligned = bool(bound or table.remainders or table.alignment.max(initial=1) > 1)
    congruences: dict[tuple[int, int], tuple[I64, I64]] = {}
    for q, pool in enumerate(pools):
        if is_aligned or pool.alignment > 1:
            grid = pool.alignment, pool.base_address
            congruences[grid] = congruences.get(grid) or _congruences(problem, bound, pool)
            alignment[q], residue[q] = congruences[grid]
        if len(table.pool_choices) > 1 or table.forbidden:
            allowed[q] = _may_use(problem, bound, pool)
        limit = last_end(pool)
        lowest = np.where(pin >= 0, pin, residue[q]) if has_pins else residue[q]
        # The size is taken from the limit, as lowest + size may pass int64.
        allowed[q] &= (lowest <= limit - table.size) & (lowest != I64_MAX)
        if has_pins:
            allowed[q] &= (pin < 0) | ((pin - residue[q]) % alignment[q] == 0) & (residue[q] != I64_MAX)
            allowed[q] &= ~_meets(pin, table.size, reserved[q])
        for i, page in table.pages.items():
            # A pinned buffer cannot move on to the next page.
            step = int(alignment[q, i]) if pin[i] < 0 else None
            allowed[q, i] &= no_cross.fits(int(table.size[i]), page, pool.base_address + int(lowest[i]), step)
        if table.relatives or problem.together:
            is_open = np.ones(len(table), dtype=np.bool_)
            np.logical_and.at(is_open, colocation, allowed[q])
            allowed[q] = is_open[colocation]
    return allowed, alignment, residue


def _may_use(problem: Problem, bound: Mapping[int, tuple[int, int]], pool: Pool) -> Bool:
    """Return True for the buffers that may use a pool by its name, with all that is bound to them."""
    table = problem.buffers
    is_open = [not names or pool.name in names for names in table.pool_choices]
    found = np.array(is_open, dtype=np.bool_)[table.pool_choice]
    found[forbid_pools.closed_to(problem, pool)] = False
    members = np.fromiter(bound, np.int64, len(bound))
    leads = np.fromiter((lead for lead, _ in bound.values()), np.int64, len(bound))
    np.logical_and.at(found, leads, found[members])
    return found


def _congruences(problem: Problem, bound: Mapping[int, tuple[int, int]], pool: Pool) -> tuple[I64, I64]:
    """Return (alignment, residue), each (buffers,): the offsets that a pool's addresses and remainders leave open.

    The address base + o of a buffer at offset o must be a multiple of lcm(its alignment, the pool's), and o must leave
    the remainder that it requires. What is bound to a buffer adds such conditions to it (Chinese remainders).
    """
    table = problem.buffers
    values, which = np.unique(table.alignment, return_inverse=True)
    rules = [_congruence(int(value), pool) for value in values]
    alignment, residue = np.array([_in_int64(rule) for rule in rules], dtype=np.int64).reshape(-1, 2)[which].T
    joint: dict[int, tuple[int, int] | None] = {}
    for i in (*bound, *(i for i in table.remainders if i not in bound)):
        lead, distance = bound.get(i, (i, 0))
        for step, start in (rules[which[i]], table.remainders.get(i, (1, 0))):
            if step == 1:  # which is no condition, and what most aliases have
                continue
            joint[lead] = _both(joint.get(lead, (1, 0)), (step, start - distance))
    for lead, rule in joint.items():
        alignment[lead], residue[lead] = _in_int64(rule)
    for i, (lead, distance) in problem.rigid.items():
        alignment[i], residue[i] = alignment[lead], min(int(residue[lead]) + distance, I64_MAX)
    return alignment, residue


def _meets(pin: I64, size: I64, ranges: I64) -> Bool:
    """Return True for buffers of some bytes, pinned at `pin`, that share bytes with disjoint ascending ranges."""
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
