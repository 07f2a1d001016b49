"""The decomposition of planning: choosing pools, and packing each pool, alternate.

The goals are pursued in order, until all are proved or no gain is expected. The cheapest choice is found without
offsets, and its pools are packed one by one. If a set of buffers is proved not to fit, it is kept as a no-good, and the
choice is repeated. This is a Benders decomposition, whose cuts are sets of buffers (Hooker and Ottosson, Mathematical
Programming 96, 2003). Once the cost is proved, the ends of the pools are minimised in the same way, from the last pool
to the first. All later choices keep the proved values.
"""

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event

import numpy as np

from memplan.planner.instance.instance import Bool, CompiledPool, Instance
from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.certificates import lemma_search
from memplan.solvers.exact import FEATURES, branch_and_bound
from memplan.solvers.formulation.stricter import cut_unlimited_pools, restrict_rules, split_pools, stricter
from memplan.solvers.formulation.subinstance import part_of
from memplan.solvers.heuristics import greedy, local_search
from memplan.solvers.memory_choice.knapsack import Knapsack
from memplan.solvers.memory_choice.multipliers import (
    NEVER,
    ChoiceEffort,
    Multipliers,
    NoGood,
    PoolChoice,
    cheapest_choice,
    choice_task,
    cost_bound,
    cost_multipliers,
    load_multipliers,
    refit,
)
from memplan.solvers.memory_choice.program import ProgramSolver
from memplan.solvers.memory_choice.windows import StackRefutations, Windows, suits_windows
from memplan.solvers.processes.threads import solvers_beside
from memplan.solvers.search.goals import COST, Goals
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.result import Progress

_PROVED_PART, _OPEN_PART = 160, 8
"""One part in this many of the allowed work is counted for a set that is packed or proved, or for one left open."""
_MAX_EXACT = 4_000
"""The most buffers of a set for the exact search; larger sets use local search."""
_MOST_FOR_LEMMAS = 60
"""The most buffers of mixed alignments for the search that learns lemmas."""
_NOT_FOR_LEMMAS = frozenset({"pins", "ranges", "clearances", "intervals"})
"""The features of instances that this search does not support."""


@dataclass(eq=False)
class SubsetPacking:
    """The best known packing of a set of buffers in one pool: offsets, end, lower bound on the end, and work."""

    offset: I64 | None = None
    end: int = 2**63
    need: int = 0
    work: int = 0


class SubsetPackings:
    """Cached packings of sets of buffers, each in a single pool.

    `spent` estimates the total work of all packings, in units of Search.work_limit.
    """

    def __init__(self, instance: Instance, search: Search) -> None:
        """Start with no packings."""
        self.instance, self.search = instance, search
        self.spent = 0
        self._packings: dict[tuple[int, bytes], SubsetPacking] = {}

    def pack(self, q: int, kept: Bool, end: int, at_most: int, work: int) -> SubsetPacking:
        """Return the best known packing of the buffers in the mask `kept` into pool `q`, after a search if it helps.

        The search aims at an end of at most `end`, accepts packings that end at or below `at_most`, and stops after
        about `work` units. It is skipped if an earlier search for this set did at least as much work.
        """
        if not kept.any():
            return SubsetPacking(np.zeros(0, dtype=np.int64), 0)
        work = min(work, self.search.work_limit)
        packing = self._packings.setdefault((q, np.packbits(kept).tobytes()), SubsetPacking())
        self._adopt_best_plan(q, kept, packing)
        # A repeated search would have the same result, so search only with more work than before.
        if packing.end > end >= packing.need and work > packing.work:
            self._search_packing(q, kept, end, at_most, work, packing)
        return packing

    def _adopt_best_plan(self, q: int, kept: Bool, packing: SubsetPacking) -> None:
        best = self.search.best
        if best is not None and np.array_equal(best.pool == q, kept):
            self._keep_if_lower(packing, best.offset[kept], self.instance.size[kept])

    def _keep_if_lower(self, packing: SubsetPacking, offset: I64, size: I64) -> None:
        end = int((offset + size).max())
        if end < packing.end:
            packing.offset, packing.end = offset, end

    def _search_packing(self, q: int, kept: Bool, end: int, at_most: int, work: int, packing: SubsetPacking) -> None:
        """Search for a packing below `at_most` with limited work; update the offsets and the bound of `packing`."""
        part = part_of(self.instance, kept, q)
        part = replace(part, pools=(_pool_below(part.pools[0], at_most),), objective="peak")
        inner = self.search.child(part, work_limit=work)

        def stop_once_accepted(_: Progress) -> None:
            if inner.best is not None and inner.best.score[0] <= end:
                inner.stop("accepted")

        inner.on_progress = stop_once_accepted
        greedy.solve(part, inner)
        if not inner.is_over:
            self._search_part(part, inner)
        packing.work = max(packing.work, work)
        if inner.best is not None:
            self._keep_if_lower(packing, inner.best.offset, part.size)
        is_open = inner.best is None and inner.infeasibility_witness is None
        # A node of the exact search is quick, and a search that succeeds uses a small part of its limit on average.
        self.spent += work // (_OPEN_PART if is_open else _PROVED_PART)
        packing.need = max(
            packing.need, at_most + 1 if inner.infeasibility_witness is not None else int(inner.bound[-1])
        )

    def _search_part(self, part: Instance, inner: Search) -> None:
        own, is_same = stricter(part)
        if len(part) > _MAX_EXACT or not own.features <= FEATURES:
            local_search.solve(part, inner)
            return
        strict = inner if is_same else inner.child(own)
        is_mixed = own.alignment.min(initial=1) < own.alignment.max(initial=1)
        if is_mixed and len(own) <= _MOST_FOR_LEMMAS and own.features.isdisjoint(_NOT_FOR_LEMMAS):
            lemma_search.solve(own, strict)
        if not strict.is_over:
            branch_and_bound.solve(own, strict)
        if not is_same and strict.best is not None:
            inner.offer(strict.best.pool, strict.best.offset, NAME)


