"""Solvers in child processes, which are killed at the end of the search.

Without a child process, CP-SAT's presolve could exceed the deadline. Also, OR-Tools and highspy cannot be loaded into
the same process. The parent sends one task. The child sends each result at once, so that results count even if it is
killed.
"""

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
"""The first words of a child's messages: methods of Search that the parent calls, and the end of the child."""


class EngineError(Exception):
    """The error raised if a solver fails in its child process, with the message of the solver's own error."""


def run_isolated(row: SolverRow, instance: Instance, search: Search) -> None:
    """Run a solver in a child process until it returns or the search is over; raises EngineError if it fails."""
    # A killed engine cannot remove its files, so this process removes the folder with them.
    # Only CBC needs a folder for files, so if the disk is full, run other engines without a folder.
    try:
        folder = make_temporary_folder()
    except OSError:
        _run_in_child({}, row, instance, search)
        return
    with folder as name:
        _run_in_child({"TMPDIR": name}, row, instance, search)


def _run_in_child(environment: dict[str, str], row: SolverRow, instance: Instance, search: Search) -> None:
    """Run a solver in a child process with the given environment variables, and apply its messages to the search."""
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
                if search.is_over:  # The end of a search kills its child process, which is no failure.
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
    """Return the child's next message; raises EngineError if the child has ended or the message is invalid."""
    try:
        message = child.answer()
    except EOFError:
        raise EngineError(f"the solver's process ended early, with status {child.wait()}") from None
    except (ValueError, TypeError) as error:
        raise EngineError(f"the solver's messages cannot be read: {error}") from error
    if not isinstance(message, tuple) or message[:1] not in _WORDS:
        raise EngineError(f"the solver's messages cannot be read: {message!r:.60}")
    return message


@dataclass(frozen=True, eq=False)
class EngineTask:
    """The task that the parent sends to the child: a solver, an instance, and the state of the search so far."""

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
    """The state of a search as seen by a solver in a child process, which sends all its results to the parent."""

    parent: Parent = field(kw_only=True)

    def offer(self, pool: I64, offset: I64, by: str) -> bool:
        """Send an assignment to the parent if it is better than the best one known in this process."""
        is_better = super().offer(pool, offset, by)
        if is_better:
            self.parent.send(["offer", pool, offset, by])
        return is_better

    def offer_bound(self, bound: Score, by: str) -> None:
        """Send a lower bound to the parent, which may require another engine to confirm it."""
        self.parent.send(["offer_bound", bound, by])

    def claim_infeasible(self, by: str) -> None:
        """Send the claim that the problem is infeasible to the parent."""
        self.parent.send(["claim_infeasible", by])

    def run_out_of_time(self) -> None:
        """Report to the parent that the solver's own time is over."""
        self.parent.send(["run_out_of_time"])

    def log(self, line: str) -> None:
        """Send a line of the log to the parent."""
        self.parent.send(["log", line])


def main() -> None:
    """Run the child process: solve the parent's task, and send each result as soon as it is found."""
    parent = Parent()
    task: EngineTask = parent.task
    search = Remote(
        task.instance, task.deadline, task.seed, task.deterministic, task.work_limit, best=task.best, parent=parent
    )
    search.proof = search.proof._replace(score=task.bound)
    try:
        task.row.function(task.instance, search)
    except Exception:  # noqa: BLE001 - the parent process raises the error again
        parent.send(["failed", traceback.format_exc(limit=-3)])
    else:
        parent.send(["done"])


if __name__ == "__main__":
    main()
