"""The CP-SAT search, goal by goal: short feasibility questions ("is there a plan at the bound?"), then minimization.

Run times are heavy-tailed, so several short runs with different orders, limits and seeds precede each long run. The
value of the best plan is an upper limit. Where a goal is minimized, the plan is also a hint.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from math import ceil
from typing import TYPE_CHECKING, Literal

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.cp_sat.boxes import AddressBoxes
from memplan.solvers.cp_sat.model import CpSatQuestion, build_model
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.formulation.offset_ranges import horizon
from memplan.solvers.packing.place import drop_buffers
from memplan.solvers.processes.threads import threads_of_one
from memplan.solvers.search.goals import COST, Goals
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.result import Assignment

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver, CpSolverSolutionCallback


NAME = "cp-sat"
_UNITS_PER_WORK = 100_000_000
"""The units of Search.work_limit in a deterministic second of CP-SAT; long NoOverlaps use up to 100 times as many."""
_PATIENCE = 30
"""The wall-clock seconds allowed per deterministic second, unless the search must not depend on a clock."""
_WORK_PER_ENTRY = 3e-8
"""The work of adding a buffer to the NoOverlap of one live set, in deterministic seconds."""
_EXACT_IN_DOUBLE = 2**53


class CpSatEngine:
    """The CP-SAT runs of one search. Each run gets a new seed and the next of `orders`, and its work is counted."""

    def __init__(self, instance: Instance, search: Search, costs: Costs | None, orders: Iterator[I64]) -> None:
        """Convert the search's work limit to deterministic seconds, and estimate the work of building one model."""
        self.instance, self.search, self.costs, self.orders = instance, search, costs, orders
        self.work_left = search.work_limit / _UNITS_PER_WORK
        self.building_work = _WORK_PER_ENTRY * int((instance.end - instance.start).sum()) * len(instance.pools)
        self.runs = 0

    @property
    def is_spent(self) -> bool:
        """True if the search is over or its work limit is reached."""
        return self.search.is_over or (self.search.deterministic and self.work_left <= 0)

    def answer(self, question: CpSatQuestion, work: float) -> int:
        """Solve a question with limited work; return the lower bound that CP-SAT proves on its goal, or 0 without one.

        The work is counted in deterministic seconds, which hardly depend on the machine's load. Raises ValueError if
        CP-SAT rejects the model.
        """
        from ortools.sat.python import cp_model

        model = cp_model.CpModel()
        boxes = build_model(model, self.instance, self.costs, question, next(self.orders))
        if question.is_minimised and self.search.best is not None:
            _add_hint(model, boxes, self.search.best)
        solver = cp_model.CpSolver()
        self._set_parameters(solver, question, work)
        status = solver.solve(model, _solution_callback(self.instance, self.search, boxes))
        self.runs += 1
        self.work_left -= solver.deterministic_time + self.building_work
        self.search.log(f"{NAME}: {question}: {solver.status_name(status)} after {solver.wall_time:.3f} s")
        if status == cp_model.MODEL_INVALID:
            raise ValueError(f"{NAME}: the model must be valid, got {model.validate()}")
        if status == cp_model.INFEASIBLE:
            return question.limit + 1
        bound = solver.best_objective_bound
        return ceil(bound - 1e-6) if question.is_minimised and 0 < bound < _EXACT_IN_DOUBLE else 0

    def _set_parameters(self, solver: CpSolver, question: CpSatQuestion, work: float) -> None:
        """Set the parameters of a CP-SAT run: seed, limits, number of workers and search strategy."""
        from ortools.sat.python import cp_model

        parameters = solver.parameters
        parameters.random_seed = (self.search.seed + self.runs) % 2**31
        parameters.max_deterministic_time = min(work, self.work_left)
        if not (self.search.deterministic or self.search.counts_processor):
            parameters.max_time_in_seconds = min(_PATIENCE * work, self.search.remaining_s)
        is_wide = question.is_minimised and not self.search.deterministic
        parameters.num_workers = threads_of_one() if is_wide else 1
        if len(self.instance.conflict) == 0:
            # Live sets are maximal cliques, so CP-SAT gains nothing from merging their NoOverlap constraints.
            parameters.merge_no_overlap_work_limit = 0.0
        if question.has_fixed_search:
            parameters.search_branching = cp_model.FIXED_SEARCH
        # Strong propagation proves minima in 0.1 s instead of minutes, but it slows down all other questions.
        parameters.use_strong_propagation_in_disjunctive = question.is_minimised


def _add_hint(model: CpModel, boxes: AddressBoxes, best: Assignment) -> None:
    for homes, pool, offset in zip(boxes, best.pool.tolist(), best.offset.tolist(), strict=True):
        for q, box in homes.items():
            if len(homes) > 1:
                model.add_hint(box.is_here, q == pool)
            if q == pool:
                model.add_hint(box.start, offset)