def _pool_below(pool: CompiledPool, end: int) -> CompiledPool:
    reserved = pool.reserved[pool.reserved[:, 0] < end]
    return pool._replace(capacity=end, is_limited=True, reserved=column(np.minimum(reserved, end)))


NAME = "memory-choice"
ROUNDS = ((100_000, ChoiceEffort(10_000)), (2_500_000, ChoiceEffort(300_000, 24_000_000)))
"""The work for a packing, and the effort for a choice; when the goals stall, the next round follows."""
_ITERATIONS, _ITERATION_WORK = 1000, 3_000_000
"""The most improvement steps for multipliers, and their cost in items and rows examined."""
_FIRST_PARTIALS = 300
"""The most partial choices continued from each row in the first search for a choice."""
_FIRST_SHARE, _ITERATION_S, _PARTIAL_S = 1 / 8, 15e-9, 80e-9
"""The most of the time for the first multipliers and for the first choice, and the seconds of one step and item."""
_LEAST_ITERATIONS, _LEAST_PARTIALS = 40, 20
"""The fewest improvement steps and partial choices under a short time limit."""
_MOST_MEASURED = 5_000
"""The most items and rows for which functions of sizes are measured, besides units."""
_CORE_ITEMS, _CORE_TESTS, _CORE_WORK = 100, 60, 5_000
"""The most items of a set that is shrunk to a part that does not fit, the most searches for it, and the work of each.

In larger sets, these searches take the work of many choices.
"""
_OPEN_AT_MOST = 4
"""The most choices for one goal whose packing may stay undecided."""
_LOWERED_PART = 8
"""One part in this many of the work that is left may go to a search for a cheaper choice."""
_WIDTHS, _PATIENCE = (1_000, 3_000, 10_000, 30_000, 100_000), (3, 10, 30, 30, 30)
"""The partial choices of each bound, and the searches of windows without a gain after which the next one follows."""
_WIDTHS_OF_FEW = 3
"""The bounds of at most _MOST_IN_TURN items, and of counted work."""
_BOUNDED_SHARE = 1.5
"""The part of the time left that a bound may take by the seconds of each partial choice before; more take less each."""
_CHOSEN_WIDTH = 3_000
"""The most partial choices of a cheaper choice of more than _MOST_IN_TURN items; more gain less than they take."""
_AIM_PATIENCE = 2
"""The searches of windows without a gain after which they aim at a cheaper choice, if one is known by then."""
_MOST_IN_TURN = 1_000
"""The most items for which windows leave half of the time to exact searches."""
_MOST_TIMES = 16
"""The most steps of one window search, in multiples of the least."""
_LOOK_S = 0.05
"""The seconds between two looks at whether a search is over."""
_RESTART_PATIENCE, _MOST_JOINS = 3, 8
"""The window searches without a gain after which a plan is joined with the best one, and the joins of each start."""
_LAST_PATIENCE = 200
"""The window searches without a gain after which exact searches, or the end of the search, follow."""
_RESTRICTED_SHARE = 0.5
"""The share of the time for plans of divided pools, or without sharing and prices."""
_MOST_ALIVE = 40
"""The mean number of buffers that are alive at a time up to which windows come first."""
_TRIES, _TRIES_WORK, _TRY_S = 1000, 6_000_000, 6e-8
"""The most choices tried near the rounded relaxation, those times the cells examined, and the seconds of one."""
_PACK_S = 2.0
"""The seconds left for packing the choice of an integer program."""
_QUICK_WORK, _PACKED_PART = 100_000, 16
"""The work for each packing of a choice near the cheapest one, and one part in this many of the allowed work."""
_WHOLE, _ROOM_GROWTH = 4096, 4
"""The parts into which a pool is divided, and how many times as many are left free if a choice cannot be packed."""
_PREPARED_S = 3e-6
"""The seconds for preparing the choice of one buffer in one pool, during which no look at the time is possible."""


