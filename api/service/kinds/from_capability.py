"""The kind of job that a capability is: its bodies, and the function that answers them in a worker."""

from __future__ import annotations

from typing import Any

from memplan.api.cluster.task import WorkAnswer, WorkControl
from memplan.api.service.import_process import ForeignTask, run_apart
from memplan.api.service.kinds.kind import JobKind
from memplan.capabilities.bodies import media_of, read_question, request_model
from memplan.capabilities.capability import Capability, Control, Question
from memplan.capabilities.inputs import subject_of
from memplan.planner.model.plan import Plan

_ANSWER_S = 0.25
"""The seconds that an answer has to come from the process that read a stranger's file."""


def kind_of(capability: Capability[Any, Any]) -> JobKind[Question]:
    """Return the kind of job that answers a capability's questions."""

    def run(question: Question, options: Any, control: WorkControl) -> WorkAnswer:
        if any(each.is_foreign and each.name in question for each in capability.inputs):
            task = ForeignTask(capability.name, question, options, control.deadline.earlier(_ANSWER_S))
            content, status = run_apart(task, control.deadline, control.cancelled)
            return WorkAnswer(content, status)
        answer = capability.answered(question, options, Control(control.deadline, control.cancelled, control.tell))
        return WorkAnswer(capability.write(answer), capability.status(answer), is_plan=isinstance(answer, Plan))

    return JobKind(
        name=capability.name,
        summary=capability.summary,
        description=capability.help,
        fields=tuple(each.name for each in capability.inputs),
        needed=tuple(each.name for each in capability.inputs if each.required),
        any_of=capability.any_of,
        read=lambda content: read_question(capability, content),
        about=lambda question: subject_of(capability.inputs, question),
        run=run,
        options=capability.options,
        is_brief=capability.is_brief,
        request=request_model(capability),
        answer=capability.answer,
        example=capability.example,
        media=media_of(capability),
        most_bytes=capability.most_bytes,
        moved=capability.moved,
    )
