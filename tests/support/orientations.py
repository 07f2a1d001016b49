"""Minimum pool ends of a problem, by brute force over which buffer of each pair lies below the other.

Shares no code with the planner. Dropping buffers in each order would not do: a buffer that shares an offset must stay
with its partner, a rigid group may hold others in its holes, and weights ask for room, not for low offsets.

Let every two buffers that must keep apart be *oriented*: the one lies below the other, or both at one offset where that
may be; below means in lower banks where banks must differ. Then each rule is either about one rigid group's offset x
alone, or says x >= f(y) of two groups with a growing f. If two assignments keep such rules, so does the lesser of the
two in each place. So one assignment is the least in all places, with the least end; raising offsets from 0 to what the
rules ask, again and again, comes to it. Every plan is oriented somehow. So it is enough to start without orientations,
and to try each way to orient some two buffers that the least assignment lets clash, and so on.

If offsets rise above all pins and reserved ranges by more than P + D for each group and once more, there is no
assignment, where everything repeats every P bytes (alignments, remainders, pages, banks) and groups span less than D
bytes together: in one there would be two neighbours, in the order of offsets, that are P + D apart, so that no rule
keeps those above from moving down by P.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations, product
from math import fsum, gcd, inf, lcm

from memplan.planner.model.problem import Pool, Problem
from tests.support.families import (
    LAST_END,
    Family,
    bank_rule,
    clearance_between,
    conflicts,
    may_share,
    reuse_price,
    rigid_groups,
)

Place = tuple[int, int]
"""A rigid group's position, and the bytes from its lowest buffer."""


@dataclass(frozen=True)
class AtLeast:
    """The rule that position `high` is at least `low` or, counted in addresses, at least the start of its next bank."""

    low: Place
    high: Place
    bank: int = 1


