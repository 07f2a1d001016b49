"""Webhooks: the end of a job, told to the URL that its submission named, signed, at least once."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import secrets
import socket
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import httpx
from anyio import to_thread

from memplan.api.jobs.webhook_urls import check_webhook, is_public
from memplan.api.settings import Settings
from memplan.api.store.errors import StoreError
from memplan.api.store.store import Store
from memplan.api.store.tables.deliveries import WebhookDelivery
from memplan.planner.errors import MemplanError

PAUSES_S = (10.0, 60.0, 300.0, 1800.0, 7200.0, 21600.0, 43200.0)
"""The pauses before an end is told again, each drawn up to a tenth longer; after the last one it is given up."""
_LOOK_S = 0.5
_ANSWER_S = 10.0
_AT_ONCE, _OF_KEY = 64, 4
"""The ends that are told at once, in all and of one key."""
_LOOK_UPS = 4
"""The threads that look up names, which may take long: nothing else waits for them, and a key has one at once."""
_LOG = logging.getLogger("memplan")


class WebhookError(MemplanError):
    """An end of a job could not be told, and why."""


def secret_of(master: str, key_id: str | None) -> str:
    """Return the secret by which the holder of a key tells who signed: the server's own, made one for each key."""
    return hmac.new(master.encode(), f"memplan webhook {key_id or ''}".encode(), sha256).hexdigest()


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return what `Memplan-Signature` holds: `v1=` and the HMAC-SHA256 of the time, a dot and the body."""
    return "v1=" + hmac.new(secret.encode(), f"{timestamp}.".encode() + body, sha256).hexdigest()


def body_of(delivery: WebhookDelivery) -> bytes:
    """Return what is told of the end of a job; `id` is the same each time that it is told."""
    job = delivery.job
    content = {
        "id": f"{job.id}/finished",
        "type": "job.finished",
        "job": {
            "id": job.id,
            "kind": job.kind,
            "state": job.state,
            "name": job.name,
            "problem_hash": job.problem_hash,
            "plan_status": job.plan_status,
            "plan_hash": job.plan_hash,
            "error": job.error,
            "finished_at": job.finished_at,
            "links": {"self": f"/v1/jobs/{job.id}", "result": f"/v1/jobs/{job.id}/result"},
        },
    }
    return json.dumps(content, separators=(",", ":")).encode()


class Webhooks:
    """Tells the ends of jobs, also those that ended on other servers of the store. For one event loop."""

    def __init__(self, store: Store, settings: Settings, pauses_s: Sequence[float] = PAUSES_S) -> None:
        self._store, self._settings, self._pauses_s = store, settings, pauses_s
        self._looking: asyncio.Task[None] | None = None
        self._telling: dict[asyncio.Task[None], str] = {}
        self._look_ups: dict[str, asyncio.Future[list[Any]]] = {}
        self._threads = ThreadPoolExecutor(_LOOK_UPS, thread_name_prefix="memplan-names")

    def open(self) -> None:
        """Begin to tell, where the server has a secret to sign with."""
        if self._settings.webhook_secret is not None:
            self._looking = asyncio.create_task(self._tell_always())

    async def close(self) -> None:
        """Tell no more; what is not told yet is told by another server, or after the next start."""
        if self._looking is not None:
            tasks = [self._looking, *self._telling]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _tell_always(self) -> None:
        # In a thread, since it reads the certificates. A connection is not used again: it is one of its name alone.
        limits = httpx.Limits(max_keepalive_connections=0)
        made = partial(httpx.AsyncClient, trust_env=False, timeout=_ANSWER_S, limits=limits)
        async with await to_thread.run_sync(made) as client:
            while True:
                await asyncio.sleep(_LOOK_S)
                try:
                    for delivery in await self._store.briefly(self._due):
                        task = asyncio.create_task(self._told(client, delivery))
                        self._telling[task] = delivery.job.key_id or ""
                        task.add_done_callback(self._telling.pop)
                except StoreError as error:
                    _LOG.warning("ends of jobs cannot be told: %s", error)
                except Exception as error:  # noqa: BLE001  the border: the ends of other jobs must be told
                    _LOG.error("%s: an end of a job cannot be told", type(error).__name__)

    def _due(self) -> list[WebhookDelivery]:
        """Take the ends that are to be told now, in turns of the keys."""
        now, of_key = time.time(), Counter(self._telling.values())
        again = [now + pause_s * (1 + secrets.randbelow(100) / 1000) for pause_s in self._pauses_s]
        busy = [key for key, count in of_key.items() if count >= _OF_KEY]
        return self._store.deliveries.due(now, _AT_ONCE - len(self._telling), again, _OF_KEY, busy)

    async def _told(self, client: httpx.AsyncClient, delivery: WebhookDelivery) -> None:
        """Tell the end of a job; whatever is wrong with it, those of others go on."""
        try:
            await self._tell(client, delivery)
        except StoreError as error:
            _LOG.warning("ends of jobs cannot be told: %s", error)
        except Exception as error:  # noqa: BLE001  the border: the ends of other jobs must be told
            _LOG.error("%s: an end of a job cannot be told", type(error).__name__)

    async def _tell(self, client: httpx.AsyncClient, delivery: WebhookDelivery) -> None:
        try:
            async with asyncio.timeout(_ANSWER_S):
                await self._post(client, delivery)
        except (MemplanError, httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError, ValueError) as error:
            is_last = delivery.attempts > len(self._pauses_s)
            what = "is given up" if is_last else "is told again later"
            _LOG.warning("the end of job %s %s: %s", delivery.job.id, what, str(error) or type(error).__name__)
            if not is_last:
                return
        await self._store.briefly(partial(self._store.deliveries.strike, delivery.job.id))

    async def _post(self, client: httpx.AsyncClient, delivery: WebhookDelivery) -> None:
        """Send the end of a job to an address that was looked at; raises MemplanError, OSError and httpx's errors."""
        check_webhook(delivery.url, self._settings)
        assert self._settings.webhook_secret is not None
        parts = urlsplit(delivery.url)
        host = parts.hostname or ""
        port = parts.port or (443 if parts.scheme == "https" else 80)
        address = await self._address(delivery.job.key_id or "", host, port)
        body, at = body_of(delivery), str(int(time.time()))
        secret = secret_of(self._settings.webhook_secret, delivery.job.key_id)
        headers = {
            "Host": parts.netloc,
            "Content-Type": "application/json",
            "User-Agent": "memplan",
            "Memplan-Delivery": f"{delivery.job.id}/finished",
            "Memplan-Timestamp": at,
            "Memplan-Signature": signature(secret, at, body),
        }
        # The connection goes to the address that was looked at: the name is not asked for again.
        url = httpx.URL(delivery.url).copy_with(host=address)
        sent = client.stream("POST", url, content=body, headers=headers, extensions={"sni_hostname": host})
        async with sent as answer:
            if not answer.is_success:
                raise WebhookError(f"it was answered with {answer.status_code}")

    async def _address(self, key: str, host: str, port: int) -> str:
        """Return an address of a host; raises WebhookError where one of them may not be told.

        A look-up that takes too long goes on in its thread: the next one of the key waits for its end.
        """
        while (before := self._look_ups.get(key)) is not None:
            await asyncio.wait({before})
        look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        looking = self._look_ups[key] = asyncio.get_running_loop().run_in_executor(self._threads, look_up)
        looking.add_done_callback(partial(self._looked_up, key))
        found = await asyncio.shield(looking)
        addresses = [str(entry[4][0]) for entry in found]
        if not self._settings.webhook_private and not all(map(is_public, addresses)):
            raise WebhookError("its host has an address that is not on the Internet")
        if not addresses:
            raise WebhookError("its host has no address")
        return addresses[0]

    def _looked_up(self, key: str, looking: asyncio.Future[list[Any]]) -> None:
        del self._look_ups[key]
        if not looking.cancelled():
            looking.exception()  # where nobody waits any more, nobody is told
