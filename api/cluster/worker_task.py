"""The work of a worker: it does one task, tells its server how far it is, and stops when it is told to."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from memplan.api.abandoning import run_in_thread
from memplan.api.cluster import dask
from memplan.api.cluster.serialization import pack, unpack
from memplan.api.cluster.task import (
    NoAnswerError,
    Task,
    TooMuchMemoryError,
    WorkAnswer,
    WorkFailedError,
    WorkTask,
)
from memplan.planner.errors import MemplanError
from memplan.solvers.portfolio.one_search import Solve
from memplan.solvers.search.control import Control
from memplan.solvers.search.result import SolveResult

ALARM_S, _ALARM_S_A_CARRY_S = 4.0, 5.0
"""The seconds after its limit, or after it was told to stop, when the system ends a process of its own."""
_ENDING_S, _ENDED_CPU_S, _ENDED_S = 0.15, 0.3, 0.5
"""Work is abandoned a little before its grace is over. Its process is ended where it takes so much CPU then, and lets
no answer out; else so many seconds after the answer."""
_PROCESSORS = os.cpu_count() or 1
_TELL_EVERY_S, _PLAN_EVERY_S, _SPARE_PLAN_EVERY_S = 0.25, 1.0, 5.0
_PROGRESS_KEPT = 100
TOO_HEAVY = b"m"
"""What is told of a task that ends its worker by its memory; progress is packed, and begins otherwise."""
_FRAMES_LOGGED = 12
_LOG = logging.getLogger("memplan")


@dataclass(eq=False)
class RunningTask:
    """A task that is being done here, and the progress that its server has not been told yet."""

    task: Task | WorkTask
    cancelled: threading.Event = field(default_factory=threading.Event)
    is_done: threading.Event = field(default_factory=threading.Event)
    so_far: Callable[[], SolveResult | None] = lambda: None
    tell: Callable[[bytes], None] = lambda _: None
    latest: Any = None
    progress: deque[Any] = field(default_factory=lambda: deque(maxlen=_PROGRESS_KEPT))
    has_abandoned: bool = False
    end_at: float = 0.0
    """When work that goes on is abandoned, by time.monotonic(); its process is then ended."""

    def end_within(self, seconds: float) -> None:
        """Let the task end so many seconds from now, and soon after: by itself, else ended, else with its process."""
        carry_s, task = self.task.carry_s, self.task
        if isinstance(task, WorkTask):
            self.end_at = time.monotonic() + seconds + task.grace_s - _ENDING_S
            # Of CPU, for what lets no other thread run: on a busy machine that says nothing of the time that passes.
            _set_alarm(_PROCESSORS * seconds + task.grace_s + _ENDED_CPU_S, signal.ITIMER_PROF)
            seconds += task.grace_s
        _set_alarm(seconds + ALARM_S + _ALARM_S_A_CARRY_S * carry_s)

    def answer(self) -> SolveResult | WorkAnswer:
        """Do the task; raises MemplanError."""
        task = self.task
        deadline = task.due()
        self.end_within(max(0.0, deadline.left_s))
        if isinstance(task, WorkTask):
            noted: list[WorkAnswer] = []
            control = Control(deadline, self.cancelled, self.progress.append, note=noted.append)
            try:
                answer = run_in_thread(partial(task.run, task, control), left_s=lambda: self.end_at - time.monotonic())
            except TimeoutError:
                self.has_abandoned = True
                if not noted:
                    raise NoAnswerError(f"{task.kind}: no answer came within its time limit") from None
                answer = noted[-1]
            return replace(answer, told=self.told(with_plan=False))
        control = Control(deadline, self.cancelled, self.progress.append)
        solving = Solve(task.problem, task.options, control, start=task.start)
        self.so_far = solving.so_far
        return solving.finish()

    def report(self) -> None:
        """Tell that it has begun, with no content, and then its progress, until it is done; for a thread of its own."""
        self.tell(b"")
        every_s = max(_PLAN_EVERY_S if self.task.wants_plans else _SPARE_PLAN_EVERY_S, 20 * self.task.carry_s)
        plan_at = time.monotonic() + _PLAN_EVERY_S
        while not self.is_done.wait(_TELL_EVERY_S):
            with_plan = time.monotonic() >= plan_at
            if told := self.told(with_plan):
                plan_at = time.monotonic() + every_s if with_plan else plan_at
                self.tell(pack(told))

    def told(self, with_plan: bool) -> tuple[Any, ...]:
        """Return the progress since the last call; with the best plan, where that is a new one."""
        told = [self.progress.popleft() for _ in range(len(self.progress))]
        self.latest = told[-1] if told else self.latest
        if with_plan and self.latest is not None:
            found, latest, self.latest = self.so_far(), self.latest, None
            if found is not None:
                told[-1:] = [replace(latest, found=found)]
        return tuple(told)


_running: dict[str, RunningTask] = {}
_is_alone = False


def own_this_process() -> None:
    """Let the system end this process, which exists for one task at a time, when a task overruns."""
    global _is_alone
    _is_alone = True


def perform(key: str, topic: str, sent: bytes) -> bytes:
    """Do a packed task of a unique key, and tell its progress to a topic; return the result, packed.

    Raises MemplanError, which Dask brings to the server.
    """
    try:
        running = _running[key] = RunningTask(unpack(sent), tell=dask.teller(topic, key))
        threading.Thread(target=running.report, daemon=True).start()
        return pack(running.answer())
    except MemplanError:
        raise
    except MemoryError:
        raise TooMuchMemoryError from None
    except Exception as error:  # noqa: BLE001 - the border of the worker: its log says where, without the message
        frames = "".join(traceback.format_tb(error.__traceback__)[-_FRAMES_LOGGED:])
        _LOG.error("%s in a worker\n%s", type(error).__name__, frames)
        raise WorkFailedError(f"memplan: {type(error).__name__} in a worker; its log says where") from None
    finally:
        ended = _running.pop(key, None)
        if ended is not None:
            ended.is_done.set()
        has_abandoned = ended is not None and ended.has_abandoned
        _set_alarm(0.0, signal.ITIMER_PROF)
        _set_alarm(_ENDED_S if has_abandoned else 0.0)


def _set_alarm(seconds: float, clock: int = signal.ITIMER_REAL) -> None:
    """Have the system end this process after so many seconds (0: not at all), whatever it is doing then."""
    if _is_alone:  # these signals have no handlers, so they need no interpreter, which a search may be holding
        signal.setitimer(clock, seconds)


def tell_too_heavy() -> None:
    """Tell that what runs here is about to be ended by its memory, so that it ends no other worker."""
    for running in list(_running.values()):
        running.tell(TOO_HEAVY)


def stop(key: str) -> None:
    """End a task where it runs here; it still answers with the best plan so far."""
    if (running := _running.get(key)) is not None:
        running.cancelled.set()
        running.end_within(0.0)
