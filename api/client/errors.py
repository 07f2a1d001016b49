"""The errors between a client and the service.

```
MemplanError
└── ServiceError             the service gave no answer to a request
    ├── RefusedError         it refuses the request, the key or the problem: 4xx
    │   └── BusyError        it is busy; a later request may succeed: 429, 503
    ├── AwayError            there is no answer, or not in time
    └── WrongAnswerError     the answer is wrong, such as a plan that breaks a rule
```
"""

from __future__ import annotations

from memplan.planner.errors import MemplanError


class ServiceError(MemplanError):
    """The service gave no answer to a request."""


class RefusedError(ServiceError):
    """The service refuses a request; `sentences` say why, one each."""

    def __init__(self, status: int, *sentences: str) -> None:
        super().__init__("\n".join(sentences))
        self.status, self.sentences = status, sentences


class BusyError(RefusedError):
    """The service cannot now; it may after `retry_after_s`."""

    def __init__(self, status: int, *sentences: str, retry_after_s: float) -> None:
        super().__init__(status, *sentences)
        self.retry_after_s = retry_after_s


class AwayError(ServiceError):
    """There is no answer, or not in time."""


class WrongAnswerError(ServiceError):
    """The answer does not fit the request."""
