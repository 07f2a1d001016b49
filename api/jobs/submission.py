"""The intake of jobs: those that come while the store writes are written together, in one transaction."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from memplan.api.store.job import Job, NewJob
from memplan.api.store.store import Store

_AT_ONCE = 200


@dataclass(eq=False)
class _Arrival:
    new: NewJob
    kept: asyncio.Future[Job] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class Intake:
    """Adds jobs to the store, each with its own answer. For one event loop.

    A disk keeps some hundred transactions a second, each of which may hold many jobs.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._arrivals: list[_Arrival] = []
        self._writing: asyncio.Task[None] | None = None

    async def add(self, new: NewJob) -> Job:
        """Return the job once it is on disk; raises FullError, RepeatedKeyError or StoreError."""
        arrival = _Arrival(new)
        self._arrivals.append(arrival)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write_all())
        return await arrival.kept

    async def _write_all(self) -> None:
        try:
            while self._arrivals:
                now, self._arrivals = self._arrivals[:_AT_ONCE], self._arrivals[_AT_ONCE:]
                await self._write(now)
        finally:
            self._writing = None

    async def _write(self, arrivals: list[_Arrival]) -> None:
        try:
            wanted = [arrival.new for arrival in arrivals]
            results: list[Job | Exception] = [*await self._store.briefly(lambda: self._store.arrivals.add_all(wanted))]
        except Exception as error:  # noqa: BLE001  whatever it is, each waiting caller hears of it
            results = [error for _ in arrivals]
        for arrival, result in zip(arrivals, results, strict=True):
            if arrival.kept.cancelled():
                continue
            if isinstance(result, Job):
                arrival.kept.set_result(result)
            else:
                arrival.kept.set_exception(result)
