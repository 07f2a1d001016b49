"""The connection to a scheduler, made anew when it breaks, and what the scheduler knows of its workers."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from distributed import Client

from memplan.api.cluster import dask, worker_task
from memplan.api.cluster.dask import SILENT_S

_LOOK_EVERY_S = 0.05


@dataclass(frozen=True)
class View:
    """What a scheduler knew a moment ago: the threads of each worker that is alive, and which tasks each has."""

    threads: Mapping[str, int] = field(default_factory=dict)
    tasks: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def worker_of(self, key: str) -> str | None:
        """Return the worker that a task was given to; None where it waits, or is done."""
        return next((worker for worker, keys in self.tasks.items() if key in keys), None)


class Link:
    """One server's connection to a scheduler; `client` is None while there is none. For one event loop."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.client: Client | None = None
        self.view = View()
        self._heard: dict[str, tuple[float, float]] = {}

    async def up(self) -> Client:
        """Wait for a connection."""
        while self.client is None or not self.stands(self.client):
            await asyncio.sleep(_LOOK_EVERY_S)
        return self.client

    async def connect(self) -> None:
        """Connect; raises OSError."""
        client = dask.client(self.address)
        try:
            await client
        except BaseException:
            await _closed(client)
            raise
        self.client = client

    async def drop(self) -> None:
        """Give the connection up; what was sent over it counts as lost."""
        client, self.client, self.view = self.client, None, View()
        if client is not None:
            await _closed(client)

    def stands(self, client: Client) -> bool:
        """Say whether a connection, as far as anybody knows, is still there."""
        return client is self.client and client.status == "running"

    async def look(self) -> View:
        """Ask the scheduler for a new view; raises OSError where it does not answer."""
        client = self.client
        if client is None or client.scheduler is None or client.status != "running":
            raise OSError("the connection is broken")
        async with asyncio.timeout(SILENT_S):  # whose TimeoutError is an OSError
            known = await client.scheduler.identity(n_workers=-1)
            tasks = await client.scheduler.processing(workers=None)
        self.view = View(self._lively(known["workers"]), {worker: frozenset(keys) for worker, keys in tasks.items()})
        return self.view

    def _lively(self, workers: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
        """Return the threads of the workers heard of lately, by our own clock: another machine's may be wrong."""
        now = time.monotonic()
        before, self._heard = self._heard, {}
        for address, facts in workers.items():
            seen, since = before.get(address, (None, now))
            self._heard[address] = facts["last_seen"], since if seen == facts["last_seen"] else now
        return {
            address: facts["nthreads"]
            for address, facts in workers.items()
            if facts["status"] == "running" and now - self._heard[address][1] < SILENT_S
        }

    async def follow(self, worker: str, wanted: Mapping[str, bool], within_s: float) -> bytes | None:
        """Ask a worker for news of its tasks; None where it does not answer in time."""
        answer = await self._run(worker, within_s, worker_task.follow, wanted)
        return answer if isinstance(answer, bytes) else None

    async def stop(self, worker: str, names: Iterable[str], within_s: float) -> None:
        """Tell a worker to end tasks, whether it hears it or not."""
        await self._run(worker, within_s, worker_task.stop, tuple(names))

    async def _run(self, worker: str, within_s: float, *call: Any) -> object:
        if self.client is None:
            return None
        with contextlib.suppress(OSError):
            async with asyncio.timeout(within_s):
                answers = await self.client.run(*call, workers=[worker], on_error="ignore")
                return answers.get(worker)
        return None


async def _closed(client: Client) -> None:
    with contextlib.suppress(Exception):
        async with asyncio.timeout(2):
            await client.close()
