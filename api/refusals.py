"""Refusals of requests that may be right, now or for this caller; the status and headers of each.

```
MemplanError
└── RefusedError
    ├── NoKeyError        401   no key, or none that is known
    ├── ForbiddenError    403   a key that is not for this
    ├── TooSlowError      408   the body took too long to come
    ├── FullError         429   every place is taken, or a quota is used up; NoTurnError: for the whole time limit
    ├── UnavailableError  503   something that the service stands on is away: its database, its workers
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

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers of the answer."""
        return {}


class NoKeyError(RefusalError):
    """A key is needed, and none came, or none that is known or still holds; which of these is not told."""

    status = 401

    @property
    def headers(self) -> Mapping[str, str]:
        """Return the header that names the way in which a caller sends a key."""
        return {"WWW-Authenticate": 'Bearer realm="memplan"'}


class ForbiddenError(RefusalError):
    """The caller's key is not for this."""

    status = 403


class ConflictError(RefusalError):
    """A request is turned away for the state that what it is about is in."""

    status = 409


class TooSlowError(RefusalError):
    """The body took too long to come; the connection is of no more use."""

    status = 408

    @property
    def headers(self) -> Mapping[str, str]:
        """Say that what still comes is not waited for."""
        return {"Connection": "close"}


class _LaterError(RefusalError):
    """It may be otherwise soon."""

    def __init__(self, sentence: str, retry_after_s: float = 1.0) -> None:
        super().__init__(sentence)
        self.retry_after_s = retry_after_s

    @property
    def headers(self) -> Mapping[str, str]:
        """Say when to try again, in whole seconds."""
        return {"Retry-After": str(max(1, ceil(self.retry_after_s)))}


class FullError(_LaterError):
    """Every place is taken, and the queue is full or too slow; or a caller's quota is used up."""

    status = 429


class NoTurnError(FullError):
    """No place is free within the caller's time limit."""


class UnavailableError(_LaterError):
    """Something that the service stands on is away for now."""

    status = 503


class NotInTimeError(RefusalError):
    """The work had its turn, and took longer than the caller's time limit; nothing is known to be wrong with it."""

    status = 504
