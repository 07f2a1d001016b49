"""Faults of the program: each is counted and logged under an identifier, with the stack once for each kind.

The log has the question and the hash of the request's body, but no data that a caller sent.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from hashlib import sha256
from typing import NamedTuple

from memplan.planner.errors import InvalidPlanError, MemplanError, ReaderFaultError
from memplan.planner.foreign.imported import place_of

BODY: ContextVar[bytes] = ContextVar("body", default=b"")
"""The body of the current request, whose hash is logged with a fault."""
_FRAMES_LOGGED = 12
_KIND_DIGITS = 12
_LOG = logging.getLogger("memplan")


class Fault(NamedTuple):
    """A failure of the program: the name of its error, its location, its last frames, and the caller's message."""

    error: str
    place: str
    stack: str
    says: str = "memplan: failed"

    @classmethod
    def from_error(cls, error: BaseException) -> Fault:
        """Return the fault for an error, without the error's message, which may have data of callers."""
        if isinstance(error, FaultError):
            return error.fault
        if isinstance(error, ReaderFaultError) and error.__cause__ is not None:
            return cls(*_fault_parts(error.__cause__), f"file: {error}")
        return cls(*_fault_parts(error))


class FaultError(MemplanError):
    """The program failed; `kind` identifies the fault in the log once it has been noted."""

    def __init__(self, fault: Fault, kind: str = "") -> None:
        super().__init__(f"{fault.says}; its log says where, at fault {kind}" if kind else fault.says)
        self.fault, self.kind = fault, kind


def is_fault(error: BaseException) -> bool:
    """True if an error is a fault of the program, not of its caller."""
    return not isinstance(error, MemplanError) or isinstance(error, FaultError | InvalidPlanError | ReaderFaultError)


class Faults:
    """The faults of one process, thread-safe; `count` is called with the question and kind of each fault."""

    def __init__(self, count: Callable[[str, str], None] = lambda _question, _kind: None) -> None:
        self._count, self._kinds = count, set[str]()

    def note(self, error: BaseException, question: str) -> FaultError:
        """Count and log the fault of an error, and return the error for the caller."""
        fault = Fault.from_error(error)
        kind = sha256(f"{question} {fault.error} {fault.place}".encode()).hexdigest()[:_KIND_DIGITS]
        self._count(question, kind)
        facts = {"fault": kind, "question": question}
        if body := BODY.get():
            facts["body_sha256"] = sha256(body).hexdigest()
        names = ", ".join(f"{name} {value}" for name, value in facts.items())
        stack = "" if kind in self._kinds else f"\n{fault.stack}"
        self._kinds.add(kind)
        _LOG.error("%s at %s: %s%s", fault.error, fault.place, names, stack, extra=facts)
        return FaultError(fault, kind)


def _fault_parts(error: BaseException) -> tuple[str, str, str]:
    stack = "".join(traceback.format_tb(error.__traceback__)[-_FRAMES_LOGGED:])
    return type(error).__name__, place_of(error), stack
