"""A pool of child processes, each for one task at a time: killed at its deadline or its memory, and replaced."""

from __future__ import annotations

import logging
import pickle
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from memplan.api.refusals import NotInTimeError, UnavailableError
from memplan.api.settings import Settings
from memplan.api.workers.child import LOG_FORMAT
from memplan.api.workers.task import LostWorkersError, Task, TooMuchMemoryError
from memplan.planner import errors
from memplan.solvers.processes.child import ChildProcess

_MODULE = "memplan.api.workers.child"
_CANCEL_S = 3.0
"""The time that a task has to answer once it is cancelled; then its child is killed."""
_PART_OF_MEMORY = 0.9
_STDERR = 2
_LOG = logging.getLogger("memplan")


class ChildPool:
    """Up to `most` children, started when there is a task for them, or ahead. For any threads.

    `on_loss` is called for each that ends by itself in a task.
    """

    def __init__(self, most: int, settings: Settings, on_loss: Callable[[], None] = lambda: None) -> None:
        self._most, self._on_loss = most, on_loss
        self.most_bytes = settings.worker_memory_bytes or int(
            _PART_OF_MEMORY * machine_memory() / max(1, settings.solves)
        )
        self._environment = {LOG_FORMAT: settings.log_format}
        self._changed = threading.Condition()
        self._idle: list[ChildProcess] = []
        self._all: set[ChildProcess] = set()
        self._starting = self._waiting = 0
        self._unready: set[ChildProcess] = set()
        self._is_closed = False

    @property
    def count(self) -> int:
        """The number of children that there are, or will be in a moment."""
        return len(self._all) + self._starting

    def n_ready(self) -> int:
        """Return how many children wait for a task; where that is none, one is started, if there may be one more."""
        self._replace(self._waiting + 1)
        return len(self._idle)

    def warm(self) -> None:
        """Start a child ahead, and return once it is ready."""
        self._start()

    def close(self) -> None:
        """End all children; what runs ends without an answer."""
        with self._changed:
            self._is_closed = True
            idle, self._idle = self._idle, []
            others, self._all = (self._all | self._unready) - set(idle), set()
            self._changed.notify_all()
        for child in others:  # the thread that hears it closes it
            child.kill()
        for child in idle:
            child.close()

    def run(
        self,
        task: Task,
        report: Callable[[list[Any], Any], None] | None = None,
        cancelled: threading.Event | None = None,
    ) -> Any:
        """Have a child do a task, and return its answer; raises what it raises, here in the calling thread.

        `report` gets what is new several times a second, with the best result so far, where there is a new one. Raises
        NotInTimeError where there is no answer in time, UnavailableError where there is none when it is cancelled,
        TooMuchMemoryError, and LostWorkersError where the child ended.
        """
        cancelled = cancelled or threading.Event()
        child = self._take(task, cancelled)
        call = _Call(child, task, cancelled, report)
        is_well = False
        try:
            outcome = call.outcome(self.most_bytes)
            is_well = True
        except LostWorkersError:
            self._on_loss()
            raise
        finally:
            child.limit()
            # A child that was killed may have noted an answer before, and is not seen to have ended at once.
            self._leave(child, is_well and child.stopped_by is None)
        if isinstance(outcome, errors.MemplanError):
            raise outcome
        return outcome

    def _take(self, task: Task, cancelled: threading.Event) -> ChildProcess:
        """Return a child that is ready, as soon as there is one."""
        with self._changed:
            self._waiting += 1
            try:
                return self._taken(task, cancelled)
            finally:
                self._waiting -= 1

    def _taken(self, task: Task, cancelled: threading.Event) -> ChildProcess:
        """Wait for a child; the lock is held."""
        while not self._is_closed:
            while self._idle:
                if not (child := self._idle.pop()).has_ended():
                    return child
                self._all.discard(child)
                child.close()
            self._replace(self._waiting)
            left_s = task.deadline.left_s + task.grace_s
            if left_s <= 0:
                raise NotInTimeError(f"{task.what}: no answer came within its time limit")
            if cancelled.is_set():
                break
            self._changed.wait(min(left_s, 0.1))
        raise UnavailableError(f"{task.what}: was cancelled before there was an answer")

    def _leave(self, child: ChildProcess, is_well: bool) -> None:
        with self._changed:
            is_kept = is_well and not self._is_closed
            if is_kept:
                self._idle.append(child)
            else:
                self._all.discard(child)
            self._changed.notify()
        if not is_kept:
            child.close()
            self._replace(self._waiting + 1)

    def _replace(self, wanted: int) -> None:
        """Start a child where fewer start than are wanted: its start takes longer than most tasks."""
        with self._changed:
            is_enough = self._starting >= wanted or len(self._all) + self._starting >= self._most
            if self._is_closed or self._idle or is_enough:
                return
            self._starting += 1
        threading.Thread(target=self._start_another, daemon=True).start()

    def _start_another(self) -> None:
        try:
            self._start()
        finally:
            with self._changed:
                self._starting -= 1
                self._changed.notify_all()

    def _start(self) -> None:
        child = ChildProcess(_MODULE, environment=self._environment, complaints=_STDERR)
        with self._changed:
            self._unready.add(child)
        is_ready = False
        try:
            if not self._is_closed:
                child.answer()
                is_ready = True
        except (EOFError, ValueError):
            if not self._is_closed:
                _LOG.error("a worker process did not start")
                time.sleep(1.0)
        with self._changed:
            self._unready.discard(child)
            if is_ready and not self._is_closed:
                self._all.add(child)
                self._idle.append(child)
                self._changed.notify()
                return
        child.close()


