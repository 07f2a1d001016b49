"""Limits of one server for all its callers: bytes of bodies, and open streams; for one event loop."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

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


@dataclass
class HeldShare:
    """The bytes that one request holds, and the time that its body may take."""

    whole: HeldBytes
    timeout_s: float
    held: int = 0

    def take(self, count: int) -> None:
        """Hold more bytes until the request is answered; raises FullError where others hold too many."""
        if self.whole.held + count > self.whole.limit:
            raise FullError(f"memplan: requests of {self.whole.held} bytes are in work already")
        self.whole.held += count
        self.held += count

    def release(self) -> None:
        """Hold nothing any more."""
        self.whole.held -= self.held
        self.held = 0


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