def _solution_callback(instance: Instance, search: Search, boxes: AddressBoxes) -> CpSolverSolutionCallback:
    """Return a callback that offers each solution, also with its buffers moved down, and stops CP-SAT in time."""
    from ortools.sat.python import cp_model

    # OR-Tools has no type annotations, so mypy must ignore this base class.
    class Reporter(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
        """The callback of a CP-SAT run: it passes each solution to the search."""

        def on_solution_callback(self) -> None:
            """Offer CP-SAT's solution, also with its buffers moved down; stop CP-SAT once the search is over."""
            homes = [next(q for q, box in mine.items() if self.boolean_value(box.is_here)) for mine in boxes]
            raw = [self.value(mine[q].start) for mine, q in zip(boxes, homes, strict=True)]
            pool, offset = column(homes), column(raw)
            search.offer(pool, offset, NAME)
            dropped = drop_buffers(instance, pool, offset)
            if dropped is not None:
                search.offer(pool, dropped, NAME)
            if search.is_over:
                self.stop_search()

    return Reporter()


_LARGEST = 2**60
"""The limit of sums of sizes and of costs, because CP-SAT uses int64."""
_MOST_ENTRIES = 1_000_000
"""The limit of buffers summed over the live sets; larger models take too long to build."""
_FIRST_RUN = 0.015
"""The work of the first short run, in deterministic seconds of CP-SAT; one takes about three seconds."""


def solve(instance: Instance, search: Search) -> None:
    """Run CP-SAT on an instance, and offer its plans and bounds until the best score is proved or the search is over.

    An instance that is too large for CP-SAT is skipped, with a line in the log.
    """
    refusal = _size_refusal(instance)
    if refusal is not None:
        search.log(f"{NAME}: {refusal}")
        return
    pursuit = _GoalPursuit(instance, search)
    pursuit.goals.pursue(pursuit.min_value)


def _size_refusal(instance: Instance) -> str | None:
    """Return a sentence on why an instance is too large for CP-SAT, or None if it is small enough."""
    if not instance.is_small_numbered or max(_pool_end_limits(instance)) >= _LARGEST:
        return "the sizes add up to more than its numbers hold"
    entries = int(instance.loads(np.ones(len(instance), dtype=np.int64)).sum())
    return f"the live sets hold {entries} buffers in all, above {_MOST_ENTRIES}" if entries > _MOST_ENTRIES else None


def _pool_end_limits(instance: Instance) -> list[int]:
    return [horizon(instance, q) for q in range(len(instance.pools))]


@dataclass(frozen=True)
class _NextQuestion:
    """The kind of the next question, and its work limit in deterministic seconds.

    "floor" seeks a plan at the lower bound, "between" a plan at a limit above the bound, and "best" the best plan.
    """

    kind: Literal["floor", "between", "best"]
    work: float


def _questions_in_turn() -> Iterator[_NextQuestion]:
    for work in (_FIRST_RUN * 1.5**k for k in count()):
        # Run times are heavy-tailed, so several short runs with new seeds and orders beat one long run.
        yield from [_NextQuestion("floor", work)] * 3
        yield from [_NextQuestion("between", work)] * 3
        yield _NextQuestion("best", 4 * work)


class _GoalPursuit:
    """The minimization by CP-SAT of one goal after another (cost, pool ends), which keeps the proved values."""

    def __init__(self, instance: Instance, search: Search) -> None:
        """Set the first limit of each goal: the largest possible cost, and ends that some best plan does not exceed."""
        self.instance, self.search = instance, search
        self.random = np.random.default_rng(search.seed)
        ends = zip(instance.pools, _pool_end_limits(instance), strict=True)
        self.limits = {q: min(pool.capacity, end) for q, (pool, end) in enumerate(ends)}
        costs = whole_costs(instance) if instance.objective == "cost" else None
        if costs is not None:
            self.limits[COST] = costs.max_steps
        self.goals = Goals(instance, search, costs)
        self.engine = CpSatEngine(instance, search, costs, _buffer_orders(instance, self.random))

    def min_value(self, goal: int) -> int | None:
        """Return the least value of a goal once a plan reaches it and it is proved; None if the search ends before."""
        floor = first = self.goals.first_bound()
        for run in _questions_in_turn():
            reached = self.goals.best_value(goal)
            most = self.limits[goal] if reached is None else reached - 1
            if floor > most and reached is None:
                self.search.claim_infeasible(NAME)
            if floor > most:
                return reached
            if self.engine.is_spent or (self.instance.objective == "fit" and reached is not None):
                return None
            if run.kind == "floor" and floor > first:
                # Each refutation at the bound raises it by only one unit, so skip further questions there.
                continue
            limit = floor if run.kind == "floor" else most
            if run.kind == "between" and reached is not None:
                # Low peaks are hard to reach and peaks just below the best one gain little, so draw a limit in between.
                limit = floor + int(self.random.uniform(0.3, 0.95) * (most - floor))
            at_least = self.engine.answer(self._next_model_question(goal, limit, run), run.work)
            if at_least > floor:
                floor = at_least
                self.search.offer_bound(self.goals.score(floor), NAME)
        return None

    def _next_model_question(self, goal: int, limit: int, run: _NextQuestion) -> CpSatQuestion:
        settled = dict(zip(self.goals.order, self.goals.proved, strict=False))
        limits = self.limits | settled | {goal: limit}
        ends = tuple(limits[q] for q in range(len(self.instance.pools)))
        return CpSatQuestion(ends, limits.get(COST), goal, is_minimised=run.kind == "best")


def whole_costs(instance: Instance) -> Costs:
    """Return the costs as integers for CP-SAT, rounded down; their unit is larger if sums would overflow."""
    costs = Costs.from_instance(instance)
    # Costs are rounded down, so a bound on the coarse costs also holds for the exact costs.
    coarser = 1 << max(0, costs.max_steps.bit_length() - _LARGEST.bit_length() + 1)
    return costs.coarsen(coarser)


def _buffer_orders(instance: Instance, random: np.random.Generator) -> Iterator[I64]:
    """Yield endless orders of buffers: by width, by start and by end, with larger buffers first on ties.

    The width of a buffer is its number of live sets. From the second round on, the sort keys get random noise.
    """
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
