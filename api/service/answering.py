"""The answers of capabilities in a worker, and which of them a service gives so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from memplan.api.cluster.task import WorkAnswer, WorkTask
from memplan.api.service.import_process import ForeignTask, run_apart
from memplan.capabilities import MODULES
from memplan.capabilities.bodies import parsed_fields, read_question
from memplan.capabilities.capability import Capability, CapabilityOptions, Control
from memplan.capabilities.question import Question
from memplan.capabilities.registry import CAPABILITIES
from memplan.planner.model.plan import Plan

PLAN = "plan"
"""The kind of jobs that end in a plan; it has a way of its own, by the cache and shared searches."""
QUESTIONS = tuple(name for name in MODULES if name != PLAN)
"""The capabilities that a service answers as they come, each by a worker, and the other kinds of jobs."""
_ANSWER_S = 0.25
"""The seconds that an answer has to come from the process that read a stranger's file."""
_GRACE_PART = 0.5
"""The part of the grace of a worker in which it still waits for that process, which a busy machine may start late."""


def perform(task: WorkTask, control: Control) -> WorkAnswer:
    """Answer a request that has been checked, in a worker; raises MemplanError."""
    capability = CAPABILITIES[task.kind]
    question = read_question(capability, parsed_fields(capability, task.media, task.body))
    return answered(capability, question, capability.options.model_validate(dict(task.options)), control, task.grace_s)


def answered(
    capability: Capability[Any], question: Question, options: CapabilityOptions, control: Control, grace_s: float = 0.0
) -> WorkAnswer:
    """Answer a question; one about a stranger's file in a process of its own, which may be a little late.

    Raises MemplanError.
    """
    if any(each.is_foreign and isinstance(question.get(each.name), bytes) for each in capability.inputs):
        task = ForeignTask(capability.name, question, options, control.deadline.earlier(_ANSWER_S))
        over = control.deadline.earlier(-_GRACE_PART * grace_s)
        content, status = run_apart(task, over, control.cancelled)
        return WorkAnswer(content, status)

    def written(answer: Any) -> WorkAnswer:
        return WorkAnswer(capability.write(answer), capability.status(answer), is_plan=isinstance(answer, Plan))

    note = control.note
    asked = control if note is None else replace(control, note=lambda answer: note(written(answer)))
    return written(capability.answered(question, options, asked))
