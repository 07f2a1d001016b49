"""CP-SAT: short questions first ("is there a plan at the bound?"), then minimisation, goal after goal of the objective.

Runs have heavy tails, so several short ones, over orders, limits and seeds, come before each long one. The best plan
enters as a limit to stay below, and where a goal is minimised as a hint, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import Literal

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64
from memplan.solvers.cp_sat.model import CpSatQuestion
from memplan.solvers.cp_sat.run import NAME, CpSatEngine
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.formulation.offset_ranges import horizon
from memplan.solvers.search.goals import COST, Goals
from memplan.solvers.search.incumbent import Search

_LARGEST = 2**60
"""The limit of sums of sizes, and of costs: CP-SAT counts in int64."""
_MOST_ENTRIES = 1_000_000
"""The most buffers that the live sets may hold together; a larger model takes longer to build than it is worth."""
_FIRST_RUN = 0.03
"""The work of a first short run, in CP-SAT's deterministic seconds: about a third of one of ours."""


def solve(instance: Instance, search: Search) -> None:
    """Offer assignments and claims until the least score is found and proved, or the search is over."""
    refusal = _refusal(instance)
    if refusal is not None:
        search.log(f"{NAME}: {refusal}")
        return
    pursuit = _GoalPursuit(instance, search)
    pursuit.goals.pursue(pursuit.least)


def _refusal(instance: Instance) -> str | None:
    if not instance.is_small_numbered or max(_horizons(instance)) >= _LARGEST:
        return "the sizes add up to more than its numbers hold"
    entries = int(instance.load(np.ones(len(instance), dtype=np.int64)).sum())
    return f"the live sets hold {entries} buffers in all, above {_MOST_ENTRIES}" if entries > _MOST_ENTRIES else None


def _horizons(instance: Instance) -> list[int]:
    return [horizon(instance, q) for q in range(len(instance.pools))]


@dataclass(frozen=True)
class _NextQuestion:
    """The next question, and the work it may take.

    It looks for the cheapest choice of pools, the floor itself, a limit in between, or the best there is.
    """

    kind: Literal["choice", "floor", "between", "best"]
    work: float


def _runs(goal: int) -> Iterator[_NextQuestion]:
    if goal == COST:
        yield _NextQuestion("choice", 4 * _FIRST_RUN)
    for work in (_FIRST_RUN * 1.5**k for k in count()):
        # Each with another seed and order: run times are heavy-tailed, so several short runs beat a long one.
        yield from [_NextQuestion("floor", work)] * 3
        yield from [_NextQuestion("between", work)] * 3
        yield _NextQuestion("best", 4 * work)


class _GoalPursuit:
    """The goals in turn, each for the least value it can have while those before it keep what is proved."""

    def __init__(self, instance: Instance, search: Search) -> None:
        self.instance, self.search = instance, search
        self.random = np.random.default_rng(search.seed)
        ends = zip(instance.pools, _horizons(instance), strict=True)
        self.limits = {q: min(pool.capacity, end) for q, (pool, end) in enumerate(ends)}
        costs = whole_costs(instance) if instance.objective == "cost" else None
        if costs is not None:
            self.limits[COST] = costs.most
        self.goals = Goals(instance, search, costs)
        self.engine = CpSatEngine(instance, search, costs, _orders(instance, self.random))

    def least(self, goal: int) -> int | None:
        """Return the least value of a goal, once it is reached and, as the engine says, proved; else None."""
        floor = promising = self.goals.known_floor()
        for run in _runs(goal):
            reached = self.goals.reached(goal)
            most = self.limits[goal] if reached is None else reached - 1
            if floor > most and reached is None:
                self.search.claim_infeasible(NAME)
            if floor > most:
                return reached
            if self.engine.is_spent or (self.instance.objective == "fit" and reached is not None):
                return None
            if run.kind == "floor" and floor > promising:
                continue  # once refuted, a floor moves up by single units: no more than any other limit
            limit = floor if run.kind == "floor" else most
            if run.kind == "between" and reached is not None:
                # Questions far below the best plan are hard, those just below it win little.
                limit = floor + int(self.random.uniform(0.3, 0.95) * (most - floor))
            at_least = self.engine.answer(self._question(goal, limit, run), run.work)
            if at_least > floor:
                floor = at_least
                self.search.offer_bound(self.goals.score(floor), NAME)
            if run.kind == "choice":
                promising = floor
        return None

    def _question(self, goal: int, limit: int, run: _NextQuestion) -> CpSatQuestion:
        settled = dict(zip(self.goals.order, self.goals.proved, strict=False))
        limits = self.limits | settled | {goal: limit}
        ends = tuple(limits[q] for q in range(len(self.instance.pools)))
        is_minimised = run.kind in ("choice", "best")
        return CpSatQuestion(ends, limits.get(COST), goal, is_minimised, is_of_choice=run.kind == "choice")


def whole_costs(instance: Instance) -> Costs:
    """Return the costs; where their sums grow too large, in a coarser step that rounds each down, so a bound holds."""
    costs = Costs.of(instance)
    # Rounded down, so that a bound on coarse costs is one on costs.
    coarser = 1 << max(0, costs.most.bit_length() - _LARGEST.bit_length() + 1)
    return costs.coarser(coarser)


def _orders(instance: Instance, random: np.random.Generator) -> Iterator[I64]:
    """Yield orders to try buffers in: widest, earliest and latest first, larger first among equals; then with noise."""
    n, sets = len(instance), instance.end - instance.start
    width = np.bincount(instance.lifetime_buffer, sets, minlength=n)
    first = np.zeros(n)
    first[instance.lifetime_buffer[::-1]] = instance.start[::-1]
    last = np.bincount(instance.lifetime_buffer, minlength=n) * 0.0
    np.maximum.at(last, instance.lifetime_buffer, instance.end)
    for noise in count():
        for key in (-width, first, -last):
            spread = 0.0 if noise == 0 else 0.1
            shaken = key * np.exp(spread * random.standard_normal(n))
            yield np.lexsort((-instance.size, shaken))
