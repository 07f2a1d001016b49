"""Who may solve now, who waits, and who is turned away."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from api.problem_details import FullError


class WaitingLine:
    """`places` callers at once, `length` more in line, first come, first served. For one event loop."""

    def __init__(self, places: int, length: int) -> None:
        self.places, self.length = places, length
        self.waiting = 0
        self._free = anyio.Semaphore(places)

    @property
    def busy(self) -> int:
        """How many places are taken."""
        return self.places - self._free.value

    def check(self) -> None:
        """Raise FullError if somebody who came now would be turned away."""
        if self._free.value == 0 and self.waiting >= self.length:
            raise FullError(f"memplan: all {self.places} places are taken and {self.waiting} callers wait already")

    @asynccontextmanager
    async def turn(self, patience_s: float) -> AsyncIterator[None]:
        """Hold a place; raises FullError if the line is full, or if no place is free within `patience_s`."""
        self.check()
        try:
            self._free.acquire_nowait()
        except anyio.WouldBlock:
            await self._wait(patience_s)
        try:
            yield
        finally:
            self._free.release()

    async def _wait(self, patience_s: float) -> None:
        self.waiting += 1
        try:
            with anyio.fail_after(patience_s):
                await self._free.acquire()
        except TimeoutError:
            raise FullError(f"memplan: all {self.places} places stayed taken for the whole time limit") from None
        finally:
            self.waiting -= 1