class _Call:
    """A task at a child."""

    def __init__(
        self,
        child: ChildProcess,
        task: Task,
        cancelled: threading.Event,
        report: Callable[[list[Any], Any], None] | None,
    ) -> None:
        self._child, self._task, self._cancelled, self._report = child, task, cancelled, report
        self._due = task.due()
        self._stops_at: float | None = None
        self._is_given = self._is_told = False

    def outcome(self, most_bytes: int) -> Any:
        """Give the task to the child, and return its answer, or the error that it says; raises where it is gone."""
        noted = None
        self._child.limit(self._is_over, most_bytes)
        self._child.give((replace(self._task, deadline=self._due), most_bytes))
        self._is_given = True
        try:
            while True:
                kind, value = self._child.answer()
                if kind == "failed":
                    return _error(*value)
                value = pickle.loads(value.data)
                if kind == "answer":
                    return value
                if kind == "noted":
                    noted = value
                elif self._report is not None:
                    self._report(*value)
        except (EOFError, ValueError):
            if noted is not None and self._child.stopped_by == "over":
                return noted
            raise self._reason() from None

    def _is_over(self) -> bool:
        """Tell the child once that it is cancelled; return True when it is to be killed."""
        if self._stops_at is None and self._cancelled.is_set():
            self._stops_at = time.monotonic() + _CANCEL_S
        if self._stops_at is not None and self._is_given and not self._is_told:
            self._is_told = True
            self._child.give(None)
        is_stopped = self._stops_at is not None and time.monotonic() > self._stops_at
        return is_stopped or self._due.left_s < -self._task.grace_s

    def _reason(self) -> errors.MemplanError:
        """Return why a child that is gone has no answer."""
        what, status = self._task.what, self._child.wait()
        if self._child.stopped_by == "memory":
            return TooMuchMemoryError()
        if self._cancelled.is_set():
            return UnavailableError(f"{what}: was cancelled before there was an answer")
        if self._child.stopped_by == "over":
            return NotInTimeError(f"{what}: no answer came within its time limit")
        return LostWorkersError(f"memplan: a worker ended with status {status}")


def _error(name: str, sentences: tuple[str, ...]) -> errors.MemplanError:
    """Return the error that a child told of, by its name."""
    kinds: list[type[errors.MemplanError]] = [errors.MemplanError]
    for kind in kinds:  # which grows meanwhile
        kinds += kind.__subclasses__()
    return next((kind for kind in kinds if kind.__name__ == name), errors.MemplanError)(*sentences)


def machine_memory() -> int:
    """Return the memory of this machine, or what its container may use."""
    import psutil

    total = int(psutil.virtual_memory().total)
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            with open(path) as file:  # noqa: PTH123 - a file of the kernel
                total = min(total, int(file.read()))
        except (OSError, ValueError):
            continue
    return total
