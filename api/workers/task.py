"""Tasks of child processes, and the errors that child processes report."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from memplan.api.faults import Fault, is_fault
from memplan.planner.errors import InputError, MemplanError
from memplan.solvers.search.control import Control, Deadline, ignore_report


class LostWorkersError(MemplanError):
    """A child process died during its task, and so did each child that repeated the task."""


class TooMuchMemoryError(InputError):
    """A request needs more memory than a child process may use."""

    def __init__(self, *sentences: str) -> None:
        """Set the sentences, by default one about the memory of a worker."""
        super().__init__(*(sentences or ("memplan: must be answered within the memory of one worker, got more",)))


@dataclass(frozen=True, slots=True, eq=False)
class TaskControl(Control):
    """The control of a task in a child process, which can also report the task's best result.

    watch: a function to call once with `best()`, which returns the best result so far; reporting threads call `best`.
    is_cut: an event that is set before `cancelled` if the task is to end for other waiting tasks.
    """

    watch: Callable[[Callable[[], Any]], object] = ignore_report
    is_cut: threading.Event = field(default_factory=threading.Event)


@dataclass(frozen=True, eq=False)
class Task:
    """Work for a child process: a module-level function `run`, called with its control and `arguments`.

    what: the kind of request, as messages name it.
    deadline: the time at which the answer is due.
    limit_s: a time limit in seconds that counts from the start in a child; the deadline applies as well.
    grace_s: the seconds after the deadline until the child is killed.
    is_search: True if it can end early with the best answer so far at any time.
    is_large: True if it needs much memory, which its child would not release; a new child replaces it afterwards.
    file_bytes: the size of the file of another system that it reads; None without one. Such a file may crash its reader
    or take it over, so its child has no other task, writes no file, and sends a WorkAnswer but no pickle.
    """

    run: Callable[..., Any]
    arguments: tuple[Any, ...]
    what: str
    deadline: Deadline
    limit_s: float | None = None
    grace_s: float = 0.25
    is_search: bool = False
    is_large: bool = False
    file_bytes: int | None = None

    def deadline_now(self) -> Deadline:
        """Return the deadline of the answer if a child process starts the task now."""
        return (
            self.deadline if self.limit_s is None else Deadline.from_limit(min(self.limit_s, self.deadline.remaining_s))
        )


def apply_function(_control: Control, function: Callable[..., Any], *given: Any) -> Any:
    """Return `function(*given)`, so that a function without a control can be a task."""
    return function(*given)


def error_report(error: Exception) -> tuple[str, list[Any]]:
    """Return an error as a message to the parent: `failed` with its sentences, or `fault` with its public facts."""
    if isinstance(error, MemoryError):
        error = TooMuchMemoryError()
    if is_fault(error):
        return "fault", [*Fault.from_error(error)]
    return "failed", [
        type(error).__name__,
        [*error.rules_with_ways(str)] if isinstance(error, InputError) else [(str(error), None)],
    ]
