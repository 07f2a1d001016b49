"""The answers of capabilities in child processes."""

from __future__ import annotations

from dataclasses import replace

from memplan.api.request_bodies import PLAN
from memplan.api.requests import ParsedRequest, parse_request
from memplan.api.store.job import WorkAnswer
from memplan.api.workers.forked import run_forked
from memplan.capabilities.capability import Control

_ANSWER_S = 0.25
"""The seconds of its time that a question about a stranger's file leaves to bring the answer."""


def perform(control: Control, kind: str, head: str, body: bytes) -> WorkAnswer:
    """Answer a request that has been checked, in a child; raises MemplanError."""
    return answered_apart(parse_request(kind, head, body), control, len(body))


def answered_apart(request: ParsedRequest, control: Control, n_bytes: int) -> WorkAnswer:
    """Answer a request that was parsed; what is foreign is read in a fork. Raises MemplanError."""
    if not request.is_foreign:
        return answered(request, control)
    asked = Control(control.deadline.earlier(_ANSWER_S), control.cancelled)
    return run_forked(lambda: answered(request, asked), control, n_bytes, request.kind)


def answered(request: ParsedRequest, control: Control) -> WorkAnswer:
    """Answer a question that was parsed; raises MemplanError."""
    is_plan, note = request.kind == PLAN, control.note
    if note is not None:
        control = replace(control, note=lambda found: note(WorkAnswer(found[0], found[1], is_plan)))
    content, status = request.answer(control)
    return WorkAnswer(content, status, is_plan)
