"""Legal pools and offsets of each buffer with its aliases, from all pins, alignments and constraint kinds.

In each pool, a buffer may have the offsets from `lowest` to `highest` in steps of its alignment, except those in its
barred ranges, and those at which it would cross a page border or overlap a reserved range. Searches, bounds and proofs
read these columns instead of the problem's fields.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import gcd, lcm
from typing import NamedTuple, Self

import numpy as np

from memplan.planner.instance.instance import COLUMNS, I64_MAX, Bool
from memplan.planner.model.buffer_table import ABSENT, I64
from memplan.planner.model.constraints import forbid_pools, together
from memplan.planner.model.constraints.kept import NO_END, OffsetRule
from memplan.planner.model.constraints.kinds import offset_rules
from memplan.planner.model.intervals import merge_spans
from memplan.planner.model.problem import ADDRESS_SPACE, Pool, Problem


def families(problem: Problem) -> I64:
    """Return, for each buffer, the position of its root: the outermost buffer that contains it, or itself."""
    family = np.arange(len(problem.buffers))
    for i, (root, _) in problem.roots.items() if problem.buffers.aliases else ():
        family[i] = root
    return family


Ranges = tuple[tuple[int, int], ...]
"""Half-open ranges, ascending, disjoint and not adjacent."""
EVERYWHERE: Ranges = OffsetRule().intervals


class LegalPlaces(NamedTuple):
    """The pools and offsets, in bytes, that each buffer of a problem may have; an alias counts with its root buffer.

    `allowed`, `alignment`, `lowest`, `highest` and `pin` mean the same as in an instance. `page` is the size of pages
    whose borders a buffer must not cross, or 0. All of these but `pin` have the shape (pools, buffers). So does
    `barred`: barred[q, i] is the index in `barred_ranges` of the ranges that must not contain the buffer's offset, or
    ABSENT. `colocation` has, for each buffer, the first of the buffers that must be in one pool with it.
    """

    allowed: Bool
    alignment: I64
    lowest: I64
    highest: I64
    pin: I64
    page: I64
    barred: I64
    barred_ranges: tuple[Ranges, ...]
    reserved: list[I64]
    colocation: I64

    def restrict(self, kept: I64) -> Self:
        """Return the columns of the buffers `kept` (ascending positions); `colocation` has positions of the problem."""
        # Kernels require contiguous rows, so use `take`, because indexing would not return such rows.
        columns = [name for name in self._fields if name in COLUMNS and name != "barred_ranges"]
        return self._replace(**{name: getattr(self, name).take(kept, axis=-1) for name in columns})


def legal_places(problem: Problem) -> LegalPlaces:
    """Return the legal pools and offsets of each buffer, regardless of where other buffers are."""
    table, pools = problem.buffers, problem.pools
    bound = _bound_buffers(problem) if table.aliases or table.rules["relative"] else {}
    rules = offset_rules(problem)
    # Usually no pool restricts ranges of offsets, so the limits of the first pool hold for all pools.
    ranged = [[(i, rule.intervals) for i, rule in mine if rule.intervals != EVERYWHERE] for mine in rules]
    ends = [_offset_limits(problem, bound, mine) for mine in (ranged if any(ranged) else ranged[:1])] * len(pools)
    is_joined = table.rules["relative"] or problem.together
    colocation = together.colocation_groups(problem) if is_joined else np.arange(len(table))
    shape = (len(pools), len(table))
    allowed, alignment, lowest = np.ones(shape, dtype=np.bool_), np.ones(shape, np.int64), np.zeros(shape, np.int64)
    highest, page = np.full(shape, I64_MAX), np.zeros(shape, dtype=np.int64)
    barred = np.full(shape, ABSENT)
    numbers: dict[Ranges, int] = {}
    steps = [[rule for rule in mine if rule[1].step > 1] for mine in rules]
    is_aligned = bool(bound or any(steps) or table.alignment.max(initial=1) > 1)
    reserved = [reserved_ranges(pool) for pool in pools]
    congruences: dict[tuple[int, int, int], tuple[I64, I64]] = {}
    for q, pool in enumerate(pools):
        for i, rule in rules[q]:
            page[q, i] = max(int(page[q, i]), rule.page)
        if is_aligned or pool.alignment > 1:
            grid = pool.alignment, pool.base_address, q if steps[q] else ABSENT
            congruences[grid] = congruences.get(grid) or _congruences(problem, bound, steps[q], pool)
            alignment[q], lowest[q] = congruences[grid]
        if len(table.pool_choices) > 1 or table.rules["forbid_pools"]:
            allowed[q] = _may_use_pool(problem, bound, pool)
        least, most = ends[q]
        if least.any() or (most < I64_MAX).any() or ranged[q]:
            lowest[q], highest[q] = _grid_span(least, most, alignment[q], lowest[q])
            for i, ranges in _barred_ranges(problem, ranged[q]).items():
                if i not in problem.rigid_leads:
                    lowest[q, i] = _first_outside(ranges, int(lowest[q, i]), int(alignment[q, i]))
                if above := tuple(row for row in ranges if row[1] > lowest[q, i]):
                    barred[q, i] = numbers.setdefault(above, len(numbers))
            allowed[q] &= lowest[q] <= highest[q]
            allowed[q] &= ~_meets_ranges(np.where(lowest[q] == highest[q], lowest[q], ABSENT), table.size, reserved[q])
        # The sum lowest + size may overflow int64, so subtract the size from the limit instead.
        allowed[q] &= (lowest[q] <= last_end(pool) - table.size) & (lowest[q] != I64_MAX)
        for i in np.flatnonzero(page[q]).tolist():
            # A buffer with a single possible offset cannot move to the next page, so such a buffer has no step.
            step = int(alignment[q, i]) if lowest[q, i] < highest[q, i] else None
            allowed[q, i] &= _fits_pages(
                int(table.size[i]), int(page[q, i]), pool.base_address + int(lowest[q, i]), step
            )
        if is_joined:  # a group may use a pool only if every member may use that pool
            is_open = np.ones(len(table), dtype=np.bool_)
            np.logical_and.at(is_open, colocation, allowed[q])
            allowed[q] = is_open[colocation]
    is_pinned = _pinned_mask(problem, bound) if table.has_any(table.offset) else np.zeros(len(table), dtype=np.bool_)
    pin = np.where(is_pinned & (ends[0][0] == ends[0][1]), ends[0][0], ABSENT)
    return LegalPlaces(allowed, alignment, lowest, highest, pin, page, barred, tuple(numbers), reserved, colocation)


def _bound_buffers(problem: Problem) -> Mapping[int, tuple[int, int]]:
    """Return (leader, distance above it in bytes) for each alias and for each member of a rigid group.

    The leader of a rigid group (buffers at fixed distances) is its lowest member; this member is its own leader. An
    alias has the leader of the buffer that contains it.
    """
    bound = {int(i): (int(i), 0) for i in {root for root, _ in problem.roots.values()}} | dict(problem.rigid_leads)
    for i, (root, distance) in problem.roots.items():
        lead, more = problem.rigid_leads.get(root, (root, 0))
        bound[i] = (lead, more + distance)
    return bound


def _offset_limits(
    problem: Problem, bound: Mapping[int, tuple[int, int]], ranged: Sequence[tuple[int, Ranges]]
) -> tuple[I64, I64]:
    """Return the least and greatest offset that pins and intervals allow each buffer together with its aliases.

    The least exceeds the greatest if no offset is allowed; I64_MAX as the greatest means that there is no limit.
    """
    pin = problem.buffers.offset
    least, most = np.maximum(pin, 0), np.where(pin >= 0, pin, I64_MAX)
    for i, intervals in ranged:
        low, end = (intervals[0][0], intervals[-1][1]) if intervals else (I64_MAX, 0)
        least[i], most[i] = max(int(least[i]), low), min(int(most[i]), I64_MAX if end == NO_END else end - 1)
    for i, (lead, distance) in bound.items():
        least[lead] = max(int(least[lead]), int(least[i]) - distance)
        if most[i] < I64_MAX:
            most[lead] = max(ABSENT, min(int(most[lead]), int(most[i]) - distance))
    for i, (lead, distance) in problem.rigid_leads.items():
        least[i] = min(int(least[lead]) + distance, I64_MAX)
        most[i] = min(int(most[lead]) + distance, I64_MAX)
    return least, most


def _barred_ranges(problem: Problem, ranged: Sequence[tuple[int, Ranges]]) -> dict[int, Ranges]:
    barred: dict[int, list[tuple[int, int]]] = {}
    for i, intervals in ranged:
        root, distance = problem.roots.get(i, (i, 0))
        between = [(low - distance, high - distance) for (_, low), (high, _) in pairwise(intervals)]
        barred.setdefault(root, []).extend((max(low, 0), high) for low, high in between if high > 0)
    return {i: merge_ranges(ranges) for i, ranges in barred.items() if ranges}


def merge_ranges(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the fewest half-open ranges that cover the same integers, ascending; empty ranges are dropped."""
    return tuple(merge_spans((low, high) for low, high in ranges if low < high))


