"""A pool of child processes, one task each. A child that exceeds its deadline or memory is killed and replaced."""

import logging
import pickle
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any

from memplan.api.faults import Fault, FaultError, Faults
from memplan.api.logs import JOB, REFUSALS, REQUEST
from memplan.api.refusals import NotInTimeError, UnavailableError
from memplan.api.settings import Settings
from memplan.api.store.job import WorkAnswer
from memplan.api.workers.task import LostWorkersError, Task, TooMuchMemoryError
from memplan.api.workers.template import ForkedChild, Template
from memplan.planner import errors
from memplan.solvers.processes.child import reading_memory
from memplan.solvers.processes.folders import remove_leftover_folders

_CANCEL_S = 3.0
"""The seconds that a cancelled task has to answer before its child process is killed."""
_END_S = 0.15
"""The shorter time, in seconds, for a cancelled task whose interim answer can serve as its answer."""
_NICE_FROM_S = 10.0
"""The seconds of a task from which its child lowers its priority; a shorter task could not wait for others."""
_MOST_FORKS = 3
"""The new children that may end at once before a task is refused; a fault in each would be forked without end."""
_PART_OF_MEMORY = 0.9
_LOG = logging.getLogger("memplan")


class ChildPool:
    """Child processes for any number of simultaneous tasks, forked from one template process; thread-safe.

    `on_loss` is called for each child that dies during a task; internal faults in tasks are recorded in `faults`.
    """

    def __init__(
        self, settings: Settings, on_loss: Callable[[], None] = lambda: None, faults: Faults | None = None
    ) -> None:
        """Decide the memory of each child (by default, a share of the machine's), and remove leftover folders."""
        self._on_loss, self.faults = on_loss, faults or Faults()
        self.most_bytes = settings.worker_memory_bytes or int(
            _PART_OF_MEMORY * machine_memory() / max(1, settings.solves)
        )
        self._niceness = settings.niceness
        remove_leftover_folders()
        self._template = Template()
        self._changing = threading.Lock()
        self._idle: list[ForkedChild] = []
        self._all: set[ForkedChild] = set()
        self._is_closed = False

    @property
    def count(self) -> int:
        """The number of child processes."""
        return len(self._all)

    def warm_up(self) -> bool:
        """Start the template and a child process in advance, unless a child is idle; return False if that fails."""
        try:
            self._return_child(self._take_child("memplan"), is_well=True)
        except UnavailableError as error:
            _LOG.error("%s", error)
            return False
        return True

    def close(self) -> None:
        """End all child processes; running tasks end without an answer."""
        with self._changing:
            self._is_closed = True
            idle, self._idle = self._idle, []
            others, self._all = self._all - set(idle), set()
        self._template.close()  # First, as all other steps could wait for a template that does not answer.
        for child in others:  # The thread that awaits a busy child's answer closes the child, so only kill it.
            child.kill()
        for child in idle:
            child.close()

    def run(
        self,
        task: Task,
        report: Callable[[list[Any], Any], None] | None = None,
        cancelled: threading.Event | None = None,
        is_short: threading.Event | None = None,
        noted: Callable[[], None] = lambda: None,
    ) -> Any:
        """Return the answer of a task that a child process runs; its errors are raised in the calling thread.

        `report` receives new progress several times a second, and the best result if it is new. `noted` is called at
        the first interim answer. Once `is_short` is set, the task ends with its best answer as soon as it has one.
        Raises NotInTimeError if no answer arrives in time, UnavailableError if the task is cancelled before an answer
        or no child starts, TooMuchMemoryError, and LostWorkersError if the child died.
        """
        child = self._take_child(task.what)
        ends = cancelled or threading.Event(), is_short or threading.Event()
        call, is_well = _Call(child, task, *ends, report, noted, self.faults), False
        try:
            outcome = call.outcome(self.most_bytes, self._niceness)
            is_well = True
        except LostWorkersError:
            self._on_loss()
            raise
        finally:
            child.limit()
            # A child cannot raise its lowered priority, and a killed child may still answer, so reuse no such child.
            is_last = call.is_nice or task.is_large or task.file_bytes is not None
            self._return_child(child, is_well and child.stopped_by is None and not is_last)
        if isinstance(outcome, errors.MemplanError):
            raise outcome
        return outcome

    def _take_child(self, what: str) -> ForkedChild:
        """Return an idle or a new child; raises UnavailableError if no child starts or the pool is closed."""
        n_forks = 0
        while not self._is_closed and n_forks < _MOST_FORKS:
            with self._changing:
                child = self._idle.pop() if self._idle else None
            try:
                if child is None:
                    n_forks += 1
                    child = self._template.fork()
            except EOFError:
                raise UnavailableError(f"{what}: a worker process did not start") from None
            with self._changing:
                self._all.add(child)
            if not child.has_ended():
                return child
            self._return_child(child, is_well=False)
        if n_forks == _MOST_FORKS:
            raise UnavailableError(f"{what}: {n_forks} worker processes ended as soon as they were started")
        raise UnavailableError(f"{what}: the request was cancelled before there was an answer")

    def _return_child(self, child: ForkedChild, is_well: bool) -> None:
        with self._changing:
            is_kept = is_well and not self._is_closed
            if is_kept:
                self._idle.append(child)
            else:
                self._all.discard(child)
        if not is_kept:
            threading.Thread(target=child.close).start()  # An answer need not wait until its child has ended.


