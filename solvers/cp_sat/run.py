"""Runs of CP-SAT: a question in, its solutions offered as they come, and what the engine claims."""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import ceil
from typing import TYPE_CHECKING

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import I64, column
from memplan.solvers.cp_sat.boxes import AddressBoxes
from memplan.solvers.cp_sat.model import CpSatQuestion, build
from memplan.solvers.formulation.costs import Costs
from memplan.solvers.packing.place import drop
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.result import Assignment

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, CpSolver, CpSolverSolutionCallback

NAME = "cp-sat"
_UNITS_PER_WORK = 100_000_000
"""Units of Search.work_limit in a deterministic second of CP-SAT: with long NoOverlaps, up to a hundred of ours."""
_PATIENCE = 30
"""Seconds of the clock for a deterministic one; more is only taken where the clock may decide nothing."""
_WORK_PER_ENTRY = 3e-8
"""The work of posting one buffer of one live set, in deterministic seconds."""
_EXACT_IN_DOUBLE = 2**53


class CpSatEngine:
    """Gives CP-SAT questions, each with the next of `orders` and a seed of its own, and counts its work."""

    def __init__(self, instance: Instance, search: Search, costs: Costs | None, orders: Iterator[I64]) -> None:
        self.instance, self.search, self.costs, self.orders = instance, search, costs, orders
        self.work_left = search.work_limit / _UNITS_PER_WORK
        self.building_work = _WORK_PER_ENTRY * int((instance.end - instance.start).sum()) * len(instance.pools)
        self.runs = 0

    @property
    def is_spent(self) -> bool:
        """True if the search is over, or the work that may be done in it."""
        return self.search.is_over or (self.search.deterministic and self.work_left <= 0)

    def answer(self, question: CpSatQuestion, work: float) -> int:
        """Answer, spending at most so much work; return what the engine says that the question's goal cannot be below.

        Work is counted in CP-SAT's deterministic seconds, so that load hardly changes what a run finds.
        """
        from ortools.sat.python import cp_model

        model = cp_model.CpModel()
        boxes = build(model, self.instance, self.costs, question, next(self.orders))
        if question.is_minimised and self.search.best is not None:
            _hint(model, boxes, self.search.best)
        solver = cp_model.CpSolver()
        self._set_parameters(solver, question, work)
        reporter = None if question.is_of_choice else _reporter(self.instance, self.search, boxes)
        status = solver.solve(model, reporter)
        self.runs += 1
        self.work_left -= solver.deterministic_time + self.building_work
        self.search.log(f"{NAME}: {question}: {solver.status_name(status)} after {solver.wall_time:.3f} s")
        if status == cp_model.MODEL_INVALID:
            raise ValueError(f"{NAME} refuses the model: {model.validate()}")
        if status == cp_model.INFEASIBLE:
            return question.limit + 1
        bound = solver.best_objective_bound
        return ceil(bound - 1e-6) if question.is_minimised and 0 < bound < _EXACT_IN_DOUBLE else 0

    def _set_parameters(self, solver: CpSolver, question: CpSatQuestion, work: float) -> None:
        from ortools.sat.python import cp_model

        parameters = solver.parameters
        parameters.random_seed = (self.search.seed + self.runs) % 2**31
        parameters.max_deterministic_time = min(work, self.work_left)
        if not self.search.deterministic:
            parameters.max_time_in_seconds = min(_PATIENCE * work, self.search.remaining_s)
        is_wide = question.is_minimised and not self.search.deterministic
        parameters.num_workers = (os.cpu_count() or 1) if is_wide else 1
        if len(self.instance.conflict) == 0:
            parameters.merge_no_overlap_work_limit = 0.0  # live sets are maximal as they are; looking takes seconds
        if question.has_fixed_search:
            parameters.search_branching = cp_model.FIXED_SEARCH
        # Proofs above the bound take a tenth of a second with it, minutes without; other questions only grow slower.
        parameters.use_strong_propagation_in_disjunctive = question.is_minimised


def _hint(model: CpModel, boxes: AddressBoxes, best: Assignment) -> None:
    """Hint at the best plan: its pools, and its offsets in them."""
    for homes, pool, offset in zip(boxes, best.pool.tolist(), best.offset.tolist(), strict=True):
        for q, box in homes.items():
            if len(homes) > 1:
                model.add_hint(box.is_here, q == pool)
            if q == pool:
                model.add_hint(box.start, offset)


def _reporter(instance: Instance, search: Search, boxes: AddressBoxes) -> CpSolverSolutionCallback:
    """Make the callback that offers each solution, as it is and dropped, and stops when the search is over."""
    from ortools.sat.python import cp_model

    class Reporter(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]  # OR-Tools is untyped
        def on_solution_callback(self) -> None:
            homes = [next(q for q, box in mine.items() if self.boolean_value(box.is_here)) for mine in boxes]
            raw = [self.value(mine[q].start) for mine, q in zip(boxes, homes, strict=True)]
            pool, offset = column(homes), column(raw)
            search.offer(pool, offset, NAME)
            dropped = drop(instance, pool, offset)
            if dropped is not None:
                search.offer(pool, dropped, NAME)
            if search.is_over:
                self.stop_search()

    return Reporter()
