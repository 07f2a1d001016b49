"""Plans of many buffers in several memories, made from the cheapest choice of memories by window search.

That choice ignores offsets. A window is a few buffers that are placed anew between all others. A buffer for which a
window has no space moves to a more expensive memory. Then one window after another is freed, in memory and offset, and
placed again. This ends when each buffer costs no more than in the cheapest choice, or when no better plan is found. See
core/windows.hpp.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import cost_mask
from memplan.planner.model.buffer_table import ABSENT, I64, column
from memplan.solvers.core import windows as core
from memplan.solvers.core.exact import seed_of
from memplan.solvers.core.tables import Reference
from memplan.solvers.formulation.stricter import relax_offset_rules
from memplan.solvers.memory_choice.knapsack import Knapsack
from memplan.solvers.memory_choice.multipliers import NoGood
from memplan.solvers.packing.orders import RULES, Traits
from memplan.solvers.packing.packer import Packer
from memplan.solvers.packing.place import bounded_first
from memplan.solvers.packing.sharing_decisions import forbid_sharing
from memplan.solvers.processes.threads import processors_for
from memplan.solvers.search.incumbent import Search

NAME = "memory-choice:windows"
_PLACED = {"holes", "conflicts", "pools", "capacity", "alignment", "pins", "ranges", "reserved", "cost"}
FEATURES = frozenset(_PLACED | {"relative", "together", "pages", "sharing", "banks", "bank-weights", "reuse"})
"""The features of instances that the search supports."""
_LEAST = 16
"""The number of buffers from which windows come first; fewer buffers are packed as a whole."""
_MEMBERS = 8
"""The average number of buffers for which each refuted set has space."""
_STEPS = 300
"""The kernel's steps for each buffer between two reads of its plan."""
_STEPS_A_UNIT = 64
"""The kernel's steps for each unit of Search.work_limit."""
_RULES = (RULES[3], RULES[1], RULES[7])
_LEAST_PART = 250
"""The number of buffers for each processor that searches windows."""
_EMPTY = column([])


def suits_windows(instance: Instance) -> bool:
    """Return True if an instance has costs, many buffers, and only features that the window search supports."""
    return instance.objective == "cost" and len(instance) >= _LEAST and instance.features <= FEATURES


class StackRefutations:
    """The search for live sets that fit in no order of stacking, because alignments leave gaps between buffers."""

    def __init__(self, knapsack: Knapsack) -> None:
        self.knapsack = knapsack
        looser = relax_offset_rules(knapsack.instance)
        is_known = looser.features <= FEATURES - {"sharing"}
        self.spaces = Reference(_window_spaces(knapsack, looser)) if is_known else None

    def find(self, home: I64, ends: list[int]) -> list[NoGood]:
        """Return no-goods: sets of items whose buffers, in any stacking order in pool q, end above ends[q]."""
        if self.spaces is None:
            return []
        most = max(1, self.knapsack.rows)
        cut_pool, need = np.zeros((2, most), dtype=np.int64)
        task = core.StackCuts(
            np.ascontiguousarray(home[self.knapsack.item]),
            column(ends),
            cut_pool,
            need,
            np.zeros(most + 1, dtype=np.int64),
            np.zeros(_MEMBERS * most, dtype=np.int64),
            np.zeros(1, dtype=np.int64),
        )
        core.refute_stacks(self.spaces, Reference(task))
        item, first = self.knapsack.item, task.first.tolist()
        found: dict[tuple[int, frozenset[int]], NoGood] = {}
        for g in range(int(task.answer[0])):
            items = frozenset(item[task.buffer[first[g] : first[g + 1]]].tolist())
            q = int(cut_pool[g])
            found[q, items] = NoGood(q, items, int(need[g]))
        return list(found.values())