def _first_outside(ranges: Ranges, at: int, step: int) -> int:
    for low, high in ranges:
        if low <= at < high:
            at = high + (at - high) % step
    return min(at, I64_MAX)


def _pinned_mask(problem: Problem, bound: Mapping[int, tuple[int, int]]) -> Bool:
    is_pinned: Bool = problem.buffers.offset >= 0
    for i, (lead, _) in bound.items():
        is_pinned[lead] |= is_pinned[i]
    for i, (lead, _) in problem.rigid_leads.items():
        is_pinned[i] = is_pinned[lead]
    return is_pinned


def _grid_span(least: I64, most: I64, step: I64, start: I64) -> tuple[I64, I64]:
    """Return the first and last offset between `least` and `most` of the form start + k * step, k >= 0.

    If no offset has this form, the first exceeds the last; the first is I64_MAX if it would overflow int64.
    """
    waste = (start - least) % step
    first = np.where(least <= start, start, np.where(waste > I64_MAX - least, I64_MAX, least + waste))
    return first, np.where((most < I64_MAX) & (first <= most), most - (most - first) % step, most)


def reserved_ranges(pool: Pool) -> I64:
    """Return a pool's reserved ranges as disjoint ascending rows (start, end), in bytes."""
    rows = merge_ranges((offset, offset + size) for offset, size in pool.reserved)
    limit = last_end(pool)
    return np.array([(low, min(high, limit)) for low, high in rows if low < limit], dtype=np.int64).reshape(-1, 2)


