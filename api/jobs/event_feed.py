"""Followers of job events, woken by new events from any server."""

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
"""The interval at which the store is polled for events of other servers."""
_AT_ONCE = 500
_LOG = logging.getLogger("memplan")


class Following:
    """All followers of a server, for one event loop; a single query serves all of them."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: defaultdict[str, dict[asyncio.Event, int]] = defaultdict(dict)
        self._looking: asyncio.Task[None] | None = None
        self._is_stopping = False

    async def events(self, job_id: str, after: int = 0) -> AsyncGenerator[StoredEvent, None]:
        """Yield a job's events after the `after`-th, past and future, until it has ended.

        It also ends when the job is deleted, when this server stops, or when the store is unavailable: a follower can
        continue from its last number, at this server or another one.
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
        """Start polling for events of other servers."""
        self._looking = asyncio.create_task(self._look_always())

    def stop(self) -> None:
        """End all followers."""
        self._is_stopping = True
        for job_id in self._waiting:
            self.stir(job_id)

    async def close(self) -> None:
        """Stop polling for events."""
        self.stop()
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _look_always(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_S)
            try:
                await self._look()
            except StoreError as error:
                _LOG.warning("events cannot be followed: %s", error)

    async def _look(self) -> None:
        followed = list(self._waiting)
        for at in range(0, len(followed), _AT_ONCE):
            some = followed[at : at + _AT_ONCE]
            last = await self._store.run_in_thread(partial(self._store.events.last_numbers, some))
            for job_id in some:
                waiting = self._waiting.get(job_id, {})
                for changed, after in list(waiting.items()):
                    if last.get(job_id, after + 1) > after:  # wakes the followers of removed jobs, too
                        changed.set()