class Windows:
    """The search for plans near a choice of memories; `spent` is its work in units of Search.work_limit."""

    def __init__(self, knapsack: Knapsack, search: Search, number: int = 0) -> None:
        """Start with no buffer placed, and create the packer for memories without a limit.

        Searches of different numbers draw different windows.
        """
        self.knapsack, self.search, self.instance = knapsack, search, knapsack.instance
        # The search keeps priced pairs apart, but may begin with a plan that pays prices.
        apart = forbid_sharing(self.instance, range(len(self.instance.priced_pairs)))
        self.spaces = Reference(_window_spaces(knapsack, apart))
        n = len(self.instance)
        self.spent, self.is_at_goal = 0, False
        self._pool, self._offset = np.full(n, ABSENT), np.zeros(n, dtype=np.int64)
        self._random = np.array([abs(seed_of(search.seed, number)) | 1])
        self._goal = np.zeros(n, dtype=np.int64)
        # A plan found while the time ends is still useful, so the packer has no stop flag.
        self._packer, self._traits = Packer(apart, column([0])), Traits(apart)
        self._parts = _TimeParts(self.spaces.table, search)

    def begin(self, home: I64) -> bool:
        """Pack the choice `home` of memories or adopt the search's best plan; return True if there is a plan."""
        self.restart(home)
        self.adopt_best()
        return not (self._pool == ABSENT).any()

    def restart(self, home: I64) -> bool:
        """Pack the choice `home` of memories, whatever the plan before; return True if all buffers are placed."""
        pool, self.is_at_goal = home[self.knapsack.item], False
        self._goal = np.ascontiguousarray(self.spaces.table.price[pool, np.arange(len(pool))])
        self._pool, self._offset = np.full_like(self._pool, ABSENT), np.zeros_like(self._offset)
        if not self._run(pool, 0):
            return False
        self.offer()
        return True

    def adopt_best(self) -> None:
        """Continue from the best plan of the search if it costs less than the current one."""
        best = self.search.best
        if best is not None and ((self._pool == ABSENT).any() or self._cost(best.pool, best.offset) < self._cost()):
            self._pool, self._offset = best.pool.copy(), best.offset.copy()

    def improve(self, times: int = 1) -> bool:
        """Search windows (few buffers at a time) for some steps; offer a cheaper plan, or return False without one.

        With `times` as many steps, the search strays farther from the best plan before it returns to it.
        """
        before = self._cost()
        self._search_parts(_STEPS * len(self._pool) * times)
        prices = self._prices(self._pool)
        self.is_at_goal = bool((prices <= self._goal).all()) and self._cost() == prices.sum()
        if self._cost() >= before:
            return False
        self.offer()
        return True

    def join_best(self) -> bool:
        """Adopt the search's best plan, but for the run of buffers, by starts, in which the current one costs least.

        Buffers of which the bytes in one plan overlap those in the other are placed again. Returns False, with the
        current plan kept, if one fits nowhere.
        """
        best, known, table, parts = self.search.best, (self._pool, self._offset), self.spaces.table, self._parts
        assert best is not None
        order = np.argsort(parts.first, kind="stable")
        sums = np.cumsum([0, *(self._prices(best.pool) - self._prices(self._pool))[order]])
        end = int((sums - np.minimum.accumulate(sums)).argmax())
        is_own = np.isin(table.together, order[sums[: end + 1].argmin() : end])
        pool, offset = np.where(is_own, known, (best.pool, best.offset))
        own, other, top = np.flatnonzero(is_own)[:, None], np.flatnonzero(~is_own), offset + table.size
        meet = (parts.first[own] <= parts.last[other]) & (parts.first[other] <= parts.last[own])
        meet &= (pool[own] == pool[other]) & (table.capacity[pool[own]] != ABSENT)
        meet &= (offset[own] < top[other]) & (offset[other] < top[own])
        linked = parts.links[:, is_own[parts.links[0]] != is_own[parts.links[1]]].ravel()
        freed = np.concatenate((own[meet.any(axis=1), 0], other[meet.any(axis=0)], linked))
        pool[np.isin(table.together, table.together[freed])] = ABSENT
        self._pool, self._offset = pool, offset
        if self._run(_EMPTY, 0):
            self.offer()
            return True
        self._pool, self._offset = known
        return False

    def offer(self) -> bool:
        """Offer the current plan to the search, and return True if it is the best plan so far.

        In memories without a limit, the buffers have no offsets yet, so they are packed first.
        """
        offset = self._offset.copy()
        for q in np.flatnonzero(self.spaces.table.capacity == ABSENT).tolist():
            here = self._pool == q
            orders = (rule.order(self._traits) for rule in _RULES)
            packed = [
                (order, self._packer.pack(q, order))
                for order in (bounded_first(self.instance, each[here[each]]) for each in orders)
            ]
            order, offsets = min(packed, key=lambda pair: _highest_end(self.instance, *pair))
            if (offsets == ABSENT).any():
                return False
            offset[order] = offsets
        return self.search.offer(column(self._pool.copy()), column(offset), NAME)

    def _run(self, home: I64, steps: int) -> bool:
        """Run the kernel for some steps, and return True if all buffers are placed."""
        task = self._task(column(home), self._pool, self._offset, steps, _EMPTY, self._random)
        self.spent += self._run_kernel(task)
        return (bool(task.answer[0]) and self.search.flag[0] == 0) or not (self._pool == ABSENT).any()

    def _search_parts(self, steps: int) -> None:
        """Search windows for some steps, in parts of the time side by side, if all buffers are placed."""
        if self._parts.count < 2:
            self._run(_EMPTY, steps)
            return
        part = self._parts.draw()
        tasks = [
            self._task(_EMPTY, self._pool.copy(), self._offset.copy(), steps, column(part != k), self._random + 2 * k)
            for k in range(self._parts.count)
        ]
        with ThreadPoolExecutor(len(tasks), thread_name_prefix=NAME) as threads:
            self.spent += sum(threads.map(self._run_kernel, tasks))
        self._random = tasks[-1].random
        for k, task in enumerate(tasks):
            is_here = part == k
            self._pool[is_here], self._offset[is_here] = task.pool[is_here], task.offset[is_here]

    def _task(self, home: I64, pool: I64, offset: I64, steps: int, held: I64, random: I64) -> core.WindowSearch:
        answer = np.zeros(2, dtype=np.int64)
        return core.WindowSearch(self._goal, home, pool, offset, steps, held, random, self.search.flag, answer)

    def _run_kernel(self, task: core.WindowSearch) -> int:
        core.search_windows(self.spaces, Reference(task))
        return int(task.answer[1]) // _STEPS_A_UNIT

    def _prices(self, pool: I64) -> I64:
        return column(self.spaces.table.price[pool, np.arange(len(pool))])

    def _cost(self, pool: I64 | None = None, offset: I64 | None = None) -> int:
        pool, offset = self._pool if pool is None else pool, self._offset if offset is None else offset
        clash = column([] if self.knapsack.costs is None else self.knapsack.costs.clash)
        return int(self._prices(pool).sum() + clash[cost_mask(self.instance, pool, offset)].sum())


