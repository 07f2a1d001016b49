"""Lower bounds on the cost of plans over several pools, by a Lagrangian relaxation; part of the verifier.

The relaxation drops the rule that buffers alive together fit into a pool, and charges for each of their bytes instead
(Fisher, Management Science 27, 1981). Any charges give a valid bound: they are searched in floating point, rounded, and
the bound is computed in exact integers. The module shares no code with the solvers and their bounds.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil, gcd, lcm

import numpy as np
from numpy.typing import NDArray

from memplan.planner.model.buffer_table import I64
from memplan.planner.model.problem import Problem

F64 = NDArray[np.float64]

_STEPS, _PATIENCE, _SHORTER, _SHORTEST, _KEPT = 1500, 20, 0.7, 1e-4, 0.7
"""The maximum number of steps; after how many without a gain they get shorter, by which factor, and down to what part
of the first one; and the part of a step's direction that the next step keeps.
"""
_MOST_CHOICES, _LARGEST = 5_000, 2**60
"""The maximum number of choices kept at a birth time, and the limit on numbers whose sums must fit int64."""
_NOWHERE = -1
"""The pool of a buffer that occupies nothing, as its pool is unknown."""
_PARTS = 2**24
"""The parts of a cost unit in which charges are rounded."""
_BEYOND = 1.001
"""The factor by which the bound that a step aims at exceeds the requested bound."""


class CostRelaxation:
    """A problem with costs as arrays, for n buffers, p pools, r limited pools and m birth times (starts of lifetimes).

    price: (p, n), the cost of each buffer in each pool, in units of 1 / `parts`.
    allowed: (p, n), True where a buffer may be.
    size: (n,), the bytes that a buffer does not share with other buffers.
    pool, room: (r,), the position of each limited pool, and its bytes outside reserved ranges.
    rows: (k, 3), a buffer, and the first and the exclusive last number of a range of birth times at which it is alive.
    """

    def __init__(self, problem: Problem) -> None:
        """Compute the arrays of a problem: prices as integers, birth times, and the free bytes of limited pools."""
        table = problem.buffers
        costs = [Fraction(repr(float(pool.cost))) for pool in problem.pools]
        self.parts = lcm(*(cost.denominator for cost in costs))
        moved = (np.where(table.traffic >= 0, table.traffic, table.size) * (table.size > 0)).tolist()
        whole = [[int(cost * self.parts) * amount for amount in moved] for cost in costs]
        self.price = np.array(whole, dtype=object).reshape(len(costs), len(moved))
        self.allowed = np.zeros(self.price.shape, dtype=np.bool_)
        for i in range(len(moved)):
            self.allowed[list(problem.allowed_pools(problem.roots.get(i, (i, 0))[0])), i] = True
        births = _crowded_births(table.start, table.end)
        self.rows = np.array([*_birth_ranges(problem, births)], dtype=np.int64).reshape(-1, 3)
        self.n_births = len(births)
        limited = [q for q, pool in enumerate(problem.pools) if pool.size is not None and _free_bytes(problem, q) > 0]
        self.pool = np.array(limited, dtype=np.int64)
        self.room = np.array([_free_bytes(problem, q) for q in limited], dtype=np.int64)
        self.size = _occupied_bytes(problem)
        self._alive_at: list[set[int]] = [set() for _ in births]
        for i, low, high in self.rows.tolist():
            for row in range(low, high):
                self._alive_at[row].add(i)

    def bound(self, goal: float, is_over: Callable[[], bool]) -> Fraction:
        """Return a lower bound on the cost of every plan; the search stops above `goal`, or if `is_over()` is true."""
        prices = np.where(self.allowed, self.price.astype(np.float64), np.inf)
        # Steps compare the excesses of several pools, so count bytes in parts of each pool's room.
        size, charge = self.size / self.room[:, None], np.zeros((len(self.room), self.n_births))
        best, best_value, length, stalled, way = charge, -np.inf, 1.0, 0, np.zeros_like(charge)
        target = max(goal * self.parts * _BEYOND, 1.0)
        for _ in range(_STEPS):
            total = prices.copy()
            np.add.at(total, self.pool, self._charges_by_buffer(charge) * size)
            home = total.argmin(axis=0)
            value = float(total.min(axis=0).sum() - charge.sum())
            stalled = 0 if value > best_value + 1e-7 * abs(best_value) else stalled + 1
            if value > best_value:
                best, best_value = charge, value
            if value >= target or length < _SHORTEST or is_over():
                break
            if stalled >= _PATIENCE:
                charge, length, stalled, way = best, length * _SHORTER, 0, np.zeros_like(charge)
                continue
            excess = self._loads_by_birth_time(np.where(home == self.pool[:, None], size, 0.0)) - 1.0
            excess[(charge <= 0) & (excess < 0)] = 0
            way = _KEPT * way + (1 - _KEPT) * excess
            if not (squares := float((way * way).sum())):
                break
            charge = np.maximum(0, charge + length * (target - value) / squares * way)
        # A charge beyond int64 would wrap to a negative number, for which no bound holds, so limit charges.
        charges = np.minimum(np.rint(best / self.room[:, None] * _PARTS), float(_LARGEST)).astype(np.int64)
        return self._exact_bound(charges, goal, is_over)

    def _charges_by_buffer(self, charge: F64) -> F64:
        """Return (r, n): for each limited pool and buffer, the sum of charges at birth times when the buffer is alive.

        `charge`, (r, m), has the charge of each limited pool at each birth time.
        """
        sums = np.concatenate((np.zeros((len(charge), 1)), np.cumsum(charge, axis=1)), axis=1)
        found = np.zeros((len(charge), self.price.shape[1]))
        np.add.at(found.T, self.rows[:, 0], (sums[:, self.rows[:, 2]] - sums[:, self.rows[:, 1]]).T)
        return found

    def _loads_by_birth_time(self, taken: F64) -> F64:
        change = np.zeros((self.n_births + 1, len(taken)))
        np.add.at(change, self.rows[:, 1], taken[:, self.rows[:, 0]].T)
        np.add.at(change, self.rows[:, 2], -taken[:, self.rows[:, 0]].T)
        return np.asarray(np.cumsum(change, axis=0)[:-1].T)

    def _exact_bound(self, charge: I64, goal: float, is_over: Callable[[], bool]) -> Fraction:
        """Return the lower bound on the cost that integer charges (r, m) prove; the arithmetic is exact.

        Charges count in units of 1 / (`parts` * _PARTS). The computation may end once the bound reaches `goal`.
        """
        total, paid = self.price * _PARTS, 0
        for q, room, row in zip(self.pool.tolist(), self.room.tolist(), charge, strict=True):
            sums = np.concatenate(([0], np.cumsum(row.astype(object))))
            charged = np.zeros(len(self.size), dtype=object)
            np.add.at(charged, self.rows[:, 0], sums[self.rows[:, 2]] - sums[self.rows[:, 1]])
            total[q] = total[q] + charged * self.size.astype(object)
            paid += int(sums[-1]) * room
        least = np.array(
            [min(column[mine]) for column, mine in zip(total.T, self.allowed.T, strict=True)], dtype=object
        )
        first = int(least.sum()) - paid
        most = ceil(goal * self.parts * _PARTS)
        if first < most and max(map(abs, (most, first, paid, *total.ravel().tolist()))) < _LARGEST:
            first = self._bound_by_choices(charge, (total - least).astype(np.int64), first, most, is_over)
        return Fraction(self._smallest_possible_cost(Fraction(first, _PARTS)), self.parts)

    def _bound_by_choices(self, charge: I64, above: I64, first: int, most: int, is_over: Callable[[], bool]) -> int:
        """Return a lower bound on the cost, at most about `most`, by listing choices of pools in order of birth times.

        A choice assigns a pool to each buffer born so far. It costs at least the sum of three terms: `first`, the value
        in `above`, (p, n), for each buffer and its pool, and the charges of all room that stays free. Of choices that
        put all live buffers into the same pools, only the cheapest is kept. Choices that cost `most` or more are
        dropped. If there are too many choices, the most expensive ones are merged into one, which costs as much as the
        cheapest of them and whose live buffers occupy nothing. If time runs out, the bound covers only the birth times
        examined so far.
        """
        begins, ends = _rows_of_buffers(self.rows, self.n_births)
        members, homes, value = list[int](), np.zeros((1, 0), dtype=np.int32), np.array([first])
        for row in range(self.n_births):
            if is_over():
                break
            stay = [k for k, i in enumerate(members) if ends[i] > row]
            members = [members[k] for k in stay]
            homes, value = _cheapest_of_equals(homes[:, stay], value)
            for i in begins[row]:
                pools = np.flatnonzero(self.allowed[:, i])
                homes = np.hstack((np.repeat(homes, len(pools), axis=0), np.tile(pools, len(homes))[:, None]))
                homes, value = (
                    homes.astype(np.int32),
                    np.repeat(value, len(pools)) + np.tile(above[pools, i], len(value)),
                )
                members.append(i)
                keeps = value < most
                for q, room in zip(self.pool, self.room, strict=True):
                    keeps &= (homes == q) @ self._live_sizes(members, row) <= room
                homes, value = homes[keeps], value[keeps]
                if len(value) > _MOST_CHOICES:
                    order = np.argpartition(value, _MOST_CHOICES)
                    homes, value = homes[order[: _MOST_CHOICES + 1]], value[order[: _MOST_CHOICES + 1]]
                    homes[-1] = _NOWHERE
            is_nowhere = homes == _NOWHERE
            for q, room, paid in zip(self.pool, self.room, charge[:, row], strict=True):
                most_load = ((homes == q) | is_nowhere) @ self._live_sizes(members, row)
                value = value + paid * np.maximum(0, room - most_load)
        return int(value.min(initial=most))

    def _live_sizes(self, members: list[int], row: int) -> I64:
        alive = self._alive_at[row]
        return np.array([self.size[i] if i in alive else 0 for i in members], dtype=np.int64)

    def _smallest_possible_cost(self, value: Fraction) -> int:
        firsts, step = 0, 0
        for column, mine in zip(self.price.T, self.allowed.T, strict=True):
            own = column[mine].tolist()
            firsts += own[0]
            step = gcd(step, *(each - own[0] for each in own))
        return firsts if step == 0 else firsts + -((firsts - value) // step) * step


def _occupied_bytes(problem: Problem) -> I64:
    table = problem.buffers
    tied = {problem.root_of(name) for pair in problem.may_share for name in pair} | set(problem.roots)
    tied |= {each for i in table.rules["relative"] for each in (i, problem.target(i)[0])}
    return np.where(np.isin(np.arange(len(table.size)), [*tied]), 0, table.size)


def _crowded_births(start: I64, end: I64) -> I64:
    """Return the birth times after which a buffer dies before the next birth.

    At any other birth time, the live set is contained in the one at the next birth time, so it adds no bound. If
    buffers end and start at the same time, the ends come first, because lifetimes are half-open.
    """
    births = np.unique(start)
    deaths = np.unique(end)
    following = np.append(births[1:], np.iinfo(np.int64).max)
    after = np.searchsorted(deaths, births, side="right")
    is_crowded = (after < len(deaths)) & (deaths[np.minimum(after, len(deaths) - 1)] <= following)
    return births[is_crowded]


def _rows_of_buffers(rows: I64, n_births: int) -> tuple[list[list[int]], dict[int, int]]:
    """Return, for each birth time, the buffers born then; and, for each buffer, the number after its last birth time.

    `rows` has the birth times at which each buffer is alive; a buffer is born at the first of them.
    """
    begins, ends = [list[int]() for _ in range(n_births)], dict[int, int]()
    for i, low, high in rows.tolist():
        if i not in ends:
            begins[low].append(i)
        ends[i] = max(high, ends.get(i, 0))
    return begins, ends


def _cheapest_of_equals(homes: NDArray[np.int32], value: I64) -> tuple[NDArray[np.int32], I64]:
    if homes.shape[1] == 0:
        return homes[:1], value.min(keepdims=True) if len(value) else value
    order = np.argsort(value, kind="stable")
    keys = np.ascontiguousarray(homes[order]).view(np.dtype((np.void, homes.shape[1] * homes.itemsize))).ravel()
    _, chosen = np.unique(keys, return_index=True)
    return homes[order[chosen]], value[order[chosen]]


def _birth_ranges(problem: Problem, births: I64) -> Iterator[tuple[int, int, int]]:
    """Yield (buffer, first, end): the disjoint ranges `births[first:end]` of birth times at which a buffer is alive."""
    first, table = problem.buffers.first.tolist(), problem.buffers
    for i in range(len(first) - 1):
        spans = zip(*(values[first[i] : first[i + 1]].tolist() for values in (table.start, table.end)), strict=True)
        done = 0
        for start, end in sorted(spans):
            low, high = np.searchsorted(births, (start, end)).tolist()
            if max(low, done) < high:
                yield i, max(low, done), high
                done = high


def _free_bytes(problem: Problem, q: int) -> int:
    size, taken, until = problem.pools[q].size, 0, 0
    assert size is not None
    for low, high in sorted(problem.pools[q].reserved):
        low, high = max(low, until), min(high, size)
        taken, until = taken + max(0, high - low), max(until, high)
    return size - taken


def cost_bound(problem: Problem, goal: float, is_over: Callable[[], bool] = lambda: False) -> Fraction:
    """Return a lower bound on the cost of every plan; the search ends above `goal`, or if `is_over()` is true."""
    return CostRelaxation(problem).bound(goal, is_over)
