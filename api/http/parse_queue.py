"""Two queues of requests to be read: of all on the event loop, and of large bodies, within their time limits."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from memplan.api.refusals import FullError, NotInTimeError, NoTurnError
from memplan.solvers.search.control import Deadline

_FIRST_BYTE_S = 5e-8
"""The assumed seconds per byte before anything was parsed: 20 MB/s."""
_WEIGHT = 0.25
"""The weight of a new measurement in the mean of the seconds per byte."""


_LONGEST_WAIT_S = 1.0
"""The expected seconds of waiting for a turn above which a request is refused."""


class Turns:
    """The turns in which requests compute on the event loop, which serves its connections between two turns."""

    def __init__(self) -> None:
        """Start without waiting requests."""
        self._lock, self._count, self._turn_s, self._began = asyncio.Lock(), 0, 0.0, 0.0

    async def take(self) -> None:
        """Wait until a request may compute until its next wait; raises FullError at once if that takes too long."""
        if (wait_s := self._count * self._turn_s) > _LONGEST_WAIT_S:
            raise FullError(f"memplan: {self._count} other requests are read first", wait_s)
        self._count += 1
        has_waited = self._lock.locked()
        try:
            async with self._lock:
                await asyncio.sleep(0)
                now = time.monotonic()
                if has_waited:
                    self._turn_s += _WEIGHT * (now - self._began - self._turn_s)
                self._began = now
        finally:
            self._count -= 1


class ParseQueue:
    """The queue of a server's large bodies, for one event loop: only one of them is parsed at a time.

    A body whose turn is expected after the body's deadline is refused on arrival. The estimate uses the bytes ahead in
    the queue and the speed of recent parses.
    """

    def __init__(self) -> None:
        """Make an empty queue, with a guess of the seconds that parsing a byte takes."""
        self._lock = asyncio.Lock()
        self._ahead_bytes = 0
        self._byte_s = _FIRST_BYTE_S

    @asynccontextmanager
    async def turn(self, n_bytes: int, deadline: Deadline) -> AsyncIterator[None]:
        """Wait until the block may parse a body of `n_bytes` bytes, alone; raises NoTurnError or NotInTimeError."""
        if deadline.remaining_s <= 0:
            raise NotInTimeError("body: must arrive completely within its time limit")
        wait_s = self._ahead_bytes * self._byte_s
        rule = f"must be read within its time limit, but {self._ahead_bytes} bytes of other bodies are read first"
        refusal = NoTurnError(f"body: {rule}", wait_s)
        if wait_s > deadline.remaining_s:
            raise refusal
        self._ahead_bytes += n_bytes
        try:
            try:
                async with asyncio.timeout(max(0.0, deadline.remaining_s)):
                    await self._lock.acquire()
            except TimeoutError:
                raise refusal from None
            began = time.monotonic()
            try:
                yield
            finally:
                self._lock.release()
                self._byte_s += _WEIGHT * ((time.monotonic() - began) / n_bytes - self._byte_s)
        finally:
            self._ahead_bytes -= n_bytes