@dataclass(frozen=True, eq=False)
class Group:
    """Families at fixed distances from the lowest of them, in one pool."""

    members: tuple[tuple[int, Family], ...]
    pool: Pool

    def rules(self) -> list[tuple[int, int]]:
        found = [(m, (r - d) % m) for d, family in self.members for m, r in family.remainders(self.pool)]
        return sorted(set(found), reverse=True)

    def moduli(self) -> list[int]:
        pages = [row.no_cross or 1 for _, family in self.members for _, row in family.members]
        return [*(modulus for modulus, _ in self.rules()), *pages]

    @property
    def span(self) -> int:
        return max(distance + family.size for distance, family in self.members)

    def next_legal(self, at: int, horizon: int) -> int | None:
        """Return the lowest offset from `at` to the horizon that all rules about single buffers allow; else None."""
        step = 1
        for modulus, remainder in self.rules():  # as in a sieve, the steps for a rule keep earlier rules
            common = gcd(step, modulus)
            if (remainder - at) % common:
                return None
            inverse = pow(step // common, -1, modulus // common)
            at += step * ((remainder - at) // common * inverse % (modulus // common))
            step = lcm(step, modulus)
        while at <= horizon:
            if all(family.may_start_at(self.pool, at + distance) for distance, family in self.members):
                return at
            at += step
        return None


@dataclass(frozen=True, eq=False)
class Rivals:
    """Two families in one pool that must not overlap (except at the same offset) or must not touch a common bank."""

    first: Place
    second: Place
    sizes: tuple[int, int]
    conflict: bool
    may_share: bool
    free: int  # clearance between them in bytes
    bank: int  # bank size; 0 if a common bank is allowed
    weight: float | None  # cost of a common bank or shared bytes; None if forbidden

    def clash(self, x: list[int], base: int) -> bool:
        """True if the families break their rule at offsets `x`, with all weights unpaid."""
        low, high = x[self.first[0]] + self.first[1], x[self.second[0]] + self.second[1]
        if self.bank:
            banks = [
                ((base + at) // self.bank, (base + at + size - 1) // self.bank)
                for at, size in zip((low, high), self.sizes, strict=True)
            ]
            if banks[0][0] <= banks[1][1] and banks[1][0] <= banks[0][1]:
                return True
        share = self.may_share and low == high
        is_near = low < high + self.sizes[1] + self.free and high < low + self.sizes[0] + self.free
        return self.conflict and not share and is_near

    def ways(self) -> "Iterator[tuple[list[AtLeast], Rivals | None, float]]":
        """Yield each way to avoid a clash: its rules, the rules that remain if a weight is paid, and the weight."""
        first_end = (self.first[0], self.first[1] + self.sizes[0])
        second_end = (self.second[0], self.second[1] + self.sizes[1])
        bank = self.bank or 1
        for (group, end), other in ((first_end, self.second), (second_end, self.first)):
            yield [AtLeast((group, end), other, bank), AtLeast((group, end + self.free), other)], None, 0
        if self.may_share and not self.bank:
            yield [AtLeast(self.first, self.second), AtLeast(self.second, self.first)], None, 0
        if self.bank and self.weight is not None:
            yield [], replace(self, bank=0, weight=None), self.weight
        elif self.weight is not None:
            yield [], None, self.weight


def costs_that_fit(problem: Problem, has_weights: bool = False) -> Iterator[tuple[float, tuple[int, ...]]]:
    """Yield the minimum cost and the minimum end of each pool, for every feasible choice of pools."""
    groups = rigid_groups(problem)
    colocation = _colocation(problem, groups)

    @cache
    def pack(q: int, chosen: tuple[int, ...]) -> tuple[float, int] | None:
        return _Packing(problem, problem.pools[q], [groups[k] for k in chosen], has_weights).best()

    for choice in product(range(len(problem.pools)), repeat=len(groups)):
        if any(choice[k] != choice[mate] for k, mate in colocation):
            continue
        ends, costs = [], []
        for q, pool in enumerate(problem.pools):
            found = pack(q, tuple(k for k, home in enumerate(choice) if home == q))
            if found is None:
                break
            ends.append(found[1])
            costs.append(found[0])
            costs += [f.traffic() * pool.cost for k, home in enumerate(choice) if home == q for _, f in groups[k]]
        else:
            yield fsum(costs), tuple(ends)


def _colocation(problem: Problem, groups: list[list[tuple[int, Family]]]) -> list[tuple[int, int]]:
    home = {row.id: k for k, group in enumerate(groups) for _, family in group for _, row in family.members}
    return [(home[names[0]], home[name]) for names in problem.together for name in names]


class _Packing:
    """The packing of some groups into one pool."""

    def __init__(self, problem: Problem, pool: Pool, groups: list[list[tuple[int, Family]]], has_weights: bool) -> None:
        self.pool = pool
        self.groups = [Group(tuple(members), pool) for members in groups]
        self.problem = problem
        self.rivals = list(self._rivals(has_weights))
        self.fixed = sum(self._fixed_prices()) if has_weights else 0
        self.horizon = self._horizon()
        self.least: tuple[float, int] = (inf, 0)

    def best(self) -> tuple[float, int] | None:
        """Return the minimum weight, and the minimum end at that weight; None if the groups do not fit."""
        if all(family.may_live_in(self.pool) for group in self.groups for _, family in group.members):
            self._search([], self.rivals, self.fixed)
        return None if self.least[0] == inf else self.least

    def _rivals(self, has_weights: bool) -> Iterator[Rivals]:
        problem, bank = self.problem, self.pool.bank_size or 0
        places = [((g, d), f) for g, group in enumerate(self.groups) for d, f in group.members if f.size]
        for (first, a), (second, b) in combinations(places, 2):
            if first[0] == second[0]:
                continue
            must, weight = bank_rule(problem, a, b)
            is_banked = bank > 0 and (must or (has_weights and weight > 0))
            is_conflict = conflicts(problem, a, b)
            if is_conflict or is_banked:
                free = clearance_between(problem, a, b)
                share = free is None and may_share(problem, a, b)
                price = None if must or not is_banked else weight
                yield Rivals(first, second, (a.size, b.size), is_conflict, share, free or 0, bank * is_banked, price)
            if has_weights and not is_conflict and (price := reuse_price(problem, a, b)):
                yield Rivals(first, second, (a.size, b.size), True, False, 0, 0, price)

    def _fixed_prices(self) -> Iterator[int]:
        """Yield the costs of pairs within one rigid group, which do not depend on its offset."""
        for group in self.groups:
            for (low, a), (high, b) in combinations(sorted(group.members, key=lambda each: each[0]), 2):
                if a.size and b.size and high < low + a.size and not conflicts(self.problem, a, b):
                    yield reuse_price(self.problem, a, b)

    def _horizon(self) -> int:
        rows = [row for group in self.groups for _, family in group.members for _, row in family.members]
        base = max([row.offset or 0 for row in rows] + [low + size for low, size in self.pool.reserved], default=0)
        period = lcm(self.pool.bank_size or 1, *(m for group in self.groups for m in group.moduli()))
        span = sum(group.span for group in self.groups) + sum(pair.free for pair in self.rivals)
        return min(
            base + (len(self.groups) + 1) * (period + span), LAST_END if self.pool.size is None else self.pool.size
        )

    def _search(self, asked: list[AtLeast], rivals: list[Rivals], paid: float) -> None:
        x = self._min_assignment(asked)
        if x is None:
            return
        end = max((x[g] + d + f.size for g, row in enumerate(self.groups) for d, f in row.members if f.size), default=0)
        if (paid, end) >= self.least:
            return
        clash = next((pair for pair in rivals if pair.clash(x, self.pool.base_address)), None)
        if clash is None:
            self.least = (paid, end)
            return
        others = [pair for pair in rivals if pair is not clash]
        for more, left, price in clash.ways():
            self._search(asked + more, others if left is None else [left, *others], paid + price)

    def _min_assignment(self, asked: list[AtLeast]) -> list[int] | None:
        """Return the offsets that satisfy the rules and are minimal for all groups at once; None if none exist."""
        x: list[int] = []
        for group in self.groups:
            at = group.next_legal(0, self.horizon)
            if at is None:
                return None
            x.append(at)
        rises = True
        while rises:
            rises = False
            for rule in asked:
                (low, above), (high, more) = rule.low, rule.high
                address = self.pool.base_address + x[low] + above
                least = -(-address // rule.bank) * rule.bank - self.pool.base_address - more
                if x[high] < least:
                    at = self.groups[high].next_legal(least, self.horizon)
                    if at is None:
                        return None
                    x[high], rises = at, True
        return x
