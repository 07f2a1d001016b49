"""Faults: internal errors of memplan. Each is logged and counted under an id, and its stack is logged once per id.

The log names the question and the hash of the request's body, but contains none of the caller's data.
"""

import logging
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from hashlib import sha256
from typing import NamedTuple

from memplan.planner.errors import InvalidPlanError, MemplanError, ReaderFaultError
from memplan.planner.foreign.imported import place_of

BODY: ContextVar[bytes] = ContextVar("body", default=b"")
"""The body of the current request; the log of a fault has its hash."""
_FRAMES_LOGGED = 12
_KIND_DIGITS = 12
_LOG = logging.getLogger("memplan")


class Fault(NamedTuple):
    """An internal error: its exception type, code location and last stack frames, and the message for the caller."""

    error: str
    place: str
    stack: str
    says: str = "memplan: failed"

    @classmethod
    def from_error(cls, error: BaseException) -> "Fault":
        """Return the fault for an exception, without the exception's message, which may contain data of callers."""
        if isinstance(error, FaultError):
            return error.fault
        if isinstance(error, ReaderFaultError) and error.__cause__ is not None:
            return cls(*_describe_fault(error.__cause__), f"file: {error}")
        return cls(*_describe_fault(error))


class FaultError(MemplanError):
    """The error that a caller gets for a fault (an internal error); `kind` is its id in the log, empty until logged."""

    def __init__(self, fault: Fault, kind: str = "") -> None:
        """Set the message for the caller, which names the id if there is one."""
        super().__init__(f"{fault.says}; memplan's log shows where, at fault {kind}" if kind else fault.says)
        self.fault, self.kind = fault, kind


def is_fault(error: BaseException) -> bool:
    """Return True if an exception is a fault of memplan rather than an error of its caller."""
    return not isinstance(error, MemplanError) or isinstance(error, FaultError | InvalidPlanError | ReaderFaultError)


class Faults:
    """The thread-safe record of one process's faults; `count` receives the question and the id of each fault."""

    def __init__(self, count: Callable[[str, str], None] = lambda _question, _kind: None) -> None:
        """Start without faults."""
        self._count, self._kinds = count, set[str]()

    def note(self, error: BaseException, question: str) -> FaultError:
        """Count and log the fault of an exception, and return the error for the caller."""
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


def _describe_fault(error: BaseException) -> tuple[str, str, str]:
    stack = "".join(traceback.format_tb(error.__traceback__)[-_FRAMES_LOGGED:])
    return type(error).__name__, place_of(error), stack
