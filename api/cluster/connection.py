"""The connection to a scheduler, made anew when it breaks, and the workers that the scheduler has."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Collection, Mapping

from distributed import Client, Security

from memplan.api.cluster import dask

_POLL_EVERY_S, _IDLE_POLL_EVERY_S, _CONNECT_EVERY_S = 0.25, 1.0, 0.5
_LOG = logging.getLogger("memplan")


class Connection:
    """One server's connection to a scheduler; `client` is None while there is none. For one event loop.

    `threads` is the number of threads of each worker, `tasks` the keys of the tasks that it was given.
    """

    def __init__(self, address: str, security: Security | None) -> None:
        self.address, self.security = address, security
        self.client: Client | None = None
        self.threads: Mapping[str, int] = {}
        self.tasks: Mapping[str, Collection[str]] = {}

    def up(self) -> Client | None:
        """Return the client while the connection, as far as is known, is there."""
        return self.client if self.client is not None and self.client.status == "running" else None

    async def keep(self) -> None:
        """Connect, ask for the workers again and again, and connect anew when the scheduler does not answer."""
        while True:
            client: Client | None = None
            try:
                client = dask.client(self.address, self.security)
                self.client = await client
                _LOG.info("connected to the scheduler at %s", self.address)
                while client.status == "running":
                    async with asyncio.timeout(dask.SILENT_S):
                        self.threads, self.tasks = await client.nthreads(), await client.processing()
                    await asyncio.sleep(_POLL_EVERY_S if any(self.tasks.values()) else _IDLE_POLL_EVERY_S)
                _LOG.warning("lost the scheduler at %s", self.address)
            except Exception as error:  # noqa: BLE001 - whatever is wrong with a connection, a new one is the remedy
                if self.client is not None:
                    _LOG.warning("lost the scheduler at %s: %s", self.address, error)
            finally:
                self.client, self.threads, self.tasks = None, {}, {}
                if client is not None:
                    with contextlib.suppress(Exception):
                        async with asyncio.timeout(2):
                            await client.close()
            await asyncio.sleep(_CONNECT_EVERY_S)
