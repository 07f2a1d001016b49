"""The feed of job events to followers, who are woken by new events from any server."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator
from functools import partial

from memplan.api.store.errors import StoreError
from memplan.api.store.store import Store
from memplan.api.store.tables.events import StoredEvent

_LOOK_S = 0.5
"""The seconds between polls of the store for events of other servers."""
_AT_ONCE = 500
_LOG = logging.getLogger("memplan")


class Following:
    """All followers of job events at a server, on one event loop; a single query polls for all of them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: defaultdict[str, dict[asyncio.Event, int]] = defaultdict(dict)
        self._looking: asyncio.Task[None] | None = None
        self._is_stopping = False

    async def events(self, job_id: str, after: int = 0) -> AsyncGenerator[StoredEvent, None]:
        """Yield the events of a job after number `after`, past and future, until the job has ended.

        The feed also ends if the job is deleted, this server stops, or the store is unavailable. A follower can then
        continue from its last number, at any server.
        """
        while True:
            changed = asyncio.Event()
            self._waiting[job_id][changed] = after  # set before the poll, so that an event during it is not missed
            try:
                events = await self._store.run_in_thread(partial(self._store.events.events_after, job_id, after))
                for event in events:
                    yield event
                    after = event.seq
                    if event.kind == "finished":
                        return
                if not events:
                    if self._is_stopping:
                        return
                    await changed.wait()
                    if job_id not in await self._store.run_in_thread(
                        partial(self._store.events.last_numbers, [job_id])
                    ):
                        return
            finally:
                del self._waiting[job_id][changed]
                if not self._waiting[job_id]:
                    del self._waiting[job_id]

    def stir(self, job_id: str) -> None:
        """Wake the followers of a job."""
        for changed in self._waiting.get(job_id, ()):
            changed.set()

    def open(self) -> None:
        """Start to poll for events of other servers."""
        self._looking = asyncio.create_task(self._poll_always())

    def stop(self) -> None:
        """End all followers."""
        self._is_stopping = True
        for job_id in self._waiting:
            self.stir(job_id)

    async def close(self) -> None:
        """End all followers, and stop polling."""
        self.stop()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _poll_always(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                await self._poll_store()
            except StoreError as error:
                _LOG.warning("events cannot be followed: %s", error)

    async def _poll_store(self) -> None:
        followed = list(self._waiting)
        for at in range(0, len(followed), _AT_ONCE):
            some = followed[at : at + _AT_ONCE]
            last = await self._store.run_in_thread(partial(self._store.events.last_numbers, some))
            for job_id in some:
                waiting = self._waiting.get(job_id, {})
                for changed, after in list(waiting.items()):
                    if last.get(job_id, after + 1) > after:  # also wakes the followers of removed jobs
                        changed.set()