def solve(instance: Instance, search: Search) -> None:
    """Offer plans and bounds until the best score is proved, the search is over, or no gain is expected."""
    if len(instance) == 0:
        search.offer(instance.pin, instance.pin, NAME)
        return
    if not search.deterministic and search.remaining_s < _PREPARED_S * len(instance) * len(instance.pools):
        search.run_out_of_time()
        return
    knapsack = Knapsack.from_instance(instance)
    if knapsack is None:
        search.log(f"{NAME}: the sizes or costs add up to more than its numbers hold")
        return
    has_together, has_groups = "together" in instance.features, "relative" in instance.features
    priceless = restrict_rules(instance, may_share=True)
    # Where many buffers share bytes, plans without sharing lead windows to worse ones.
    is_few, divided, of = len(instance) <= _MOST_IN_TURN, priceless, np.arange(len(instance.pools))
    if is_few or "sharing" in instance.features:
        divided, of = split_pools(priceless)
    if is_few and divided is priceless:
        divided = restrict_rules(instance)
    has_all = divided.features >= instance.features - {"reserved"} and not has_together and not has_groups
    # A cut proves the cost, so it may take all time; the ends of the pools follow if some is left.
    most = _RESTRICTED_SHARE if has_together or search.deterministic else 1.0
    spent = _solve_divided(search, cut_unlimited_pools(instance), most, not has_together)
    decomposition = Decomposition(knapsack, search)
    spent += _solve_divided(search, (divided, of), _RESTRICTED_SHARE, has_all)
    if search.deterministic:
        decomposition.spent = decomposition.spent_before = int(spent * search.work_limit)
    # The executor's block ends first, so that the program's choice is packed before its process ends.
    with decomposition.program, ThreadPoolExecutor(3, thread_name_prefix=NAME) as beside:
        _solve_in_rounds(decomposition, beside)


def _solve_divided(search: Search, divided: tuple[Instance, I64], share: float, has_all: bool) -> float:
    """Offer plans of an instance with divided pools, and its bounds if it has all plans; return the spent share.

    If no buffers must be in one pool, the parts of the pools have all plans. Ends are limited for whole rigid groups.
    """
    parts, pool_of = divided
    if parts is search.instance or search.is_over:
        return 0.0
    inner = search.child(parts, share)

    def offer_plan(_: Progress) -> None:
        if inner.best is not None:
            search.offer(pool_of[inner.best.pool], inner.best.offset, inner.best.by)
        if has_all:
            search.offer_bound((inner.bound[0], *[0] * len(search.instance.pools)), NAME)

    inner.on_progress = offer_plan
    # Windows begin with the cheapest plan, but for many buffers a plan near a cheap choice leads further.
    if len(parts) <= _MOST_IN_TURN:
        greedy.solve(parts, inner)
    if not inner.is_over:
        solve(parts, inner)
    return share


def _solve_in_rounds(decomposition: "Decomposition", beside: Executor) -> None:
    knapsack, search = decomposition.knapsack, decomposition.search
    windows = Windows(knapsack, search) if suits_windows(knapsack.instance) else None
    # Windows place buffers quickly where few are alive; else they have no space, so pack all buffers at once first.
    is_packed_first = windows is None or knapsack.mean_alive > _MOST_ALIVE
    if is_packed_first:
        decomposition.pack_at_once(beside)
    if windows and not decomposition.begin_windows(windows):
        windows = None
    # Bounds and packings seldom need all of the time, so windows are searched beside them where threads may run.
    is_beside = windows is not None and not search.deterministic and solvers_beside(2) > 1
    running = [beside.submit(decomposition.search_beside, windows)] if windows and is_beside else []
    if running and knapsack.n_items <= _MOST_IN_TURN:
        running.append(beside.submit(decomposition.search_anew, running[0]))
    is_done = True
    try:
        is_done = _pursue(decomposition, beside, None if is_beside else windows, is_packed_first)
    finally:
        decomposition.is_done = is_done
        decomposition.has_pursued.set()
    for each in running:
        each.result()


def _pursue(decomposition: "Decomposition", beside: Executor, windows: Windows | None, is_packed_first: bool) -> bool:
    """Raise bounds, pack choices, and search `windows` between these steps, in rounds with more work each.

    Returns True if all goals are proved or the search is over.
    """
    decomposition.raise_bounds(windows)
    decomposition.await_windows(windows)
    if not is_packed_first:
        decomposition.pack_at_once(beside)
    for work, effort in ROUNDS:
        if decomposition.run(work, effort):
            return True
        decomposition.improve_cost_bound()
        if windows:
            decomposition.search_on(windows, _PATIENCE[-1])
    if windows:
        decomposition.search_on(windows, _LAST_PATIENCE)
    return False