def last_end(pool: Pool) -> int:
    """Return the largest end offset, in bytes, that a buffer in the pool can have; it fits into int64."""
    return ADDRESS_SPACE - 1 if pool.size is None else pool.size


def _fits_pages(size: int, page: int, address: int, step: int | None) -> bool:
    """Return True if a buffer crosses no page border at some `address` + k * `step`; with step None, k must be 0."""
    least = address % (page if step is None else gcd(step, page))
    return least + size <= page


def _may_use_pool(problem: Problem, bound: Mapping[int, tuple[int, int]], pool: Pool) -> Bool:
    """Return a mask: True for each buffer that may use a pool according to the buffer's lists of pools.

    The leader of buffers at fixed distances gets True only if all these buffers may use the pool.
    """
    table = problem.buffers
    is_open = [not names or pool.name in names for names in table.pool_choices]
    may_use = np.array(is_open, dtype=np.bool_)[table.pool_choice]
    may_use[forbid_pools.excluded_buffers(problem, pool)] = False
    members = np.fromiter(bound, np.int64, len(bound))
    leads = np.fromiter((lead for lead, _ in bound.values()), np.int64, len(bound))
    np.logical_and.at(may_use, leads, may_use[members])
    return may_use


def _congruences(
    problem: Problem, bound: Mapping[int, tuple[int, int]], steps: Sequence[tuple[int, OffsetRule]], pool: Pool
) -> tuple[I64, I64]:
    """Return (alignment, residue), each (buffers,): in a pool, the offsets that alignments and remainders allow.

    The address base + o of a buffer at offset o must be a multiple of the buffer's and the pool's alignments, and o
    must have the buffer's required remainder. The conditions of all buffers at fixed distances are combined at their
    leader by the Chinese remainder theorem.
    """
    table = problem.buffers
    values, which = np.unique(table.alignment, return_inverse=True)
    rules = [_congruence(int(value), pool) for value in values]
    alignment, residue = np.array([_int64_congruence(rule) for rule in rules], dtype=np.int64).reshape(-1, 2)[which].T
    joint: dict[int, tuple[int, int] | None] = {}
    conditions = [(i, rules[which[i]]) for i in {*bound, *(i for i, _ in steps)}]
    for i, (step, start) in (*conditions, *((i, (rule.step, rule.remainder)) for i, rule in steps)):
        lead, distance = bound.get(i, (i, 0))
        if step > 1:  # an alignment of 1 restricts nothing, so skip it
            joint[lead] = _combined_congruence(joint.get(lead, (1, 0)), (step, start - distance))
    for lead, rule in joint.items():
        alignment[lead], residue[lead] = _int64_congruence(rule)
    for i, (lead, distance) in problem.rigid_leads.items():
        alignment[i], residue[i] = alignment[lead], min(int(residue[lead]) + distance, I64_MAX)
    return alignment, residue


def _meets_ranges(pin: I64, size: I64, ranges: I64) -> Bool:
    # If the first range that ends above the pin does not overlap the buffer, no later range does.
    first = np.searchsorted(ranges[:, 1], pin, side="right")
    lows = np.append(ranges[:, 0], I64_MAX)
    return (pin >= 0) & (size > 0) & (first < len(ranges)) & (lows[first] - size < pin)


def _congruence(value: int, pool: Pool) -> tuple[int, int]:
    step = lcm(value, pool.alignment)
    return step, -pool.base_address % step


def _combined_congruence(first: tuple[int, int] | None, second: tuple[int, int]) -> tuple[int, int] | None:
    """Return the congruence (m, r), o = r mod m, equivalent to both given ones; None if these contradict each other."""
    if first is None:
        return None
    (a, r), (b, s) = first, second
    if a > I64_MAX:  # Only the offset r fits in int64, so keep the modulus.
        return first if (r - s) % b == 0 else None
    shared = gcd(a, b)
    if (s - r) % shared:
        return None
    step = lcm(a, b)
    return step, (r + a * ((s - r) // shared * pow(a // shared, -1, b // shared) % (b // shared))) % step


def _int64_congruence(rule: tuple[int, int] | None) -> tuple[int, int]:
    step, start = rule or (1, I64_MAX)
    return min(step, I64_MAX), min(start, I64_MAX)
