"""The answers of capabilities in a worker, and which of them a service gives so."""

from __future__ import annotations

from dataclasses import replace

from memplan.api.cluster.task import WorkAnswer, WorkTask
from memplan.api.requests import PLAN, ParsedRequest, parse_request
from memplan.api.service.import_process import ForeignTask, run_apart
from memplan.capabilities import MODULES
from memplan.capabilities.capability import Control
from memplan.planner.model.plan import Plan

QUESTIONS = tuple(name for name in MODULES if name != PLAN)
"""The capabilities that a service answers as they come, each by a worker, and the other kinds of jobs."""
_ANSWER_S = 0.25
"""The seconds that an answer has to come from the process that read a stranger's file."""
_GRACE_PART = 0.5
"""The part of the grace of a worker in which it still waits for that process, which a busy machine may start late."""


def perform(task: WorkTask, control: Control) -> WorkAnswer:
    """Answer a request that has been checked, in a worker; raises MemplanError."""
    return answered(parse_request(task.kind, task.media, task.body), control, task.grace_s)


def answered(request: ParsedRequest, control: Control, grace_s: float = 0.0) -> WorkAnswer:
    """Answer a question; one about a stranger's file in a process of its own, which may be a little late.

    Raises MemplanError.
    """
    is_plan = request.capability.answer is Plan
    if request.is_foreign:
        task = ForeignTask(request, control.deadline.earlier(_ANSWER_S))
        content, status = run_apart(task, control.deadline.earlier(-_GRACE_PART * grace_s), control.cancelled)
        return WorkAnswer(content, status, is_plan)
    note = control.note
    asked = (
        control if note is None else replace(control, note=lambda found: note(WorkAnswer(found[0], found[1], is_plan)))
    )
    content, status = request.answer(asked)
    return WorkAnswer(content, status, is_plan)
