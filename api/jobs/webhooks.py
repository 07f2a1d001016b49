"""Webhooks: the end of a job, told to the URL that its submission named, signed, at least once."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import secrets
import socket
import time
from collections.abc import Sequence
from functools import partial
from hashlib import sha256
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from urllib.parse import urlsplit

import httpx
from anyio import to_thread

from memplan.api.settings import Settings
from memplan.api.store.errors import StoreError
from memplan.api.store.store import Store
from memplan.api.store.tables.deliveries import WebhookDelivery
from memplan.planner.errors import MemplanError, OptionError, shown

MOST_CHARACTERS = 2000
PAUSES_S = (10.0, 60.0, 300.0, 1800.0, 7200.0, 21600.0, 43200.0)
"""The pauses before an end is told again, each drawn up to a tenth longer; after the last one it is given up."""
_NAT64 = IPv6Network("64:ff9b::/96")
_LOOK_S = 0.5
_ANSWER_S = 10.0
_AT_ONCE = 16
_LOG = logging.getLogger("memplan")


class WebhookError(MemplanError):
    """An end of a job could not be told, and why."""


def check_webhook(url: str, settings: Settings) -> None:
    """Raise OptionError for a URL that no end of a job may be told to, as far as it says so itself."""
    rule = None
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        rule = "must be a URL"
    else:
        schemes = ("https", "http") if settings.webhook_private else ("https",)
        if len(url) > MOST_CHARACTERS or not url.isascii() or not url.isprintable() or " " in url:
            rule = f"must be at most {MOST_CHARACTERS} visible ASCII characters"
        elif parts.scheme not in schemes:
            rule = f"must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}"
        elif not parts.hostname or parts.username is not None or port == 0 or "#" in url:
            rule = "must name a host, without a user and without #"
        elif settings.webhook_secret is None:
            rule = "must not be given to a server without MEMPLAN_WEBHOOK_SECRET"
    if rule is not None:
        raise OptionError(f"webhook: {rule}, got {shown(url)}")


def secret_of(master: str, key_id: str | None) -> str:
    """Return the secret by which the holder of a key tells who signed: the server's own, made one for each key."""
    return hmac.new(master.encode(), f"memplan webhook {key_id or ''}".encode(), sha256).hexdigest()


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return what `Memplan-Signature` holds: `v1=` and the HMAC-SHA256 of the time, a dot and the body."""
    return "v1=" + hmac.new(secret.encode(), f"{timestamp}.".encode() + body, sha256).hexdigest()


def is_public(address: str) -> bool:
    """Return True for an address of the Internet: none of this machine, or of a network beside it."""
    found: IPv4Address | IPv6Address = ip_address(address.partition("%")[0])
    if isinstance(found, IPv6Address):
        inside = found.ipv4_mapped or found.sixtofour or (found.teredo[1] if found.teredo else None)
        is_translated = found in _NAT64
        if inside is not None or is_translated:
            inside = inside or IPv4Address(int(found) & 0xFFFFFFFF)
            return is_public(str(inside))
    return found.is_global and not (found.is_multicast or found.is_reserved or found.is_unspecified)


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

    def open(self) -> None:
        """Begin to tell, where the server has a secret to sign with."""
        if self._settings.webhook_secret is not None:
            self._looking = asyncio.create_task(self._tell_always())

    async def close(self) -> None:
        """Tell no more; what is not told yet is told by another server, or after the next start."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    async def _tell_always(self) -> None:
        # In a thread, since it reads the certificates. A connection is not used again: it is one of its name alone.
        limits = httpx.Limits(max_keepalive_connections=0)
        made = partial(httpx.AsyncClient, trust_env=False, timeout=_ANSWER_S, limits=limits)
        async with await to_thread.run_sync(made) as client:
            while True:
                await asyncio.sleep(_LOOK_S)
                try:
                    now = time.time()
                    again = [now + pause_s * (1 + secrets.randbelow(100) / 1000) for pause_s in self._pauses_s]
                    due = await self._store.briefly(partial(self._store.deliveries.due, now, _AT_ONCE, again))
                    await asyncio.gather(*(self._tell(client, delivery) for delivery in due))
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
            _LOG.warning("the end of job %s %s: %s", delivery.job.id, what, error or type(error).__name__)
            if not is_last:
                return
        await self._store.briefly(partial(self._store.deliveries.strike, delivery.job.id))

    async def _post(self, client: httpx.AsyncClient, delivery: WebhookDelivery) -> None:
        """Send the end of a job to an address that was looked at; raises MemplanError, OSError and httpx's errors."""
        check_webhook(delivery.url, self._settings)
        assert self._settings.webhook_secret is not None
        parts = urlsplit(delivery.url)
        host = parts.hostname or ""
        address = await self._address(host, parts.port or (443 if parts.scheme == "https" else 80))
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

    async def _address(self, host: str, port: int) -> str:
        """Return an address of a host; raises WebhookError where one of them may not be told."""
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = [str(entry[4][0]) for entry in found]
        if not self._settings.webhook_private and not all(map(is_public, addresses)):
            raise WebhookError("its host has an address that is not on the Internet")
        if not addresses:
            raise WebhookError("its host has no address")
        return addresses[0]
