"""The errors between a client and the service: all are ServiceErrors."""

from __future__ import annotations

from memplan.planner.errors import MemplanError


class ServiceError(MemplanError):
    """The service gave no answer to a request."""


class RefusedError(ServiceError):
    """The service refuses a request, a key or a problem; `sentences` say why, one each."""

    def __init__(self, status: int, *sentences: str) -> None:
        super().__init__("\n".join(sentences))
        self.status, self.sentences = status, sentences


class BusyError(RefusedError):
    """The service is busy, or a part of it is away; it may answer after `retry_after_s`."""

    def __init__(self, status: int, *sentences: str, retry_after_s: float) -> None:
        super().__init__(status, *sentences)
        self.retry_after_s = retry_after_s


class AwayError(ServiceError):
    """There is no answer, or not in time."""


class WrongAnswerError(ServiceError):
    """The answer does not fit the request, such as a plan that breaks a rule."""
