"""What the calls of one server share: its settings, the line before the solvers, and threads to work in."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from math import inf
from typing import TypeVar, cast

import anyio
from anyio import CapacityLimiter, to_thread
from fastapi import Request

from api.readiness import Readiness
from api.settings import Settings
from api.waiting_line import WaitingLine

T = TypeVar("T")


class Service:
    """The shared state of one app. Solving has places of its own, so that short work never waits behind it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.line = WaitingLine(settings.solves, settings.waiting)
        self.is_ready: Callable[[], Awaitable[bool]] = Readiness()
        self._for_short_work = CapacityLimiter(settings.solves)
        self._for_solving = CapacityLimiter(inf)
        self._running: set[threading.Event] = set()
        self._is_stopping = False

    @classmethod
    def of(cls, request: Request) -> Service:
        """Return the service that a request came to."""
        return cast(Service, request.app.state.service)

    async def briefly(self, work: Callable[[], T]) -> T:
        """Do work of seconds at most (parsing, verifying) in a thread, so that the event loop goes on."""
        return await to_thread.run_sync(work, limiter=self._for_short_work)

    async def solving(self, request: Request, work: Callable[[threading.Event], T], deadline: float) -> T | None:
        """Wait for a place until `deadline` (time.monotonic()), then do the work in a thread.

        `work` gets an event that is set when the client hangs up or the service stops. None is returned if the client
        hung up while it waited. Raises FullError.
        """
        cancelled = threading.Event()
        self._running.add(cancelled)
        if self._is_stopping:
            cancelled.set()
        waiting = anyio.CancelScope()
        watcher = asyncio.create_task(_watch(request, cancelled, waiting))
        try:
            with waiting:
                async with self.line.turn(max(0.0, deadline - time.monotonic())):
                    return await to_thread.run_sync(work, cancelled, limiter=self._for_solving)
            return None
        finally:
            watcher.cancel()
            self._running.discard(cancelled)

    def stop(self) -> None:
        """End every solve that runs, and all that still come: each is answered with the best plan so far."""
        self._is_stopping = True
        for cancelled in self._running:
            cancelled.set()


async def _watch(request: Request, cancelled: threading.Event, waiting: anyio.CancelScope) -> None:
    """Wait for the client to hang up; the body has been read, so nothing else can come."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    cancelled.set()
    waiting.cancel()