@dataclass(eq=False)
class _Call:
    """The run of one task in a child process, from sending the task until its answer or loss."""

    _child: ForkedChild
    _task: Task
    _cancelled: threading.Event
    _is_short: threading.Event
    _report: Callable[[list[Any], Any], None] | None
    _note: Callable[[], None]
    _faults: Faults
    _noted: Any = None
    _stops_at: float | None = None
    _is_given: bool = False
    _is_told: bool = False
    is_nice: bool = False

    def __post_init__(self) -> None:
        """Set the deadline and the memory limit; `outcome` then sends the task to the child."""
        count = self._task.file_bytes
        self._due, self._file_memory = self._task.deadline_now(), None if count is None else reading_memory(count)

    def outcome(self, most_bytes: int, niceness: int) -> Any:
        """Send the task to the child, and return its answer; raises an error if the child dies or is killed."""
        self._child.limit(self._is_over, self._file_memory or most_bytes)
        self.is_nice = niceness > 0 and self._due.remaining_s >= _NICE_FROM_S
        ids = REQUEST.get(), JOB.get()
        self._child.give((self._task, self._due, most_bytes, niceness if self.is_nice else 0, ids))
        self._is_given = True
        try:
            while True:
                kind, value = self._child.answer()
                if kind == "failed":
                    return _reported_error(*value)
                if kind == "fault":
                    error = self._faults.note(FaultError(Fault(*value)), self._task.what)
                    return error if self._noted is None else self._noted  # The verified interim answer stays valid.
                if kind == "refused":
                    REFUSALS.count(value)
                    continue
                data = value.tobytes()
                found: Any = WorkAnswer.unpack(data) if self._file_memory else pickle.loads(data)
                if kind == "answer":
                    return found
                if kind == "noted":
                    if self._noted is None:
                        self._note()
                    self._noted = found
                elif self._report is not None:
                    self._report(*found)
        except (EOFError, ValueError) as error:
            if isinstance(error, ValueError):  # The message was malformed, so the child may still run.
                self._child.kill()
            if self._noted is not None and self._child.stopped_by == "over":
                return self._noted
            raise self._loss_error() from None

    def _is_over(self) -> bool:
        """Return True if the child's time is over, so it must be killed; first tell it once to end early, if due."""
        now = time.monotonic()
        if self._stops_at is None and self._cancelled.is_set():
            self._stops_at = now + _CANCEL_S
        is_due = self._is_short.is_set() and (self._task.is_search or self._noted is not None)
        if (self._stops_at is not None or is_due) and self._is_given and not self._is_told:
            self._is_told = True
            self._child.give(not self._cancelled.is_set())
            if self._noted is not None:
                self._stops_at = now + _END_S
        return (self._stops_at is not None and now > self._stops_at) or self._due.remaining_s < -self._task.grace_s

    def _loss_error(self) -> errors.MemplanError:
        """Return the error that explains why a child ended without an answer: memory, cancellation, time or a crash."""
        what, status = self._task.what, self._child.wait()
        if self._child.stopped_by == "memory":
            if self._file_memory is None:
                return TooMuchMemoryError()
            return errors.FormatError(f"file: must be parsed within {self._file_memory} bytes of memory, got more")
        if self._cancelled.is_set():
            return UnavailableError(f"{what}: the request was cancelled before there was an answer")
        if self._child.stopped_by == "over":
            return NotInTimeError(f"{what}: no answer arrived within its time limit")
        if self._file_memory is not None:
            return errors.FormatError(f"file: cannot be read: its reader ended with status {status}")
        return LostWorkersError(f"memplan: a worker ended with status {status}")


def _reported_error(name: str, told: Sequence[tuple[str, str | None]]) -> errors.MemplanError:
    kinds: list[type[errors.MemplanError]] = [errors.MemplanError]
    for kind in kinds:  # The loop appends all subclasses of each class, so it visits the whole hierarchy.
        kinds += kind.__subclasses__()
    return next((kind for kind in kinds if kind.__name__ == name), errors.MemplanError)(*starmap(errors.add_way, told))


def machine_memory() -> int:
    """Return this machine's memory in bytes, or its container's memory limit if that is lower."""
    import psutil

    total = int(psutil.virtual_memory().total)
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path) as file:  # noqa: PTH123 - the kernel's file needs no Path
                total = min(total, int(file.read()))
        except (OSError, ValueError):
            continue
    return total
