"""The answers of capabilities in child processes, and which of them a service gives so."""

from __future__ import annotations

from dataclasses import replace

from memplan.api.requests import PLAN, ParsedRequest, parse_request
from memplan.api.workers.forked import run_forked
from memplan.api.workers.task import WorkAnswer
from memplan.capabilities import MODULES
from memplan.capabilities.capability import Control

QUESTIONS = tuple(name for name in MODULES if name != PLAN)
"""The capabilities that a service answers as they come, each by a child, and the other kinds of jobs."""
_ANSWER_S = 0.25
"""The seconds of its time that a question about a stranger's file leaves to bring the answer."""


def perform(control: Control, kind: str, head: str, body: bytes) -> WorkAnswer:
    """Answer a request that has been checked, in a child; raises MemplanError."""
    request = parse_request(kind, head, body)
    if not request.is_foreign:
        return answered(request, control)
    asked = Control(control.deadline.earlier(_ANSWER_S), control.cancelled)
    return run_forked(lambda: answered(request, asked), control, len(body), kind)


def answered(request: ParsedRequest, control: Control) -> WorkAnswer:
    """Answer a question that was read; raises MemplanError."""
    is_plan, note = request.kind == PLAN, control.note
    if note is not None:
        control = replace(control, note=lambda found: note(WorkAnswer(found[0], found[1], is_plan)))
    content, status = request.answer(control)
    return WorkAnswer(content, status, is_plan)
