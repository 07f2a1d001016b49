"""What can go wrong between a client and the service.

```
MemplanError
└── ServiceError             the service did not do what it was asked
    ├── RefusedError         it says what is wrong with the request, the key or the problem: 4xx
    │   └── BusyError        it says to come again later: 429, 503
    ├── AwayError            nobody answers there, or not in time
    └── WrongAnswerError     what came back is no answer to what was asked, such as a plan that breaks a rule
```
"""

from __future__ import annotations

from memplan.planner.errors import MemplanError


class ServiceError(MemplanError):
    """The service did not do what it was asked."""


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
    """Nobody answers there, or not in time."""


class WrongAnswerError(ServiceError):
    """What came back is no answer to what was asked."""
