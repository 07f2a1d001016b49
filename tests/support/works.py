"""Tasks as children get them: their functions are named, and so are in a module."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from memplan.api.logs import JOB, REQUEST
from memplan.api.store.job import WorkAnswer
from memplan.api.workers.forked import run_forked
from memplan.api.workers.task import TaskControl
from memplan.planner.errors import InvalidPlanError, OptionError, TimeOverError


def remaining_s(control: TaskControl) -> float:
    """Answer with the seconds that are left."""
    return control.deadline.remaining_s


def niceness(_control: TaskControl) -> int:
    """Answer with that of the child."""
    return os.nice(0)


def run_forever(_control: TaskControl) -> None:
    """Look at no clock, and let no other thread run."""
    sum(range(10**12))


def noted_for_ever(control: TaskControl) -> None:
    """Look at no clock, once there is an answer."""
    assert control.note is not None
    control.note("first")
    control.note("noted")
    sum(range(10**12))


def wait_for_cancellation(control: TaskControl, progress: list[Any]) -> str:
    """Report, and wait for the end."""
    for one in progress:
        control.report(one)
    control.watch(lambda: "best")
    control.cancelled.wait()
    return "cancelled"


def raise_option_error(_control: TaskControl) -> None:
    """Find an option wrong."""
    raise OptionError("size: must be small", "name: must be known")


def wrong_at_length(_control: TaskControl) -> None:
    """Be refused with a long sentence."""
    raise OptionError(f"size: {20_000 * 'x'}")


def raise_fault(_control: TaskControl) -> None:
    """Fail, with what a caller sent in the message."""
    name = "secret"
    raise KeyError(name)


def raise_invalid_plan(_control: TaskControl) -> None:
    """Make an answer that does not hold, and say so of what a caller sent."""
    name = "secret"
    raise InvalidPlanError(f"{name}: overlaps")


def noted_and_faulty(control: TaskControl) -> None:
    """Fail after a valid answer."""
    assert control.note is not None
    control.note("noted")
    raise_fault(control)


def logging_ids(_control: TaskControl) -> tuple[str | None, str | None]:
    """Answer with the ids that lines of the log carry."""
    return REQUEST.get(), JOB.get()


def exhaust_memory(_control: TaskControl) -> None:
    """Take all memory, as far as that is there."""
    raise MemoryError


def exit_child(_control: TaskControl, status: int) -> None:
    """End the child."""
    os._exit(status)


def read_in_fork(control: TaskControl, kind: str) -> WorkAnswer:
    """Read a file that does something to its reader, in a fork."""

    def work(note: Callable[[WorkAnswer], None]) -> WorkAnswer:
        if kind == "is late":
            raise TimeOverError("time_limit_s: must be enough")
        if kind == "is asked wrongly":
            raise OptionError("base_address: must be given")
        if kind == "ends":
            os._exit(3)
        if kind == "writes":
            with open("/tmp/never", "w") as file:  # noqa: PTH123
                file.write("x")
        if kind == "notes":
            note(WorkAnswer(b"noted", "noted"))
        if kind in ("notes", "waits"):
            time.sleep(60)
        return WorkAnswer(b"read", "read")

    return run_forked(work, control, 10, "convert")
