"""What happens in a worker: one task is solved, and while it is, others ask how far it is or tell it to stop."""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from memplan.api.cluster.serialization import pack, unpack
from memplan.api.cluster.task import News, Task
from memplan.planner.errors import InputError, InvalidPlanError
from memplan.planner.model.plan import Plan
from memplan.solvers.portfolio.solve import solve
from memplan.solvers.search.incumbent import Progress

ALARM_S, _ALARM_S_A_BUFFER = 4.0, 2e-5
"""How long after its limit, or after it was told to stop, a process of its own is ended by the system."""
_NEWS_KEPT = 100
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
    plan_so_far: Callable[[], Plan | None] = lambda: None
    latest: Progress | None = None
    progress: deque[Progress] = field(default_factory=lambda: deque(maxlen=_NEWS_KEPT))

    def watch(self, plan_so_far: Callable[[], Plan | None]) -> None:
        """Keep what returns the best plan so far."""
        self.plan_so_far = plan_so_far

    def note(self, progress: Progress) -> None:
        """Keep what has become better, until somebody asks."""
        self.progress.append(progress)
        self.latest = progress

    def news(self, with_plan: bool) -> tuple[News, ...]:
        """Return what became better since the last call; with the best plan, where that is a new one."""
        told = []
        while self.progress:
            told.append(_news(self.progress.popleft()))
        latest, plan = self.latest, None
        if with_plan and latest is not None:
            self.latest = None
            plan = self.plan_so_far()
        if latest is not None and plan is not None:
            told[-1:] = [replace(_news(latest) if not told else told[-1], plan=plan)]
        return tuple(told)


_runs: dict[str, Run] = {}
_is_alone = False


def own_this_process() -> None:
    """Say that this process exists for one task at a time, and may be ended with it."""
    global _is_alone
    _is_alone = True


def perform(name: str, sent: bytes) -> bytes:
    """Solve a packed task under a name that nobody else has; return the plan, or the refusal, packed."""
    run = _runs[name] = Run()
    try:
        task: Task = unpack(sent)
        run.alarm_s = ALARM_S + _ALARM_S_A_BUFFER * len(task.problem.buffers)
        _set_alarm(task.time_limit_s + run.alarm_s)
        outcome: Plan | Refusal = _solved(task, run)
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


def _solved(task: Task, run: Run) -> Plan:
    options = task.options
    return solve(
        task.problem,
        time_limit_s=options.time_limit_s,
        solver=options.solver,
        accept=options.accept,
        deterministic=options.deterministic,
        seed=options.seed,
        on_progress=run.note,
        cancelled=run.cancelled,
        # What has passed already counts, but the work that a deterministic search may do is that of the whole limit.
        started=time.monotonic() - max(0.0, options.time_limit_s - task.time_limit_s),
        start=task.start,
        on_start=run.watch,
    )


def _set_alarm(seconds: float) -> None:
    """Have the system end this process after so many seconds (0: not at all), whatever it is doing then."""
    if _is_alone:  # nobody handles SIGALRM, so it needs no interpreter, which a search may be holding
        signal.setitimer(signal.ITIMER_REAL, seconds)


async def follow(wanted: Mapping[str, bool]) -> bytes:
    """Return, packed, the news of each task by name that runs here; True: with the best plan, if that is new."""
    here = [(name, with_plan, _runs[name]) for name, with_plan in wanted.items() if name in _runs]
    # In a thread, so that a worker gives signs of life while it makes a large plan.
    return await asyncio.to_thread(lambda: pack({name: run.news(with_plan) for name, with_plan, run in here}))


def _news(now: Progress) -> News:
    return News(now.peak, now.lower_bound, now.gap, now.by, now.elapsed_s)


def stop(names: tuple[str, ...]) -> None:
    """End the tasks of these names, where they run here; each still answers with the best plan so far."""
    for name in names:
        if name in _runs:
            _runs[name].cancelled.set()
            _set_alarm(_runs[name].alarm_s)
