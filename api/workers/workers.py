"""Tasks in child processes for an event loop."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import Any

from anyio import CapacityLimiter, to_thread

from memplan.api.workers.pool import ChildPool
from memplan.api.workers.task import Task


class Workers:
    """The child processes of a server, for one event loop, with at most `most` tasks at one time."""

    def __init__(self, pool: ChildPool, most: int) -> None:
        """Use a pool of child processes for at most `most` tasks at a time."""
        self.pool = pool
        self._threads = CapacityLimiter(most)

    async def run(
        self,
        task: Task,
        cancelled: asyncio.Event,
        is_short: threading.Event | None = None,
        hear: Callable[[list[Any], Any], None] | None = None,
        noted: Callable[[], None] = lambda: None,
    ) -> Any:
        """Run a task in a child process without blocking the event loop, and return its answer.

        `cancelled` and `is_short` end the task early. A thread calls `hear` with its reports, and `noted` at its first
        interim answer; errors are those of `ChildPool.run`.
        """
        over = threading.Event()

        async def forward() -> None:
            await cancelled.wait()
            over.set()

        forwarding = asyncio.create_task(forward())
        try:
            work = partial(self.pool.run, task, hear, over, is_short, noted)
            return await to_thread.run_sync(work, limiter=self._threads, abandon_on_cancel=True)
        finally:
            over.set()
            forwarding.cancel()
