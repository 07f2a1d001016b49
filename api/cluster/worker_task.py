"""What happens in a worker: one task is solved, and while it is, others ask how far it is or tell it to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from memplan.api.cluster.serialization import pack, unpack
from memplan.api.cluster.task import Task
from memplan.planner.errors import InputError, InvalidPlanError
from memplan.solvers.portfolio.options import SolveControl
from memplan.solvers.portfolio.solve import solve_request
from memplan.solvers.search.result import Progress, SolveResult

ALARM_S, _ALARM_S_A_BUFFER = 4.0, 2e-5
"""How long after its limit, or after it was told to stop, a process of its own is ended by the system."""
_PROGRESS_KEPT = 100
_FRAMES_LOGGED = 12
_LOG = logging.getLogger("memplan")


@dataclass(frozen=True)
class Refusal:
    """Why there is no plan: an error of the caller's, or (None) of the program's, in a shape that travels whole."""

    kind: type[InputError] | type[InvalidPlanError] | None
    sentences: tuple[str, ...]


@dataclass(eq=False)
class Run:
    """A task that is being solved here: what others may do with it meanwhile."""

    alarm_s: float = ALARM_S
    cancelled: threading.Event = field(default_factory=threading.Event)
    so_far: Callable[[], SolveResult | None] = lambda: None
    latest: Progress | None = None
    progress: deque[Progress] = field(default_factory=lambda: deque(maxlen=_PROGRESS_KEPT))

    def watch(self, so_far: Callable[[], SolveResult | None]) -> None:
        """Keep the function that returns the best result so far."""
        self.so_far = so_far

    def note(self, progress: Progress) -> None:
        """Keep what has become better, until somebody asks."""
        self.progress.append(progress)
        self.latest = progress

    def told(self, with_plan: bool) -> tuple[Progress, ...]:
        """Return the progress since the last call; with the best plan, where that is a new one."""
        told = []
        while self.progress:
            told.append(self.progress.popleft())
        latest, found = self.latest, None
        if with_plan and latest is not None:
            self.latest = None
            found = self.so_far()
        if latest is not None and found is not None:
            told[-1:] = [replace(told[-1] if told else latest, found=found)]
        return tuple(told)


_runs: dict[str, Run] = {}
_is_alone = False


def own_this_process() -> None:
    """Say that this process exists for one task at a time, and may be ended with it."""
    global _is_alone
    _is_alone = True


def perform(name: str, sent: bytes) -> bytes:
    """Solve a packed task under a name that nobody else has; return the result, or the refusal, packed."""
    run = _runs[name] = Run()
    try:
        task: Task = unpack(sent)
        run.alarm_s = ALARM_S + _ALARM_S_A_BUFFER * len(task.problem.buffers)
        _set_alarm(max(0.0, task.deadline.left_s) + run.alarm_s)
        control = SolveControl(task.deadline, run.cancelled, run.note, run.watch, task.start)
        outcome: SolveResult | Refusal = solve_request(task.problem, task.options, control)
    except InputError as error:
        outcome = Refusal(type(error), error.sentences)
    except InvalidPlanError as error:
        outcome = Refusal(InvalidPlanError, (str(error),))
    except Exception as error:  # noqa: BLE001 - the border of the worker: whoever asked must hear of it
        frames = "".join(traceback.format_tb(error.__traceback__)[-_FRAMES_LOGGED:])
        _LOG.error("%s in a worker\n%s", type(error).__name__, frames)
        outcome = Refusal(None, (f"memplan: {type(error).__name__} in a worker; its log says where",))
    finally:
        _set_alarm(0.0)
        del _runs[name]
    return pack(outcome)


def _set_alarm(seconds: float) -> None:
    """Have the system end this process after so many seconds (0: not at all), whatever it is doing then."""
    if _is_alone:  # nobody handles SIGALRM, so it needs no interpreter, which a search may be holding
        signal.setitimer(signal.ITIMER_REAL, seconds)


async def follow(wanted: Mapping[str, bool]) -> bytes:
    """Return, packed, the progress of each task by name that runs here; True: with the best plan, if that is new."""
    here = [(name, with_plan, _runs[name]) for name, with_plan in wanted.items() if name in _runs]
    # In a thread, so that a worker gives signs of life while it makes a large plan.
    return await asyncio.to_thread(lambda: pack({name: run.told(with_plan) for name, with_plan, run in here}))


def stop(names: tuple[str, ...]) -> None:
    """End the tasks of these names, where they run here; each still answers with the best plan so far."""
    for name in names:
        if name in _runs:
            _runs[name].cancelled.set()
            _set_alarm(_runs[name].alarm_s)
