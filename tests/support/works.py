"""Work of other kinds than plans, as workers get it: their functions are named, and so are in a module."""

from __future__ import annotations

import time

from memplan.api.cluster.task import NoAnswerError, WorkAnswer, WorkTask
from memplan.solvers.search.control import Control


def told_left(_task: WorkTask, control: Control) -> WorkAnswer:
    """Answer with the seconds that are left."""
    return WorkAnswer(f"{control.deadline.left_s}".encode())


def for_a_while(_task: WorkTask, _control: Control) -> WorkAnswer:
    """Take most of a second, whatever the deadline is."""
    time.sleep(0.8)
    return WorkAnswer(b"done")


def for_ever(_task: WorkTask, _control: Control) -> WorkAnswer:
    """Look at no clock."""
    while True:
        sum(range(1000))


def noted_for_ever(_task: WorkTask, control: Control) -> WorkAnswer:
    """Look at no clock, once there is an answer."""
    assert control.note is not None
    control.note(WorkAnswer(b"first"))
    control.note(WorkAnswer(b"noted"))
    while True:
        sum(range(1000))


def nothing_when_told_to_end(_task: WorkTask, control: Control) -> WorkAnswer:
    """Have no answer once it must end."""
    control.cancelled.wait()
    raise NoAnswerError("order: no answer came within its time limit")


def too_much(_task: WorkTask, _control: Control) -> WorkAnswer:
    """Take all memory, as far as that is there."""
    raise MemoryError


def in_one_step(_task: WorkTask, _control: Control) -> WorkAnswer:
    """Let no other thread run."""
    return WorkAnswer(str(sum(range(10**12))).encode())
