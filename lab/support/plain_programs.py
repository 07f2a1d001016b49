"""The published programs, to compare with: an order of each pair that conflicts, and the least peak, from the start.

As an integer program, each order has two rows with a big M, the sum of all sizes (Sekiyama et al. 2018, OLLA 2022); as
a constraint program, an order is a literal of two enforced inequalities. For problems of one memory without rules.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import numpy as np

from memplan.planner.instance.instance import Instance
from memplan.planner.model.buffer_table import column
from memplan.solvers.mip import cbc, highs
from memplan.solvers.mip.boxes import Boxes
from memplan.solvers.mip.draft import F64, Draft, IntegerProgram, Term
from memplan.solvers.mip.stages import EngineEffort, EngineRun, MipEngine
from memplan.solvers.packing.place import drop
from memplan.solvers.search.incumbent import Search

_GAP = 0.9


def _pairs(instance: Instance) -> list[tuple[int, int]]:
    if instance.features:
        raise ValueError(f"the published program has no {', '.join(sorted(instance.features))}")
    return sorted(Boxes(instance, (int(instance.size.sum()),)).conflicts)


def _program(instance: Instance) -> IntegerProgram:
    size, program = instance.size.tolist(), Draft()
    big_m = sum(size)
    offsets = [program.column(("offset", b), 0, big_m - size[b], unit="units") for b in range(len(size))]
    program.objective = peak = program.column(("peak",), 0, big_m, unit="units")
    for b, offset in enumerate(offsets):
        program.row(("peak", b), [(peak, 1), (offset, -1)], at_least=size[b])
    for a, b in _pairs(instance):
        below = Term(program.column(("below", a, b), 0, 1, is_whole=True))
        for low, high, term in ((a, b, below), (b, a, Term(below.column, -1, 1))):
            sides = [(Term(offsets[high]), 1), (Term(offsets[low]), -1)]
            program.row_if(term, big_m, ("below", low, high), sides, size[low])
    return program.finish(1)


def _start(instance: Instance, search: Search) -> F64 | None:
    if search.best is None:
        return None
    offset = search.best.offset
    orders = [float(offset[a] < offset[b]) for a, b in _pairs(instance)]
    return np.array([*map(float, offset), float((offset + instance.size).max()), *orders])


def _take(instance: Instance, search: Search, raw: F64, by: str) -> None:
    pool = column(np.zeros(len(instance), dtype=np.int64))
    offset = drop(instance, pool, raw[: len(instance)])
    if offset is not None:
        search.offer(pool, offset, by)


def _integer_program(name: str, engine: MipEngine) -> Callable[[Instance, Search], None]:
    def solve(instance: Instance, search: Search) -> None:
        effort = EngineEffort(search.remaining_s, None, _GAP, search.seed, counts_processor=True)
        outcome = engine(
            EngineRun(
                _program(instance),
                _start(instance, search),
                effort,
                lambda values: _take(instance, search, values, name),
                search.log,
                lambda: search.is_over,
            )
        )
        if outcome.status == "optimal":
            search.offer_bound((ceil(outcome.bound - 0.01),), name)

    return solve


def _constraint_program(instance: Instance, search: Search) -> None:
    from ortools.sat.python import cp_model

    model, size = cp_model.CpModel(), instance.size.tolist()
    start = [model.new_int_var(0, sum(size) - each, "") for each in size]
    peak = model.new_int_var(0, sum(size), "")
    for at, each in zip(start, size, strict=True):
        model.add(at + each <= peak)
    for a, b in _pairs(instance):
        below = model.new_bool_var("")
        model.add(start[a] + size[a] <= start[b]).only_enforce_if(below)
        model.add(start[b] + size[b] <= start[a]).only_enforce_if(~below)
    model.minimize(peak)
    for at, offset in zip(start, search.best.offset.tolist() if search.best else [], strict=False):
        model.add_hint(at, offset)

    class Taker(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]  # OR-Tools is untyped
        def on_solution_callback(self) -> None:
            _take(instance, search, np.array([float(self.value(at)) for at in start]), "plain-cp-sat")
            if search.is_over:
                self.stop_search()

    solver = cp_model.CpSolver()
    solver.parameters.num_workers, solver.parameters.random_seed = 1, search.seed
    # Its clock is that of the machine, which other work makes faster than the processor's.
    solver.parameters.max_deterministic_time = search.remaining_s
    if solver.solve(model, Taker()) == cp_model.OPTIMAL:
        search.offer_bound((ceil(solver.best_objective_bound - 1e-6),), "plain-cp-sat")


PLAIN: dict[str, Callable[[Instance, Search], None]] = {
    "plain-highs": _integer_program("plain-highs", highs.solve_program),
    "plain-cbc": _integer_program("plain-cbc", cbc.solve_program),
    "plain-cp-sat": _constraint_program,
}
