"""The feed of job events: followers of a job are woken by its new events, whichever server wrote them."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator
from functools import partial

from memplan.api.store.errors import StoreError
from memplan.api.store.store import Store
from memplan.api.store.tables.events import StoredEvent

_LOOK_S = 0.5
"""The seconds between polls of the store for events that other servers wrote."""
_AT_ONCE = 500
_LOG = logging.getLogger("memplan")


class Following:
    """All followers of job events at one server and event loop; a single poll of the store serves all of them."""

    def __init__(self, store: Store) -> None:
        """Use the events of a store; nobody follows a job yet, and `open` starts the poll."""
        self._store = store
        self._waiting: defaultdict[str, dict[asyncio.Event, int]] = defaultdict(dict)
        self._looking: asyncio.Task[None] | None = None
        self._is_stopping = False

    async def events(self, job_id: str, after: int = 0) -> AsyncGenerator[StoredEvent, None]:
        """Yield the past and future events of a job that come after number `after`, until the job has ended.

        The feed also ends if the job is deleted, this server stops, or the store is unavailable. A follower can then
        resume after its last event number, at any server.
        """
        while True:
            changed = asyncio.Event()
            # An event may occur while the poll below runs, so register for events before polling.
            self._waiting[job_id][changed] = after
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

    def wake_followers(self, job_id: str) -> None:
        """Wake the followers of a job, which then read its new events."""
        for changed in self._waiting.get(job_id, ()):
            changed.set()

    def open(self) -> None:
        """Start polling the store for events that other servers wrote."""
        self._looking = asyncio.create_task(self._poll_always())

    def stop(self) -> None:
        """End the feeds of all followers."""
        self._is_stopping = True
        for job_id in self._waiting:
            self.wake_followers(job_id)

    async def close(self) -> None:
        """End the feeds of all followers, and stop polling."""
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
        """Wake the followers of each job whose last event number in the store exceeds the number known to them."""
        followed = list(self._waiting)
        for at in range(0, len(followed), _AT_ONCE):
            some = followed[at : at + _AT_ONCE]
            last = await self._store.run_in_thread(partial(self._store.events.last_numbers, some))
            for job_id in some:
                waiting = self._waiting.get(job_id, {})
                for changed, after in list(waiting.items()):
                    # A removed job has no last event, so wake the job's followers to let them notice the removal.
                    if last.get(job_id, after + 1) > after:
                        changed.set()
