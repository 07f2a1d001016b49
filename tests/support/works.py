"""Tasks for worker processes, in a module because a child finds each function by its name."""

import logging
import os
import pickle
import time
from typing import Any

from memplan.api.logs import JOB, REQUEST
from memplan.api.service.request_task import reader_errors
from memplan.api.store.job import WorkAnswer
from memplan.api.workers.task import TaskControl
from memplan.planner.errors import InvalidPlanError, OptionError, TimeOverError


def remaining_s(control: TaskControl) -> float:
    return control.deadline.remaining_s


def niceness(_control: TaskControl) -> int:
    return os.nice(0)


def process_id(_control: TaskControl) -> int:
    return os.getpid()


def run_forever(_control: TaskControl) -> None:
    """Run forever without checking a time limit, blocking all other threads."""
    sum(range(10**12))


def noted_for_ever(control: TaskControl) -> None:
    """Record an answer, then run forever without checking a time limit."""
    assert control.note is not None
    control.note("first")
    control.note("noted")
    sum(range(10**12))


def wait_for_cancellation(control: TaskControl, progress: list[Any]) -> str:
    for one in progress:
        control.report(one)
    control.watch(lambda: "best")
    control.cancelled.wait()
    return "cancelled"


def raise_option_error(_control: TaskControl) -> None:
    raise OptionError("size: must be small", "name: must be known")


def wrong_at_length(_control: TaskControl) -> None:
    raise OptionError(f"size: {20_000 * 'x'}")


def raise_fault(_control: TaskControl) -> None:
    """Raise an error whose message contains data of a caller."""
    name = "secret"
    raise KeyError(name)


def raise_invalid_plan(_control: TaskControl) -> None:
    name = "secret"
    raise InvalidPlanError(f"{name}: overlaps")


def noted_and_faulty(control: TaskControl) -> None:
    """Record a valid answer, then raise an error."""
    assert control.note is not None
    control.note("noted")
    raise_fault(control)


def logging_ids(_control: TaskControl) -> tuple[str | None, str | None]:
    return REQUEST.get(), JOB.get()


def log_refusal(_control: TaskControl) -> None:
    """Log a refused plan as a search does."""
    logging.getLogger("memplan").warning("liar: its plan was refused", extra={"refused_solver": "liar"})


def exhaust_memory(_control: TaskControl) -> None:
    raise MemoryError


def exit_child(_control: TaskControl, status: int) -> None:
    os._exit(status)


def read_file(control: TaskControl, kind: str) -> WorkAnswer:
    """Read a file that makes its reader misbehave."""
    with reader_errors():
        if kind == "is late":
            raise TimeOverError("time_limit_s: must be enough")
        if kind == "is asked wrongly":
            raise OptionError("base_address: must be given")
        if kind == "ends":
            os._exit(3)
        if kind == "writes":
            with open("/tmp/never", "w") as file:  # noqa: PTH123
                file.write("x")
        if kind == "is taken over":
            setattr(WorkAnswer, "pack", lambda _: pickle.dumps(print))  # noqa: B010 - mypy knows the method
        if kind == "reads":
            log_refusal(control)
        if kind == "notes":
            assert control.note is not None
            control.note(WorkAnswer(b"noted", "noted"))
        if kind in ("notes", "waits"):
            time.sleep(60)
        return WorkAnswer(b"read", "read")
