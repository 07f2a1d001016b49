"""Refusals of requests that may be right, now or for this caller; the status and headers of each.

```
MemplanError
└── RefusedError
    ├── NoKeyError        401   no key, or an unknown key
    ├── ForbiddenError    403   a key without the scope for this call
    ├── GoneError         404   something that is not kept any more
    ├── TooSlowError      408   the body took too long to come
    ├── FullError         429   every place is taken, or a quota is used up; NoTurnError: for the whole time limit
    ├── UnavailableError  503   something that the service depends on is unavailable: its database, its workers
    └── NotInTimeError    504   a worker had a turn, and no answer within the caller's time limit
```
"""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import ClassVar

from memplan.planner.errors import MemplanError


class RefusalError(MemplanError):
    """A request is turned away, with one sentence."""

    status: ClassVar[int]

    ways: tuple[str, ...] = ()
    """Sentences that say what to do."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the answer."""
        return {}


class NoKeyError(RefusalError):
    """A key is required but missing, unknown or revoked; the message does not say which."""

    status = 401

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the header that names the authentication scheme."""
        return {"WWW-Authenticate": 'Bearer realm="memplan"'}


class ForbiddenError(RefusalError):
    """The caller's key lacks the scope for this call."""

    status = 403


class GoneError(RefusalError):
    """A part of the subject is not kept any more."""

    status = 404


class ConflictError(RefusalError):
    """The request conflicts with the current state of its subject."""

    status = 409


class TooSlowError(RefusalError):
    """The body took too long to arrive; the connection is no longer usable."""

    status = 408

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the header that closes the connection, as the rest of the body is not awaited."""
        return {"Connection": "close"}


class _LaterError(RefusalError):
    """A refusal that may not apply later."""

    def __init__(self, sentence: str, retry_after_s: float = 1.0, ways: tuple[str, ...] = ()) -> None:
        super().__init__(sentence)
        self.retry_after_s, self.ways = retry_after_s, ways

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the header that says when to retry, in whole seconds."""
        return {"Retry-After": str(max(1, ceil(self.retry_after_s)))}


class FullError(_LaterError):
    """All slots are taken, and the queue is full or too slow; or the caller's quota is used up."""

    status = 429


class NoTurnError(FullError):
    """No slot is free within the caller's time limit."""


class UnavailableError(_LaterError):
    """A resource of the service is temporarily unavailable."""

    status = 503


class NotInTimeError(RefusalError):
    """The work got its turn but exceeded the caller's time limit; the request itself may be valid."""

    status = 504
