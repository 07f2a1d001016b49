"""The bytes of bodies that a server holds: in all, and of one key."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from memplan.api.refusals import FullError, TooSlowError
from memplan.api.settings import Settings

SMALL_BYTES = 64 * 2**10
"""Bodies up to this size always find room: a connection that is open takes as much."""
_BODIES_HELD = 4
"""The number of the largest bodies that may be held, where no other limit is set."""
_STALLED_S = 1.0
"""The time in which a body that is on its way must bring `SMALL_BYTES` more, or end, where others want its room."""


class HeldBytes:
    """The bytes of bodies that were read and not yet answered, up to a limit, so that many large ones come in turn.

    A key holds at most half of them, or one of the largest bodies. A body that stalls on its way gives its room up to
    one that comes. For one event loop.
    """

    def __init__(
        self,
        limit: int,
        most_of_key: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        most_memory: int = 2**62,
    ) -> None:
        self.limit, self.held, self.clock = limit, 0, clock
        self.most_memory = most_memory
        """The most bytes that reading one body may take."""
        self.most_of_key = limit if most_of_key is None else most_of_key
        self.of_key: Counter[str] = Counter()
        self.coming: dict[HeldShare, float] = {}
        """The bodies that are on their way, and when the last `SMALL_BYTES` of each were there."""

    @classmethod
    def under(cls, settings: Settings) -> HeldBytes:
        """Return those of a server: `max_held_bytes`, or some of the largest bodies."""
        largest = settings.max_body_bytes
        limit = max(settings.max_held_bytes or _BODIES_HELD * largest, largest)
        return cls(limit, max(limit // 2, largest), most_memory=settings.max_request_memory_bytes)

    def make_room(self, count: int) -> None:
        """Cut off bodies that stall, the longest first, until there is room; raises FullError where there is none."""
        latest = self.clock() - _STALLED_S
        for share, moved_at in sorted(self.coming.items(), key=lambda item: item[1]):
            if self.held + count <= self.limit or moved_at > latest:
                break
            if share.held > SMALL_BYTES:
                share.cut()
        if self.held + count > self.limit:
            raise FullError(f"memplan: requests of {self.held} bytes are in work already")


@dataclass(eq=False)
class HeldShare:
    """The bytes that one request holds, and the time that its body may take."""

    whole: HeldBytes
    timeout_s: float
    key_id: str | None = None
    held: int = 0
    _marked: int = 0
    _timeout: asyncio.Timeout | None = field(default=None, repr=False)
    _is_cut: bool = False

    @asynccontextmanager
    async def coming(self, key_id: str | None) -> AsyncIterator[None]:
        """Mark that the body comes while the block runs, which takes its bytes; raises TooSlowError."""
        self.key_id = key_id
        self.whole.coming[self] = self.whole.clock()
        try:
            async with asyncio.timeout(self.timeout_s) as self._timeout:
                yield
        except TimeoutError:
            rule = f"must come within {self.timeout_s:g} s"
            if self._is_cut:
                rule = f"must bring {SMALL_BYTES} bytes a second where others wait for the room that it holds"
            raise TooSlowError(f"body: {rule}") from None
        finally:
            self.whole.coming.pop(self, None)

    def take(self, count: int) -> None:
        """Hold more bytes until the request is answered; raises FullError where others hold too many."""
        whole, held = self.whole, self.held + count
        if held > SMALL_BYTES:
            if self.key_id is not None and whole.of_key[self.key_id] + count > whole.most_of_key:
                raise FullError(f"key: requests of {whole.of_key[self.key_id]} bytes of it are in work already")
            if whole.held + count > whole.limit:
                whole.make_room(count)
        self.held = held
        whole.held += count
        if self.key_id is not None:
            whole.of_key[self.key_id] += count
        if self in whole.coming and held - self._marked >= SMALL_BYTES:
            self._marked, whole.coming[self] = held, whole.clock()

    def cut(self) -> None:
        """End a body that is on its way, and give its bytes up."""
        self.release()
        self.whole.coming.pop(self, None)
        self._is_cut = True
        if self._timeout is not None:
            self._timeout.reschedule(0.0)

    def release(self) -> None:
        """Hold nothing any more."""
        self.whole.held -= self.held
        if self.key_id is not None:
            self.whole.of_key[self.key_id] -= self.held
            if self.whole.of_key[self.key_id] == 0:
                del self.whole.of_key[self.key_id]
        self.held = 0
