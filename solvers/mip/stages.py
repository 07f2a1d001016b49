"""The sequence of questions to a MILP engine, which optimizes the entries of the score one after another.

For three tenths of the time, the engine searches for any plan at the lower bound; once that is refuted, at higher
peaks. If the engine neither finds such a plan nor refutes all, parts of the best plan are rearranged. Finally the
engine minimizes the entry. Small programs are minimized at once.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import ceil, inf
from typing import Literal

import numpy as np

from memplan.planner.instance.instance import ON_OFFSETS, Instance
from memplan.planner.instance.objective import Score
from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.formulation.offset_ranges import horizon
from memplan.solvers.mip.boxes import Boxes
from memplan.solvers.mip.draft import F64, IntegerProgram, Key
from memplan.solvers.mip.program import MipQuestion, draft
from memplan.solvers.mip.rearrange import PlanParts
from memplan.solvers.mip.start import is_feasible_start, start_of
from memplan.solvers.packing.place import drop_buffers
from memplan.solvers.search.goals import COST, Goals
from memplan.solvers.search.incumbent import Search

MAX_ROWS = 200_000
"""The limit of rows of a program; with a million rows, engines fail and need gigabytes."""


def count_rows(instance: Instance) -> int:
    """Return an upper bound on the rows of an instance's program, computed in linear time without listing pairs."""
    begun = np.bincount(instance.start, minlength=instance.n_live_sets)
    ended = np.bincount(instance.end, minlength=instance.n_live_sets + 1)[: instance.n_live_sets]
    alive = np.cumsum(begun - ended)
    by_time = int((begun * (alive - begun) + begun * (begun - 1) // 2).sum())
    reserved = sum(len(pool.reserved) for pool in instance.pools)
    named = len(instance.conflict) // 2 + len(instance.clear_pairs)
    pairs = by_time + named + len(instance) * reserved
    p = len(instance.pools)
    a_buffer = 2 if p == 1 else 6 + 2 * p
    a_pair = 2 if p == 1 else 3 + p
    crowds, members = instance.n_live_sets, int(alive.sum())
    if len(instance.conflict):
        crowds, members = crowds + 1, members + len(instance)
    of_crowds = (1 + p) * members + (reserved + (0 if p == 1 else 2 * p)) * crowds
    return 1 + reserved + (a_buffer + 1) * len(instance) + a_pair * pairs + of_crowds + _constraint_rows(instance)


def _constraint_rows(instance: Instance) -> int:
    p = len(instance.pools)
    n_shares, n_partners, n_priced = len(instance.share) // 2, len(instance.bank_with) // 2, len(instance.priced_pairs)
    tied = int((instance.anchor != np.arange(len(instance))).sum())
    moving = int((instance.colocation != np.arange(len(instance))).sum()) * (p if p > 1 else 0)
    paged = int((instance.page > 0).any(axis=0).sum())
    barred = 2 * sum(len(instance.barred_in(q)[1]) for q in range(p))
    parted = n_shares * (4 + 2 * p) + n_partners * (1 + 7 * p) + n_partners * 3 + n_priced * (2 + 7 * p)
    return tied + moving + paged * (2 + p) + parted + barred


def sensible_limits(instance: Instance, known: Score | None) -> list[int]:
    """Return, for each pool, an end in units that at least one best plan does not exceed.

    The ends suffice for plans whose buffers are moved down as far as possible, and for a plan with the score `known`.
    """
    reached = [0] * len(instance.pools) if known is None else known[::-1]
    return [min(pool.capacity, max(horizon(instance, q), int(reached[q]))) for q, pool in enumerate(instance.pools)]


RESERVE_S = 0.3
"""The seconds in reserve, so that an engine stops and reports its results before it is killed."""
LARGEST_PLAIN = 2**20
"""The largest number that engines get in whole units. Above it, HiGHS has made false claims."""
SCALED_PEAK = 2**16
"""The approximate value to which larger peaks are scaled down, by a power of two."""
ROOT_WORK, NODE_WORK = 100, 2
"""Work units (microseconds) per program entry, for the root node and other nodes; HiGHS took 15 to 600, and 2."""
_DECIDED, _REARRANGED = 0.3, 0.6
"""The shares of the remaining time for the search of any plan, and then for rearrangement."""
_PART_S, _IDLE, _BUFFERS_A_SHAKE = 0.5, 15, 20
"""The seconds per neighbourhood, the failures before a restart, and the buffers per restart without a gain."""
_FEWEST_DECIDED = 200
"""The pairs below which a program is minimized at once: bounds come two to twelve times sooner, plans not later."""
_MOST_DECIDED = 1_500
"""The pairs above which engines find no complete order in time, so neighbourhoods get all the time."""
_GAP = 0.9
"""The gap at which an engine may stop, in units or cost steps; a better plan would be at least 1 lower."""


@dataclass(frozen=True)
class EngineEffort:
    """The limits of one engine run: seconds or nodes, and an absolute `gap` to the bound at which it may stop.

    `seconds` is processor time if `counts_processor` is set, and wall-clock time otherwise.
    """

    seconds: float | None
    nodes: int | None
    gap: float
    seed: int
    counts_processor: bool = False


@dataclass(frozen=True)
class Outcome:
    """The outcome of an engine run; unless the program is infeasible, `bound` is a lower bound on its objective."""

    status: Literal["optimal", "infeasible", "open"]
    bound: float = -inf


@dataclass(frozen=True, eq=False)
class EngineRun:
    """A program to solve from `start` (column values, or None), with the callbacks of the run.

    The engine passes the column values of each solution to `take`, and the lines of its log to `log`. It ends soon
    after `is_late()` returns True.
    """

    program: IntegerProgram
    start: F64 | None
    effort: EngineEffort
    take: Callable[[F64], None]
    log: Callable[[str], None]
    is_late: Callable[[], bool]


MipEngine = Callable[[EngineRun], Outcome]


def pursue(instance: Instance, search: Search, name: str, engine: MipEngine) -> None:
    """Optimize the score's entries in order by an engine, until one stays unproved; skip too large programs."""
    rows = count_rows(instance)
    if rows > MAX_ROWS:
        search.log(f"{name}: the program would have {rows} rows, more than {MAX_ROWS}; not tried")
        return
    goals = Goals(instance, search, Costs.from_instance(instance) if instance.objective == "cost" else None)
    goals.pursue(_Pursuit(instance, search, name, engine, goals).min_value)


@dataclass(frozen=True)
class _Run:
    """One engine run: its kind (decision or not), and the time of the search's clock at which the run ends.

    A decision looks for any plan within its limits; any other run looks for the best plan.
    """

    is_decision: bool
    ends: float


@dataclass(frozen=True, eq=False)
class _Pursuit:
    """The minimization of one goal (cost or pool end) after another by an engine; earlier goals stay fixed."""

    instance: Instance
    search: Search
    name: str
    engine: MipEngine
    goals: Goals

    def min_value(self, goal: int) -> int | None:
        """Return the least value of a goal once a plan reaches it and the engine proves it; None if this fails."""
        first = self.goals.first_bound()
        floor = self._decide(goal, first)
        if floor == first:
            self._rearrange(goal, floor)
        most = self.goals.best_value(goal)
        if (most is None or most > floor) and not self.search.is_over:
            floor = self._minimise(goal, floor, most)
        reached = self.goals.best_value(goal)
        return reached if reached is not None and reached <= floor else None

    def _decide(self, goal: int, floor: int) -> int:
        """Search for a plan at the lower bound or, once that is refuted, above it; return the proved lower bound."""
        # A deterministic search spends most of its work on the root node of one program, so skip decision programs.
        if goal == COST or self.search.deterministic:
            return floor
        if not _FEWEST_DECIDED <= len(Boxes(self.instance, self._end_limits(goal, floor)).pairs) <= _MOST_DECIDED:
            return floor
        limit, step, run = floor, 1, _Run(is_decision=True, ends=self.search.clock() + _DECIDED * self._remaining_s)
        while not self.search.is_over and self.search.clock() < run.ends:
            most = self.goals.best_value(goal)
            highest = self._end_limits(goal, None)[goal] if most is None else most - 1
            limit = min(limit, highest)
            if limit < floor or self._solve_for(goal, floor, limit, run).status != "infeasible":
                return floor
            floor = limit + 1
            self.search.offer_bound(self.goals.score(floor), self.name)
            limit, step = limit + step, 2 * step
        return floor

    def _rearrange(self, goal: int, floor: int) -> None:
        """Rearrange parts of the best plan until no end exceeds the lower bound, or the time for this is over."""
        most, best = self.goals.best_value(goal), self.search.best
        if goal == COST or self.search.deterministic or self.search.is_over or best is None or most in (None, floor):
            return
        highest = self._end_limits(goal, min(2 * most - floor, self.instance.pools[goal].capacity))
        boxes = Boxes(self.instance, highest)
        if len(boxes.pairs) < _FEWEST_DECIDED:
            return
        share = _REARRANGED if len(boxes.pairs) <= _MOST_DECIDED else 1.0
        until = self.search.clock() + share * self._remaining_s
        program = self._program(boxes, goal, floor, highest[goal], ("over", goal))
        parts = PlanParts(boxes, program, goal, floor, np.random.default_rng(self.search.seed))
        plan = least = parts.rate(best.pool, best.offset)
        idle, restarts = _IDLE - 1, 0

        def solve(part: IntegerProgram, start: F64, widened: Callable[[F64], F64]) -> float:
            """Run the engine on a part of the program; return the time used, as a share of the time for a part."""

            def take(values: F64) -> None:
                nonlocal plan, idle
                for pool, offset in self._exact_plans(boxes, program, widened(values)):
                    self.search.offer(pool, offset, self.name)
                    other = parts.rate(pool, offset)
                    if other.total_excess < plan.total_excess:
                        plan, idle = other, 0

            begun = self.search.clock()
            run = _Run(is_decision=False, ends=min(until, begun + _PART_S))
            effort, is_late = self._run_limits(part, run), self._is_late(run)
            self.engine(EngineRun(part, start, effort, take, self.search.log, is_late))
            return (self.search.clock() - begun) / _PART_S

        while (
            plan.total_excess
            and restarts <= len(self.instance) // _BUFFERS_A_SHAKE
            and not self.search.is_over
            and self.search.clock() < until
        ):
            idle += 1
            if idle == _IDLE:
                other = parts.perturbed_plan(least) if restarts % 2 else parts.best_start()
                plan, idle, restarts = other or least, 0, restarts + 1
                self.search.offer(plan.pool, plan.offset, "greedy")
            if plan.total_excess:
                parts.improve(plan, solve)
            if plan.total_excess < least.total_excess:
                least, restarts = plan, 0

    def _minimise(self, goal: int, floor: int, most: int | None) -> int:
        """Search for plans better than the best one and not below `floor`, and return the new lower bound."""
        run = _Run(is_decision=False, ends=self.search.clock() + self._remaining_s)
        outcome = self._solve_for(goal, floor, most, run)
        if outcome.status == "open" and not self.search.deterministic:
            self.search.run_out_of_time()
        if outcome.status == "infeasible":
            if most is None and not self.goals.proved:
                self.search.claim_infeasible(self.name)
            return floor
        if outcome.bound > floor:
            floor = int(outcome.bound)
            self.search.offer_bound(self.goals.score(floor), self.name)
        return floor

    @property
    def _remaining_s(self) -> float:
        return max(0.05, self.search.remaining_s - RESERVE_S)

    def _solve_for(self, goal: int, floor: int, most: int | None, run: _Run) -> Outcome:
        """Run the engine for a goal (the cost or a pool's end) between the limits `floor` and `most`.

        Returns the outcome, whose bound is rounded up to a whole number of units or steps.
        """
        boxes = Boxes(self.instance, self._end_limits(goal, most))
        if any(not box.span for box in boxes.all):
            return Outcome("infeasible")
        minimised: Key = ("cost",) if goal == COST else ("peak", goal)
        program = self._program(boxes, goal, floor, most, None if run.is_decision else minimised)
        if (program.lower > program.upper).any():
            return Outcome("infeasible")
        effort = self._run_limits(program, run)
        if effort.nodes is not None and effort.nodes < 1:
            return Outcome("open")
        best, has_start = self.search.best, most is not None and not run.is_decision
        start = start_of(program, boxes, best.pool, best.offset) if best is not None and has_start else None
        take = partial(self._offer_plans, boxes, program)
        outcome = self.engine(EngineRun(program, start, effort, take, self.search.log, self._is_late(run)))
        return Outcome(outcome.status, _integer_bound(outcome.bound, program.value_of_one))

    def _is_late(self, run: _Run) -> Callable[[], bool]:
        search = self.search
        return lambda: search.is_over or (not search.deterministic and search.clock() >= run.ends)

    def _program(self, boxes: Boxes, goal: int, floor: int, most: int | None, key: Key | None) -> IntegerProgram:
        floors = [0] * len(boxes.limit)
        if goal != COST:
            floors[goal] = floor
        question = MipQuestion(boxes.limit, tuple(floors), key, self._cost_range(goal, floor, most))
        cost_scale = _engine_scale(question.cost[1]) if question.cost else 1
        return draft(boxes, question).finish(_engine_scale(max(boxes.limit)), cost_scale)

    def _offer_plans(self, boxes: Boxes, program: IntegerProgram, values: F64) -> None:
        for pool, offset in self._exact_plans(boxes, program, values):
            self.search.offer(pool, offset, self.name)

    def _exact_plans(self, boxes: Boxes, program: IntegerProgram, values: F64) -> Iterator[tuple[I64, I64]]:
        """Yield exact plans for an engine's column values: rounded to the grid if that is valid, then moved down."""
        buffers = range(boxes.n)
        pool = column([_pool_chosen(boxes, program, values, b) for b in buffers])
        raw = values[[program.at["offset", b] for b in buffers]] * program.scale
        # Rounding halves to even numbers could swap two boxes, so always round halves up.
        shift, granule = np.array(boxes.grid.shift)[pool], boxes.grid.granule
        rounded = column(np.floor((raw - shift) / granule + 0.5).astype(np.int64) * granule + shift)
        if self.instance.features & ON_OFFSETS and is_feasible_start(program, boxes, pool, rounded):
            yield pool, rounded
        offset = drop_buffers(self.instance, pool, raw)
        if offset is not None:
            yield pool, offset

    def _end_limits(self, goal: int, most: int | None) -> tuple[int, ...]:
        best = self.search.best
        limits = sensible_limits(self.instance, None if best is None else best.score)
        for q, end in zip(self.goals.order, self.goals.proved, strict=False):
            if q != COST:
                limits[q] = end
        if most is not None and goal != COST:
            limits[goal] = most
        return tuple(limits)

    def _cost_range(self, goal: int, floor: int, most: int | None) -> tuple[int, int] | None:
        """Return the least and the largest allowed cost, in steps, or None if costs do not count."""
        if self.goals.costs is None:
            return None
        if goal == COST:
            return floor, self.goals.costs.max_steps if most is None else most
        return 0, self.goals.proved[0]

    def _run_limits(self, program: IntegerProgram, run: _Run) -> EngineEffort:
        gap = _GAP / program.value_of_one
        if self.search.deterministic:
            of_an_entry = self.search.work_limit / (len(program.index) + 1)
            return EngineEffort(None, int((of_an_entry - ROOT_WORK) / NODE_WORK), gap, self.search.seed)
        seconds = max(0.05, run.ends - self.search.clock())
        return EngineEffort(seconds, None, gap, self.search.seed, self.search.counts_processor)


def _pool_chosen(boxes: Boxes, program: IntegerProgram, values: F64, b: int) -> int:
    homes = list(boxes.all[b].span)
    if len(homes) == 1:
        return homes[0]
    return max(homes, key=lambda q: float(values[program.at["in", q, b]]))


def _engine_scale(largest: int) -> int:
    return 1 if largest <= LARGEST_PLAIN else 1 << (largest // SCALED_PEAK).bit_length()


def _integer_bound(bound: float, value_of_one: int) -> float:
    if bound == -inf:
        return bound
    tolerance = 0.01 if value_of_one == 1 else 0.01 + value_of_one / 1000
    return ceil(bound * value_of_one - tolerance)
