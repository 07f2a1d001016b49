"""Running a solver in a separate process, which is killed at the end of the search.

The deadline wants it (CP-SAT's presolve overruns), and OR-Tools and highspy cannot be loaded into one process. The
parent sends one task; the child sends each result at once, so that results count even if it is killed.
"""

from __future__ import annotations

import time
import traceback
from dataclasses import dataclass, field
from typing import Any

from memplan.planner.instance.instance import Instance
from memplan.planner.instance.objective import Score
from memplan.planner.model.buffer_table import I64
from memplan.solvers.portfolio.registry import SolverRow
from memplan.solvers.processes.child import ChildProcess
from memplan.solvers.processes.folders import make_temporary_folder
from memplan.solvers.processes.parent import Parent
from memplan.solvers.search.incumbent import Search
from memplan.solvers.search.result import Assignment

_WORDS = [(word,) for word in ("offer", "offer_bound", "claim_infeasible", "run_out_of_time", "log", "failed", "done")]
"""The first words of a child's messages: calls of Search to make here, and its end."""


class EngineError(Exception):
    """A solver's process failed; the message is its error."""


def run_isolated(row: SolverRow, instance: Instance, search: Search) -> None:
    """Run a registered solver in a child process until it returns or the search is over; raises EngineError."""
    # An engine that is killed cannot remove its files: it gets a folder for them, which is removed here. Only CBC has
    # files, so where there is no place for a folder, the others work all the same.
    try:
        folder = make_temporary_folder()
    except OSError:
        _run_with({}, row, instance, search)
        return
    with folder as name:
        _run_with({"TMPDIR": name}, row, instance, search)


def _run_with(environment: dict[str, str], row: SolverRow, instance: Instance, search: Search) -> None:
    deadline = time.monotonic() + search.remaining_s
    task = EngineTask(
        row, instance, deadline, search.seed, search.deterministic, search.work_limit, search.best, search.bound
    )
    module = "memplan.solvers.portfolio.subprocess_solver"
    with ChildProcess(module, lambda: search.is_over, environment=environment) as child:
        child.give(task)
        while True:
            try:
                word, *content = _next_message(child)
            except EngineError as error:
                if search.is_over:  # it was killed
                    return
                raise EngineError(f"{row.name}: {error}") from error
            if word == "failed":
                raise EngineError(f"{row.name}: {content[0]}")
            if word == "done":
                return
            getattr(search, word)(*content)
            if search.is_over:
                return


def _next_message(child: ChildProcess) -> tuple[Any, ...]:
    """Return the child's next message; raises EngineError if it ended or sent something else."""
    try:
        message = child.answer()
    except EOFError:
        raise EngineError(f"its process ended early, with status {child.wait()}") from None
    except (ValueError, TypeError) as error:
        raise EngineError(f"its answers cannot be read: {error}") from error
    if not isinstance(message, tuple) or message[:1] not in _WORDS:
        raise EngineError(f"its answers cannot be read: {message!r:.60}")
    return message


@dataclass(frozen=True, eq=False)
class EngineTask:
    """The parent's message: the initial state of the child's Search."""

    row: SolverRow
    instance: Instance
    deadline: float
    seed: int
    deterministic: bool
    work_limit: int
    best: Assignment | None
    bound: Score


@dataclass(eq=False)
class Remote(Search):
    """The search as seen by a solver in a child process; results go to the parent."""

    parent: Parent = field(kw_only=True)

    def offer(self, pool: I64, offset: I64, by: str) -> bool:
        """Send an assignment to the parent if it is better than the best known here."""
        is_better = super().offer(pool, offset, by)
        if is_better:
            self.parent.send(["offer", pool, offset, by])
        return is_better

    def offer_bound(self, bound: Score, by: str) -> None:
        """Send a bound to the parent, which may need it confirmed by another engine."""
        self.parent.send(["offer_bound", bound, by])

    def claim_infeasible(self, by: str) -> None:
        """Send the claim to the parent."""
        self.parent.send(["claim_infeasible", by])

    def run_out_of_time(self) -> None:
        """Report to the parent that the solver ran out of time."""
        self.parent.send(["run_out_of_time"])

    def log(self, line: str) -> None:
        """Send a line to the parent."""
        self.parent.send(["log", line])


def main() -> None:
    """Run the child: solve its task, and send results as they are found."""
    parent = Parent()
    task: EngineTask = parent.task
    search = Remote(
        task.instance,
        task.deadline,
        task.seed,
        task.deterministic,
        task.work_limit,
        best=task.best,
        parent=parent,
    )
    search.proof = search.proof._replace(score=task.bound)
    try:
        task.row.function(task.instance, search)
    except Exception:  # noqa: BLE001 - the parent raises it again
        parent.send(["failed", traceback.format_exc(limit=-3)])
    else:
        parent.send(["done"])


if __name__ == "__main__":
    main()