class _TimeParts:
    """Parts of the time between cuts that are drawn anew each time, so that `count` kernels may search side by side.

    A buffer is in a part if it lives there only, and so do all whose places it depends on by other rules than time.
    """

    def __init__(self, spaces: core.Spaces, search: Search) -> None:
        n = len(spaces.size)
        self.first, self.last = np.full(n, 2**62), np.full(n, ABSENT)
        np.minimum.at(self.first, spaces.lifetime_buffer, spaces.start)
        np.maximum.at(self.last, spaces.lifetime_buffer, spaces.end - 1)
        # The work is counted or the time of one processor, so searches side by side would gain nothing.
        is_alone = search.deterministic or search.counts_processor or (self.last == ABSENT).any()
        self.count = 1 if is_alone else processors_for(n, _LEAST_PART)
        self.starts, self.together = np.sort(self.first), spaces.together
        firsts = (spaces.conflict_first, spaces.share_first, spaces.bank_first)
        of = np.concatenate([np.repeat(np.arange(n), np.diff(first)) for first in firsts])
        self.links = np.stack((of, np.concatenate((spaces.conflict, spaces.share, spaces.bank_with))))
        self._random = np.random.default_rng(abs(seed_of(search.seed, 0)))

    def draw(self) -> I64:
        """Return the part of each buffer, or ABSENT if it keeps its place."""
        n, k = len(self.first), self.count
        cuts = self.starts[((self._random.random() + np.arange(k)) * n / k).astype(np.int64)]
        begin, end = np.searchsorted(cuts, self.first, "right"), np.searchsorted(cuts, self.last, "right")
        part = np.where(begin == end, begin % k, ABSENT)
        a, b = self.links
        part[self.links[:, part[a] != part[b]].ravel()] = ABSENT
        low, high = part.copy(), part.copy()
        np.minimum.at(low, self.together, part)
        np.maximum.at(high, self.together, part)
        return np.where((low == high)[self.together], part, ABSENT)


def _highest_end(instance: Instance, order: I64, offsets: I64) -> int:
    return 2**63 - 1 if (offsets == ABSENT).any() else int((offsets + instance.size[order]).max(initial=0))


def _window_spaces(knapsack: Knapsack, instance: Instance) -> core.Spaces:
    """Return an instance and the costs of a knapsack as the table that the window kernels read."""
    costs = knapsack.costs
    price = np.zeros(instance.allowed.shape, dtype=np.int64)
    for i, extra in enumerate([] if costs is None else costs.extra):
        for q, steps in extra.items():
            price[q, i] = steps
    reserved = [pool.reserved for pool in instance.pools]
    return core.Spaces(
        size=instance.size,
        homes=np.ascontiguousarray(instance.allowed, dtype=np.int64),
        alignment=instance.alignment,
        lowest=instance.lowest,
        highest=instance.highest,
        page=instance.page,
        page_shift=instance.page_shift,
        price=price,
        lifetime_buffer=column(instance.lifetime_buffer),
        start=instance.start,
        end=instance.end,
        conflict_first=instance.conflict_first,
        conflict=instance.conflict,
        share_first=instance.share_first,
        share=instance.share,
        bank_first=instance.bank_first,
        bank_with=instance.bank_with,
        bank_price=_bank_prices(knapsack, instance),
        together=instance.colocation,
        lead=instance.anchor,
        distance=instance.distance,
        capacity=column([pool.capacity if pool.is_limited else ABSENT for pool in instance.pools]),
        bank=column([pool.bank for pool in instance.pools]),
        bank_shift=column([pool.bank_shift for pool in instance.pools]),
        reserved_first=column(np.cumsum([0, *(len(rows) for rows in reserved)])),
        reserved=np.ascontiguousarray(np.concatenate(reserved)),
    )


def _bank_prices(knapsack: Knapsack, instance: Instance) -> I64:
    """Return, for each entry of the lists `bank_with`, what the knapsack's priced pair of these buffers costs, or 0."""
    priced = knapsack.instance.priced_pairs
    rows = priced.rows[priced.by_bank].tolist()
    prices = {
        frozenset(pair): clash
        for pair, clash in zip(rows, knapsack.costs.clash if knapsack.costs else (), strict=False)
    }
    of = np.repeat(np.arange(len(instance)), np.diff(instance.bank_first)).tolist()
    return column([prices.get(frozenset(pair), 0) for pair in zip(of, instance.bank_with.tolist(), strict=True)])
