"""The tasks of child processes, their answers, and the errors of children."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memplan.api.faults import Fault, is_fault
from memplan.planner.errors import InputError, MemplanError
from memplan.solvers.search.control import Control, Deadline, ignore_report


class LostWorkersError(MemplanError):
    """A child ended in the middle of its task, and so did its predecessors."""


class TooMuchMemoryError(InputError):
    """A request needs more memory than a child process has."""

    def __init__(self, *sentences: str) -> None:
        super().__init__(*(sentences or ("memplan: must be answered with the memory of one worker, and needs more",)))


@dataclass(frozen=True, slots=True, eq=False)
class TaskControl(Control):
    """The control of a task in a child process.

    watch: is called with a function that returns the best result so far, in any thread, to go along with reports.
    """

    watch: Callable[[Callable[[], Any]], object] = ignore_report


@dataclass(frozen=True, eq=False)
class Task:
    """Work for a child process: a function of a module, called with its control and `arguments`.

    what: the kind of request, as messages name it.
    deadline: when the answer is due.
    limit_s: where given, the time counts from when a child begins, and ends at the deadline at the latest.
    grace_s: how much later the answer may come; then the child is killed.
    is_search: it has an answer at any time, and gives the best so far when it is to end.
    is_large: it takes much memory, which its child keeps; another child does what follows.
    """

    run: Callable[..., Any]
    arguments: tuple[Any, ...]
    what: str
    deadline: Deadline
    limit_s: float | None = None
    grace_s: float = 0.25
    is_search: bool = False
    is_large: bool = False

    def deadline_now(self) -> Deadline:
        """Return the deadline of the answer for a child that begins now."""
        return (
            self.deadline if self.limit_s is None else Deadline.from_limit(min(self.limit_s, self.deadline.remaining_s))
        )


def apply_function(_control: Control, function: Callable[..., Any], *given: Any) -> Any:
    """Return the result of a function without a control for given arguments, in a child."""
    return function(*given)


def error_report(error: Exception) -> tuple[str, list[Any]]:
    """Return the name and sentences of an error for the parent, with remedies; of a fault, only the public part."""
    if isinstance(error, MemoryError):
        error = TooMuchMemoryError()
    if is_fault(error):
        return "fault", [*Fault.from_error(error)]
    return "failed", [
        type(error).__name__,
        [*error.rules_with_ways(str)] if isinstance(error, InputError) else [(str(error), None)],
    ]