class Decomposition:
    """The search that alternates between choosing pools and packing them, with the proved goals and no-goods so far.

    ends[q] is the limit of pool q in units. A no-good is a set of items that does not fit into a pool; a doubt is a set
    for which this is undecided.
    """

    def __init__(self, knapsack: Knapsack, search: Search) -> None:
        """Share out the first part of the time, and find the first multipliers and bound."""
        self.knapsack, self.search, self.program = knapsack, search, ProgramSolver(knapsack, search)
        self.instance = knapsack.instance
        self.packings = SubsetPackings(self.instance, search)
        self.stacks = StackRefutations(knapsack)
        self.ends = [pool.capacity for pool in self.instance.pools]
        clashes = 0 if knapsack.costs is None else sum(knapsack.costs.clash)
        self.dearest = int(knapsack.price.max(axis=0, initial=0).sum()) + clashes
        self.goals = Goals(self.instance, search, knapsack.costs)
        self.nogoods: list[NoGood] = []
        self.doubts: list[NoGood] = []
        partials = self._affordable_steps(_FIRST_PARTIALS, _LEAST_PARTIALS, _PARTIAL_S * knapsack.n_items)
        self.effort = ChoiceEffort(partials)
        self.spent, self.spent_before, self._time_s = 0, 0, search.remaining_s
        self.has_windows = self.is_done = False
        self._idle, self._has_raised, self.has_pursued = Event(), Event(), Event()
        self.first = PoolChoice(None, 0, 0)
        self._aim: I64 | None = None
        size = knapsack.n_items + knapsack.rows
        most = max(_ITERATIONS // 5, min(_ITERATIONS, _ITERATION_WORK // size))
        self.iterations = self._affordable_steps(most, _LEAST_ITERATIONS, _ITERATION_S * size)
        self.measured = knapsack.limits(self.ends)[:0]
        self.multipliers, self.floor = self._first_bound(self.goals.order[0])

    def _affordable_steps(self, most: int, least: int, each_s: float) -> int:
        """Return how many steps of `each_s` seconds fit into the first share of the time, within `least` to `most`.

        A deterministic search ignores the clock and gets `most` steps.
        """
        if self.search.deterministic:
            return most
        return max(least, min(most, int(_FIRST_SHARE * self.search.remaining_s / each_s)))

    def _first_bound(self, goal: int) -> tuple[Multipliers, int]:
        """Return (multipliers for a goal, the lower bound that they give), after offering that bound to the search."""
        knapsack, limit = self.knapsack, self.knapsack.limits(self.ends)
        if goal == COST:
            multipliers = cost_multipliers(
                knapsack, self.measured, limit, self.dearest, self.iterations, self._stop_flag()
            )
            return multipliers, self._offer_floor(multipliers.cost_bound(knapsack, limit))
        floor = self._offer_floor(self.goals.first_bound())
        multipliers = load_multipliers(
            knapsack, limit, goal, float(limit[goal].max(initial=0)), self.iterations, self._stop_flag()
        )
        load = multipliers.load_bound(knapsack, limit, goal)
        return multipliers, self._offer_floor(knapsack.row_capacities[goal].min_end(load), floor)

    def improve_cost_bound(self) -> None:
        """Raise the lower bound on an unproved cost with dual feasible functions of the sizes.

        In such a function, a buffer of more than half of a row's capacity may count as the whole row. Large problems
        are skipped.
        """
        is_small = self.knapsack.n_items + self.knapsack.rows <= _MOST_MEASURED
        if is_small and self.goals.order[0] == COST and not self.goals.proved and not len(self.measured):
            self.measured = self.knapsack.limits(self.ends)
            self.multipliers, floor = self._first_bound(COST)
            self.floor = max(self.floor, floor)

    def _choose_first(self) -> None:
        if self.first.home is None:
            self.first = self._find_cheapest_choice(self.ends, self.multipliers, self.nogoods, self.dearest)

    def pack_at_once(self, beside: Executor) -> None:
        """Offer plans near the cheapest choice, each pool packed as a whole, if the cost counts.

        If the choice is not proved the cheapest, the integer program follows `beside` this thread.
        """
        reached = self.goals.best_value(COST) if self.goals.has_cost else None
        if not self.goals.has_cost or self._is_over() or (reached is not None and self.floor >= reached):
            return
        self._choose_first()
        if (self.first.home is None or self.first.cost > self.first.bound) and not self._is_over():
            self._relax(beside)
        if self.first.home is None or self._is_over():
            return
        most_s = max(self.search.remaining_s * 7 / 8, self.search.remaining_s - _PACK_S)
        if self.first.cost > self.first.bound and self.program.begin(self.first.home, most_s):
            beside.submit(self.pack_whole_choice)
        self._pack_near(self.first.home)

    def pack_whole_choice(self) -> None:
        """Wait for the integer program's choices, in another thread, and offer plans near each of them."""
        for home in self.program.choices():
            if (cost := self.knapsack.cost(home)) < self.first.cost:
                self.first = self.first._replace(home=home, cost=cost)
                self._pack_near(home)

    def _pack_near(self, home: I64) -> None:
        """Offer the plan of a choice close to `home` that leaves as small a part of each pool free as possible."""
        most, q = min(_QUICK_WORK, self.search.work_limit // _PACKED_PART), 0
        free, too_little, packed = [1] * len(self.ends), [0] * len(self.ends), list[int]()
        while not self._is_over():
            ends = [end - end * parts // _WHOLE for end, parts in zip(self.ends, free, strict=True)]
            near = refit(self.knapsack, home, self.knapsack.limits(ends), self._stop_flag())
            failed = None if near is None else self._pack_pools(near, COST, 0, most)
            if failed is None:
                packed = free
            else:
                # Once a choice is packed, only pool q has less left free, whichever pool fails then.
                q = q if packed else failed
                too_little[q] = free[q]
            # Until a choice is packed, more and more is left free, and then half as much as was enough.
            if failed is not None and not packed:
                parts = free[q] * _ROOM_GROWTH
            else:
                q = max(range(len(free)), key=lambda q: packed[q] - too_little[q])
                parts = (packed[q] + too_little[q]) // 2
            if parts >= _WHOLE or (packed and packed[q] - too_little[q] <= max(1, packed[q] // _ROOM_GROWTH)):
                break
            free = [*(packed or free)[:q], parts, *(packed or free)[q + 1 :]]
        if packed and max(packed) == 1 and not self._is_over():
            self._pack_pools(home, COST, 0, most)

    def begin_windows(self, windows: Windows) -> bool:
        """Offer a plan near a cheap choice of pools, from which `windows` may search on; return False without one."""
        self._choose_first()
        if self.first.home is None or self._is_over() or not windows.begin(self.first.home):
            return False
        self._aim = self.first.home
        self._time_s = self.search.remaining_s
        windows.offer()
        self.has_windows = True
        return True

    def raise_bounds(self, windows: Windows | None) -> None:
        """Raise the bound on the cost up to that of the first choice, and search `windows` between these steps."""
        taken_s, last = 0.0, _WIDTHS[0]
        for k, (widest, patience) in enumerate(zip(_WIDTHS, _PATIENCE, strict=True)):
            if not self.has_windows or self._is_over() or self._is_half_over():
                break
            if not self._is_next_width(k, taken_s / last):
                continue
            left_s = self.search.remaining_s
            if self.floor < self.first.cost:
                self._raise_cost_bound(ChoiceEffort(widest), self.first.cost)
            taken_s, last = left_s - self.search.remaining_s, widest
            if self.floor < self.first.cost and not self._is_over():
                self._lower_choice(widest)
            if windows:
                self.search_on(windows, patience, in_turn=True)
        self._has_raised.set()

    def _is_next_width(self, k: int, each_s: float) -> bool:
        """Return whether the bound of _WIDTHS[k] partial choices, of `each_s` seconds, fits, and no wider one does."""
        if self.search.deterministic or self.knapsack.n_items <= _MOST_IN_TURN:
            return k < _WIDTHS_OF_FEW
        left_s = _BOUNDED_SHARE * self.search.remaining_s
        fitting = [other for other, widest in enumerate(_WIDTHS) if each_s * widest <= left_s]
        return k == 0 or k == max(fitting, default=0)

    def await_windows(self, windows: Windows | None) -> None:
        """Wait until windows that are searched beside this thread, so not `windows`, bring no gain for a while.

        Packings of few items need little time, so they do not wait.
        """
        is_beside = self.has_windows and not windows and self.knapsack.n_items > _MOST_IN_TURN
        while is_beside and not self._idle.wait(_LOOK_S) and not self._is_over():
            pass

    def _is_half_over(self) -> bool:
        if self.knapsack.n_items > _MOST_IN_TURN:
            return False
        if self.search.deterministic:
            return 2 * (self.spent + self.packings.spent) >= self.search.work_limit + self.spent_before
        return self.search.remaining_s < self._time_s / 2

    def search_on(self, windows: Windows, patience: int, in_turn: bool = False) -> None:
        """Improve the plan of `windows` until `patience` successive searches bring no gain, or the search is over.

        With `in_turn`, this also ends when half of the time is over.
        """
        idle, before = 0, windows.spent
        while idle < patience and not self.is_done and not self._is_over():
            if windows.is_at_goal or (idle == _AIM_PATIENCE and self._aim is not self.first.home):
                if self._aim is self.first.home or self.first.home is None:
                    break
                idle, self._aim = 0, self.first.home
                windows.begin(self._aim)
            if in_turn and self._is_half_over():
                return
            windows.adopt_best()
            idle = 0 if windows.improve(1 if self.search.deterministic else min(_MOST_TIMES, 1 + idle)) else idle + 1
            if idle == _PATIENCE[-1]:
                self._idle.set()
            self.spent += windows.spent - before
            before = windows.spent
        self._idle.set()

    def search_beside(self, windows: Windows) -> None:
        """Search windows while the other steps run, and go on if these find a cheaper choice."""
        is_last = False
        while not self.is_done and not self._is_over():
            if self._aim is not self.first.home or not self._idle.is_set():
                self.search_on(windows, _LAST_PATIENCE)
            if is_last:
                break
            is_last = self.has_pursued.wait(_LOOK_S)

    def search_anew(self, running: "Future[None]") -> None:
        """Search windows from one start after another until the search `running` beside this thread is over.

        Few windows are left where a plan costs more than its choice, so most starts end in another plan. Each is joined
        with the best plan, and the result is improved again.
        """
        while not (self._has_raised.wait(_LOOK_S) or running.done()):
            pass
        windows = Windows(self.knapsack, self.search, 1)
        while self.first.home is not None and windows.restart(self.first.home):
            for _ in range(_MOST_JOINS):
                idle = 0
                while idle < _RESTART_PATIENCE:
                    if windows.is_at_goal or running.done() or self._is_over():
                        return
                    idle = 0 if windows.improve(min(_MOST_TIMES, 1 + idle)) else idle + 1
                if not windows.join_best():
                    break

    def _lower_choice(self, partials: int) -> None:
        if self.knapsack.n_items > _MOST_IN_TURN:
            partials = min(partials, _CHOSEN_WIDTH)
        if partials <= self.effort.partials:
            return
        most = (self.search.work_limit - self.spent) // _LOWERED_PART
        if self.search.deterministic and self.first.work * partials > most * self.effort.partials:
            return
        self.effort = ChoiceEffort(partials, partials * self.knapsack.n_items)
        choice = self._find_cheapest_choice(self.ends, self.multipliers, self.nogoods, self.first.cost - 1)
        if choice.home is not None:
            self.first = choice

    def _raise_cost_bound(self, effort: ChoiceEffort, most: int) -> None:
        limit = self.knapsack.limits(self.ends)
        task = choice_task(self.knapsack, limit, self.nogoods, most, effort, self._stop_flag())
        found = cost_bound(self.knapsack, self.multipliers, task)
        self.spent += found.work
        if not self._is_over():
            self.floor = self._offer_floor(min(found.bound, most + 1), self.floor)

    def run(self, work: int, effort: ChoiceEffort) -> bool:
        """Pursue the unproved goals one by one, and return True if all are proved or the search is over."""
        self.effort = effort
        return self.goals.pursue(lambda goal: self._min_value(goal, work)) or self.search.is_over

    def _min_value(self, goal: int, work: int) -> int | None:
        """Return the least value of a goal (the cost or a pool's end) if it is proved, or None.

        All later choices keep the proved value.
        """
        self.doubts = []
        if goal != COST:
            value = self._min_end(goal, work)
            self.ends[goal] = self.ends[goal] if value is None else value
            return value
        return self._min_cost(work)

    def _min_cost(self, work: int) -> int | None:
        """Return the least cost, in steps, once a plan reaches it and it is proved; None if the search ends before."""
        multipliers, floor, requested = self.multipliers, self.floor, (-1, -1)
        proved = PoolChoice(None, 0, 0)
        while not self._is_over():
            reached = self.goals.best_value(COST)
            if reached is not None and floor >= reached:
                return reached
            most = self.dearest if reached is None else reached - 1
            # Without new no-goods or a better plan, the last result still holds, so search again only after a change.
            if requested != (len(self.nogoods), most):
                proved = self._find_cheapest_choice(self.ends, multipliers, self.nogoods, most)
                requested = len(self.nogoods), most
            if proved.bound > most and reached is None:
                self.search.claim_infeasible(NAME)
                return None
            floor = self._offer_floor(min(proved.bound, most + 1), floor)
            choice = proved
            # Sets that may not fit seldom give plans, so exclude such sets unless the choice must prove a bound.
            if self.doubts and floor <= most:
                choice = self._find_cheapest_choice(self.ends, multipliers, self.nogoods + self.doubts, most)
            if floor > most:
                continue
            before = len(self.nogoods), len(self.doubts), reached
            if choice.home is None or not self._pack(choice.home, COST, 0, work):
                return None
            if before == (len(self.nogoods), len(self.doubts), self.goals.best_value(COST)):
                return None  # The prices of pairs make the plan dearer than its choice of pools.
        return None

    def _min_end(self, q: int, work: int) -> int | None:
        """Return the least end of pool `q` among plans that keep the proved goals, or None without a proof."""
        multipliers = None
        if self.goals.has_cost:
            floor = self._offer_floor(self.goals.first_bound())
        elif self.goals.proved:
            multipliers, floor = self._first_bound(q)
        else:
            multipliers, floor = self.multipliers, self.floor
        while not self._is_over():
            reached = self.goals.best_value(q)
            if reached is not None and floor >= reached:
                return reached
            top = self.ends[q] if reached is None else reached - 1
            proved, end, choice = self._find_min_end(q, floor, top, self.nogoods, multipliers)
            if proved > top and reached is None:
                self.search.claim_infeasible(NAME)
                return None
            floor = self._offer_floor(proved, floor)
            if self.doubts and floor <= top:
                _, end, choice = self._find_min_end(q, floor, top, self.nogoods + self.doubts, multipliers)
            if floor <= top and (choice is None or not self._pack(choice, q, end, work)):
                return None
        return None

    def _find_min_end(
        self, q: int, floor: int, top: int, nogoods: list[NoGood], multipliers: Multipliers | None
    ) -> tuple[int, int, I64 | None]:
        """Return the lowest end of pool `q`, from `floor` to `top`, for which a choice of pools exists.

        The result is (a proved bound on the lowest end, the lowest end found with a choice, that choice). As the last
        end found is usually the lowest, the next lower one is tried before halving.
        """
        proved, low, requested = floor, floor, floor
        lowest, home = top + 1, None
        ends = list(self.ends)
        values = multipliers
        while low < lowest and not self._is_over():
            ends[q] = requested
            limit = self.knapsack.limits(ends)
            most = self.goals.proved[0] if self.goals.has_cost else 0
            if multipliers is None and (values is None or values.cost_bound(self.knapsack, limit) <= most):
                fewer = self.iterations // 4
                values = cost_multipliers(self.knapsack, self.measured, limit, self.dearest, fewer, self._stop_flag())
            assert values is not None
            choice = self._find_cheapest_choice(ends, values, nogoods, most)
            if choice.home is not None:
                home = choice.home
                lowest = max(low, min(requested, self._end_bound_of_choice(q, home, nogoods)))
            else:
                low = requested + 1
                proved = low if choice.bound > most else proved
            is_new = choice.home is not None or requested == floor
            # A new end is usually the least one, so first try one unit less, which may prove it, before halving.
            requested = lowest - 1 if is_new else (low + lowest) // 2
        return proved, lowest, home

    def _end_bound_of_choice(self, q: int, home: I64, nogoods: list[NoGood]) -> int:
        needs = [nogood.need for nogood in nogoods if nogood.pool == q and all(home[j] == q for j in nogood.items)]
        return max(self.knapsack.row_capacities[q].reach(self.knapsack.loads(home)[q]), *needs, 0)

    def _find_cheapest_choice(
        self, ends: list[int], multipliers: Multipliers, nogoods: list[NoGood], most: int
    ) -> PoolChoice:
        """Return the cheapest choice that costs at most `most` steps and keeps all loads below the pools' ends.

        Sets of buffers that do not fit in any stacking order become no-goods, and the search is repeated.
        """
        limit = self.knapsack.limits(ends)
        speaking = [nogood for nogood in nogoods if nogood.need > ends[nogood.pool]]
        while True:
            task = choice_task(self.knapsack, limit, speaking, most, self.effort, self._stop_flag())
            choice = cheapest_choice(self.knapsack, multipliers, task)
            self.spent += choice.work
            refuted = [] if choice.home is None or self._is_over() else self.stacks.find(choice.home, ends)
            if not refuted:
                return choice
            speaking += refuted
            self.nogoods += refuted

    def _relax(self, beside: Executor) -> None:
        """Adopt cheaper first choices near the own relaxation and the integer program's, which is solved `beside`."""
        limit = self.knapsack.limits(self.ends)
        relaxing = beside.submit(self.program.relax, limit, [*self.nogoods])  # Packings add no-goods meanwhile.
        prices = np.where(self.knapsack.homes, self.multipliers.prices(self.knapsack), np.iinfo(np.int64).max)
        self._search_near(column(prices.argmin(axis=0)), limit)
        # A choice near the own relaxation is packed while the engine solves its own.
        if self.program.is_ready and self.first.home is not None and not relaxing.done():
            self._pack_near(self.first.home)
        if (relaxed := relaxing.result()) is None:
            return
        chosen, multipliers = relaxed
        floor = multipliers.cost_bound(self.knapsack, limit)
        if floor > self.multipliers.cost_bound(self.knapsack, limit):
            self.multipliers = multipliers
        self.floor = self._offer_floor(floor, self.floor)
        self.first = self.first._replace(bound=max(self.first.bound, min(floor, self.dearest + 1)))
        self._search_near(chosen, limit)

    def _search_near(self, chosen: I64, limit: I64) -> None:
        """Adopt a cheaper first choice near `chosen`, which may exceed the limits (p, rows)."""
        cells = self.knapsack.homes.size + limit.size
        tries = self._affordable_steps(min(_TRIES, _TRIES_WORK // cells), 0, _TRY_S * cells)
        home = refit(self.knapsack, chosen, limit, self._stop_flag(), tries)
        if home is None or any(all(home[j] == q for j in items) for q, items, _ in self.nogoods):
            return
        if (cost := self.knapsack.cost(home)) < (self.dearest + 1 if self.first.home is None else self.first.cost):
            self.first = self.first._replace(home=home, cost=cost)

    def _pack(self, home: I64, goal: int, end: int, work: int) -> bool:
        self._pack_pools(home, goal, end, work)
        return len(self.doubts) <= _OPEN_AT_MOST

    def _pack_pools(self, home: I64, goal: int, end: int, work: int) -> int | None:
        """Pack a choice of pools, the fullest pool first; return the first pool that fails, or None and offer the plan.

        The goal's pool should end at or below `end`, but any end lower than in the best plan is accepted. If a pool
        fails, its set of buffers is stored.
        """
        pool = home[self.knapsack.item]
        filled = self.knapsack.loads(home) / np.maximum(1, self.knapsack.limits(self.ends))
        # The fullest pool most probably fails, so pack it first and save the work on other pools.
        fullest = np.argsort(-filled.max(axis=1, initial=0), kind="stable")
        offset = np.zeros(len(pool), dtype=np.int64)
        reached = self.goals.best_value(goal)
        for q in fullest.tolist():
            is_here = pool == q
            # Only the goal's pool must end lower than in the best plan, so all other pools keep their limits.
            target, at_most = self.ends[q], self.ends[q]
            if q == goal:
                target, at_most = end, at_most if reached is None else reached - 1
            packing = self.packings.pack(q, is_here, target, at_most, work)
            if packing.end > target:
                self._store_failure(q, is_here, target, packing.need)
            if packing.offset is None or packing.end > at_most:
                return int(q)
            offset[is_here] = packing.offset
        self.search.offer(column(pool), column(offset), NAME)
        return None

    def _store_failure(self, q: int, kept: Bool, end: int, need: int) -> None:
        """Store that the buffers in the mask `kept` do not fit into pool `q` below `end`.

        If `need`, their proved least end, exceeds `end`, this is a no-good (proved). Otherwise it is a doubt
        (undecided).
        """
        is_proved = need > end
        kept, need = self._core(q, kept, end, need)
        items = frozenset(self.knapsack.item[kept].tolist())
        # Choices ignore no-goods of items that larger ones hide in all rows, so one of these may come again.
        known, new = (self.nogoods, NoGood(q, items, need)) if is_proved else (self.doubts, NoGood(q, items, NEVER))
        if new not in known:
            known.append(new)

    def _core(self, q: int, kept: Bool, end: int, need: int) -> tuple[Bool, int]:
        """Return (a part of the buffers in `kept` that still does not fit, its least end) after few short searches.

        If `need`, the proved least end of all, is not above `end`, the part is only not known to fit.
        """
        item, tests, is_proved = self.knapsack.item, 0, need > end
        begins = np.full(self.knapsack.n_items, 2**62)
        np.minimum.at(begins, self.knapsack.item_of_lifetime, self.knapsack.start)
        rest = np.unique(item[kept])
        rest = rest[np.argsort(begins[rest], kind="stable")]
        part = len(rest) if len(rest) <= _CORE_ITEMS else 1
        while part > 1 and tests < _CORE_TESTS:
            part = -(-part // 2)
            for k in range(0, len(rest), part):
                tests += 1
                if tests > _CORE_TESTS or self._is_over():
                    break
                trial = kept & ~np.isin(item, rest[k : k + part])
                packing = self.packings.pack(q, trial, end, end, _CORE_WORK)
                if packing.need > end or (not is_proved and packing.end > end):
                    kept, need = trial, packing.need
            rest = rest[np.isin(rest, item[kept])]
        return kept, need

    def _is_over(self) -> bool:
        spent = self.spent + self.packings.spent
        return self.search.is_over or (self.search.deterministic and spent >= self.search.work_limit)

    def _stop_flag(self) -> I64:
        return np.ones(1, dtype=np.int64) if self._is_over() else self.search.flag

    def _offer_floor(self, floor: int, before: int = 0) -> int:
        if floor > before:
            self.search.offer_bound(self.goals.score(floor), NAME)
        return max(floor, before)
