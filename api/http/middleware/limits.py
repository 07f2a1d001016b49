"""Limits of one server for all its callers: bytes of bodies, and open streams; for one event loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.types import ASGIApp, Receive, Scope, Send

from memplan.api.refusals import FullError
from memplan.api.settings import Settings

_BODIES_HELD = 4
"""The number of the largest bodies that may be held, where no other limit is set."""


class HeldBytes:
    """The bytes of bodies that were read and not yet answered, up to a limit, so that many large ones come in turn."""

    def __init__(self, limit: int) -> None:
        self.limit, self.held = limit, 0

    @classmethod
    def under(cls, settings: Settings) -> HeldBytes:
        """Return those of a server: `max_held_bytes`, or some of the largest bodies."""
        return cls(max(settings.max_held_bytes or _BODIES_HELD * settings.max_body_bytes, settings.max_body_bytes))


class HeldShare:
    """The bytes that one request holds, and the time that its body may take."""

    def __init__(self, whole: HeldBytes, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._whole, self._held = whole, 0

    def take(self, count: int) -> None:
        """Hold more bytes until the request is answered; raises FullError where others hold too many."""
        if self._whole.held + count > self._whole.limit:
            raise FullError(f"memplan: requests of {self._whole.held} bytes are in work already")
        self._whole.held += count
        self._held += count

    def release(self) -> None:
        """Hold nothing any more."""
        self._whole.held -= self._held
        self._held = 0


class SharesBytes:
    """Gives every request its share, as `body_share` in its state, and takes it back at the end."""

    def __init__(self, app: ASGIApp, whole: HeldBytes, timeout_s: float) -> None:
        self.app, self.whole, self.timeout_s = app, whole, timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, as ASGI has it."""
        share = HeldShare(self.whole, self.timeout_s)
        scope.setdefault("state", {})["body_share"] = share
        try:
            await self.app(scope, receive, send)
        finally:
            share.release()


class Streams:
    """The answers that stay open, such as events and batches, up to a limit."""

    def __init__(self, limit: int) -> None:
        self.limit, self.count = limit, 0

    @contextmanager
    def open(self) -> Iterator[None]:
        """Count a stream while the block runs; raises FullError."""
        if self.count >= self.limit:
            raise FullError(f"memplan: all {self.limit} streams are open")
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1
