"""Refusals of requests that may be valid, for now or for this caller, with the status and headers of each.

```
MemplanError
└── RefusalError
    ├── NoKeyError        401   no key, or an unknown key
    ├── ForbiddenError    403   a key without the scope for this call
        ├── GoneError         404   content that is no longer kept
        ├── TooSlowError      408   the body took too long to arrive
        ├── FullError         429   all slots are taken, or a quota is used up; NoTurnError: for the whole time limit
        ├── UnavailableError  503   a resource of the service is unavailable, such as its database or its workers
        └── NotInTimeError    504   a worker started, but had no answer within the caller's time limit
```
"""

from collections.abc import Mapping
from math import ceil
from typing import ClassVar

from memplan.planner.errors import MemplanError


class RefusalError(MemplanError):
    """The service refuses a request for the reason that the sentence states."""

    status: ClassVar[int]

    ways: tuple[str, ...] = ()
    """Sentences that tell the caller how to proceed."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The HTTP headers of the refusal, by name."""
        return {}


class NoKeyError(RefusalError):
    """A key is required but missing, unknown or revoked; the message does not reveal which."""

    status = 401

    @property
    def headers(self) -> Mapping[str, str]:
        """The header that names the authentication scheme."""
        return {"WWW-Authenticate": 'Bearer realm="memplan"'}


class ForbiddenError(RefusalError):
    """The caller's key lacks the scope for this call."""

    status = 403


class GoneError(RefusalError):
    """A requested part of an object was discarded."""

    status = 404


class ConflictError(RefusalError):
    """The request conflicts with the current state of its object, such as a running job."""

    status = 409


class TooSlowError(RefusalError):
    """The body took too long to arrive; the connection cannot be reused."""

    status = 408

    @property
    def headers(self) -> Mapping[str, str]:
        """The header that closes the connection, because the rest of the body is never read."""
        return {"Connection": "close"}


class _LaterError(RefusalError):
    """A refusal of a request that may be accepted after `retry_after_s` seconds."""

    def __init__(self, sentence: str, retry_after_s: float = 1.0, ways: tuple[str, ...] = ()) -> None:
        """Set the reason, the seconds until a retry makes sense, and the remedies (`ways`)."""
        super().__init__(sentence)
        self.retry_after_s, self.ways = retry_after_s, ways

    @property
    def headers(self) -> Mapping[str, str]:
        """The header that states after how many seconds to retry."""
        return {"Retry-After": str(max(1, ceil(self.retry_after_s)))}


class FullError(_LaterError):
    """All slots are taken and the queue is full or too slow, or a quota of the caller is used up."""

    status = 429


class NoTurnError(FullError):
    """No slot became free within the caller's time limit, or no slot is expected to become free in time."""


class UnavailableError(_LaterError):
    """A resource of the service is temporarily unavailable."""

    status = 503


class NotInTimeError(RefusalError):
    """The work started but exceeded the caller's time limit; the request itself may be valid."""

    status = 504
