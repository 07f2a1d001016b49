"""The engines that solve stage programs (integer programs of recomputation), each in a separate process.

OR-Tools and highspy cannot share a process, and a time limit is exact only if a process can be killed.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, inf
from typing import Any, Literal, NamedTuple

import numpy as np

from memplan.planner.errors.extras import is_installed
from memplan.solvers.mip.draft import F64, Draft
from memplan.solvers.mip.highs import solve_program
from memplan.solvers.mip.stages import EngineEffort, EngineRun
from memplan.solvers.processes.child import ChildProcess
from memplan.solvers.processes.parent import Parent
from memplan.solvers.search.control import Control

Engine = Literal["highs", "cp-sat"]
PACKAGE: dict[Engine, str] = {"cp-sat": "ortools", "highs": "highspy"}
"""The Python package of each engine. CP-SAT finds more solutions; both prove bounds below a known cost quickly."""
_NODES_PER_S, _UNITS_PER_S = 100, 0.1
"""The nodes of HiGHS, and the deterministic seconds of CP-SAT, that count as one second of counted work."""
_LEAST_S, _RESERVE_S = 0.05, 0.2
_EXACT_IN_DOUBLE = 2**53
_ROUNDING = 1e-6
_GAP = 0.9
"""The absolute gap at which HiGHS may stop; it is below 1, and costs are integers, so no better cost remains."""


class Task(NamedTuple):
    """An integer program that an engine minimises until the time `ends` of time.monotonic().

    With `counted_s`, the work of so many seconds is counted instead. A process that starts late has less time left. The
    engine stops early enough to report its result before the process is killed.
    """

    engine: Engine
    draft: Draft
    ends: float
    counted_s: float | None

    @property
    def remaining_s(self) -> float:
        """The remaining time of the engine in seconds."""
        return max(_LEAST_S, self.ends - _RESERVE_S - time.monotonic())


@dataclass(frozen=True)
class EngineReport:
    """The result of an engine: no solution has an objective below `bound`; if `is_none`, no solution exists.

    If `has_ended`, more time would not change the result.
    """

    bound: int = 0
    is_none: bool = False
    has_ended: bool = False


def is_exact(draft: Draft) -> bool:
    """Return True if doubles represent all numbers of an integer program exactly, as both engines require."""
    most = max((sum(abs(value) for _, value in row.entries) for row in draft.rows), default=0)
    return most < _EXACT_IN_DOUBLE and draft.upper[draft.objective or 0] < _EXACT_IN_DOUBLE


def engines() -> list[Engine]:
    """Return the names of the engines whose Python packages are installed."""
    return [engine for engine, package in PACKAGE.items() if is_installed(package)]


def minimise_by_engine(
    engine: Engine,
    draft: Draft,
    control: Control,
    take: Callable[[Sequence[int]], bool],
    is_settled: Callable[[], bool] = lambda: False,
) -> EngineReport:
    """Minimise the integer program `draft` by an engine, until the engine ends or `is_settled` returns True.

    `take` receives each solution's columns, and returns True to end the search. If the engine fails, its last report
    counts.
    """
    said = EngineReport()
    module = "memplan.extensions.recompute.engines"
    with ChildProcess(module, lambda: control.is_over or is_settled()) as child:
        child.give(Task(engine, draft, control.deadline.at, control.counted_s))
        while True:
            try:
                word, *content = child.answer()
            except (EOFError, ValueError, TypeError):
                # An engine that fails or is killed has already sent valid reports, so return the last report.
                return said
            if word == "bound":
                said = EngineReport(int(content[0]))
            elif word == "found":
                if take(content[0].tolist()):
                    return said
            else:
                return EngineReport(said.bound, word == "none", word in ("none", "least"))


def _run_highs(task: Task, parent: Parent) -> None:
    """Minimise a task's integer program with HiGHS, and send solutions, bounds and the status to its parent."""

    def send_solution(values: F64) -> None:
        parent.send(["found", np.rint(values).astype(np.int64)])

    program = task.draft.finish(1)
    if task.counted_s is None:
        effort = EngineEffort(task.remaining_s, None, _GAP, seed=0)
    else:
        effort = EngineEffort(None, max(1, int(_NODES_PER_S * task.counted_s)), _GAP, seed=0)
    outcome = solve_program(EngineRun(program, None, effort, send_solution, lambda _: None, lambda: False))
    if outcome.bound > -inf:
        parent.send(["bound", max(0, ceil(outcome.bound - _ROUNDING))])
    parent.send([{"infeasible": "none", "optimal": "least", "open": "open"}[outcome.status]])


def _run_cp_sat(task: Task, parent: Parent) -> None:
    """Minimise a task's integer program with CP-SAT, and send solutions, bounds and the status to its parent."""
    from ortools.sat.python import cp_model

    draft, model = task.draft, cp_model.CpModel()
    columns = [model.new_int_var(low, high, "") for low, high in zip(draft.lower, draft.upper, strict=True)]
    for row in draft.rows:
        of_row = cp_model.LinearExpr.weighted_sum([columns[at] for at, _ in row.entries], [c for _, c in row.entries])
        if row.at_least is not None:
            model.add(of_row >= row.at_least)
        if row.at_most is not None:
            model.add(of_row <= row.at_most)
    assert draft.objective is not None
    model.minimize(columns[draft.objective])

    class Reporter(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]  # OR-Tools has no type annotations.
        """The callback through which CP-SAT reports each new solution."""

        def on_solution_callback(self) -> None:
            parent.send(["found", np.array([self.value(column) for column in columns], dtype=np.int64)])

    def send_bound(bound: float) -> None:
        parent.send(["bound", max(0, ceil(bound - _ROUNDING))])

    solver = cp_model.CpSolver()
    # One worker with all rows in the linear program was measured to be ten times as fast as several workers.
    solver.parameters.num_workers = 1
    solver.parameters.linearization_level = 2
    if task.counted_s is None:
        solver.parameters.max_time_in_seconds = task.remaining_s
        solver.best_bound_callback = send_bound
    else:
        solver.parameters.max_deterministic_time = _UNITS_PER_S * task.counted_s
    status = solver.solve(model, Reporter())
    if status in (cp_model.OPTIMAL, cp_model.FEASIBLE, cp_model.UNKNOWN):
        send_bound(solver.best_objective_bound)
    parent.send([{cp_model.INFEASIBLE: "none", cp_model.OPTIMAL: "least"}.get(status, "open")])


def main() -> None:
    """Run the child process: receive an integer program, minimise it, and send each result to the parent at once."""
    parent = Parent()
    task: Any = parent.task
    (_run_highs if task.engine == "highs" else _run_cp_sat)(task, parent)


if __name__ == "__main__":
    main()
