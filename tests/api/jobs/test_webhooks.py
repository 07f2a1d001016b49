"""The ends of jobs, told to webhooks: signed, again until they are taken, and to no address that is not public."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import socket
import threading
import time
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

from memplan.api.jobs.webhook_urls import check_webhook, is_public
from memplan.api.jobs.webhooks import Webhooks, secret_of
from memplan.api.settings import Settings
from memplan.api.store.job import JobOutcome
from memplan.api.store.store import Store
from memplan.api.store.tables.deliveries import WebhookDelivery
from memplan.planner.errors import OptionError
from tests.support.made_jobs import add, claim

MASTER = "a secret of the server, long enough".replace(" ", "-")
OPEN = Settings(webhook_secret=MASTER, webhook_private=True)
CLOSED = Settings(webhook_secret=MASTER)
PATIENCE_S = 20.0
PAGE = Path(__file__).parents[3] / "docs" / "service.md"


class Receiver:
    """A server that answers with one status after the other, and keeps what it is told."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.told: list[tuple[dict[str, str], bytes]] = []
        self.is_done = asyncio.Event()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
        body = await reader.readexactly(int(headers["content-length"]))
        self.told.append((headers | {"request": head[0]}, body))
        writer.write(f"HTTP/1.1 {self.statuses.pop(0)} Said\r\nContent-Length: 0\r\n\r\n".encode())
        await writer.drain()
        writer.close()
        if not self.statuses:
            self.is_done.set()


def tell(store: Store, settings: Settings, receiver: Receiver) -> None:
    """End a job with the receiver as its webhook, and wait until all its answers are given."""

    async def day() -> None:
        server = await asyncio.start_server(receiver.answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        add(store, webhook=f"http://127.0.0.1:{port}/hook?a=b", key_id="key1")
        store.leases.finish(claim(store).lease, JobOutcome("failed", error="it could not"))
        webhooks = Webhooks(store, settings, pauses_s=(0.0, 0.0))
        webhooks.open()
        async with asyncio.timeout(PATIENCE_S):
            await receiver.is_done.wait()
            while store.deliveries.waiting():
                await asyncio.sleep(0.01)
        await webhooks.close()
        server.close()

    asyncio.run(day())


def test_the_receiver_of_the_page_takes_what_is_signed_and_nothing_else(tmp_path: Path) -> None:
    names: dict[str, Any] = {}
    (code,) = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    exec(compile(code, "service.md", "exec"), names)
    receiver = Receiver(204)
    with closing(Store.open(None, tmp_path)) as store:
        tell(store, OPEN, receiver)
    (sent, body), secret = receiver.told[0], secret_of(MASTER, "key1")
    headers = {name.title(): value for name, value in sent.items()}
    assert names["told"](headers, body, secret)["job"]["state"] == "failed"
    at = int(headers["Memplan-Timestamp"])
    assert names["told"](headers, body + b" ", secret) is None
    assert names["told"](headers, body, secret_of(MASTER, "key2")) is None
    assert names["told"](headers, body, secret, now=at + 301) is None
    assert names["told"]({**headers, "Memplan-Timestamp": str(at + 1)}, body, secret) is None
    assert names["told"]({**headers, "Memplan-Signature": "v1=\xe9"}, body, secret) is None


def test_the_end_of_a_job_is_told_until_it_is_taken_with_one_id_and_a_signature(tmp_path: Path) -> None:
    receiver = Receiver(500, 302, 204)
    with closing(Store.open(None, tmp_path)) as store:
        tell(store, OPEN, receiver)
    assert len(receiver.told) == 3
    assert len({headers["memplan-delivery"] for headers, _ in receiver.told}) == 1
    headers, body = receiver.told[-1]
    assert headers["request"] == "POST /hook?a=b HTTP/1.1"
    content = json.loads(body)
    assert (content["type"], content["id"]) == ("job.finished", headers["memplan-delivery"])
    assert (content["job"]["state"], content["job"]["error"]) == ("failed", "it could not")
    secret = secret_of(MASTER, "key1")
    signed = hmac.new(secret.encode(), headers["memplan-timestamp"].encode() + b"." + body, sha256).hexdigest()
    assert headers["memplan-signature"] == f"v1={signed}"
    assert secret != secret_of(MASTER, None) != secret_of(MASTER, "key2")


def test_keys_take_turns_and_silent_receivers_hold_back_only_their_own(tmp_path: Path) -> None:
    receiver = Receiver(204)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def day() -> None:
        servers = [await asyncio.start_server(answer, "127.0.0.1", 0) for answer in (silent, receiver.answer)]
        ports = [server.sockets[0].getsockname()[1] for server in servers]
        for port, key in ((ports[0], "many"),) * 70 + ((ports[1], "few"),):
            add(store, webhook=f"http://127.0.0.1:{port}/", key_id=key)
            store.leases.finish(claim(store).lease, JobOutcome("succeeded"))
        webhooks = Webhooks(store, OPEN)
        webhooks.open()
        async with asyncio.timeout(8.0):  # less than a silent receiver is given
            await receiver.is_done.wait()
        await webhooks.close()
        for server in servers:
            server.close()
        await asyncio.sleep(0.1)  # the silent ends see that nobody waits any more

    with closing(Store.open(None, tmp_path)) as store:
        asyncio.run(day())


def test_names_that_are_looked_up_slowly_hold_back_no_other_key_and_no_other_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver, gates, asked = Receiver(204), threading.Event(), list[str]()
    look_up = socket.getaddrinfo

    def slowly(host: str, *rest: Any, **more: Any) -> Any:
        if host.endswith(".invalid"):
            asked.append(host)
            gates.wait(PATIENCE_S)
        return look_up(host, *rest, **more)

    async def day() -> None:
        server = await asyncio.start_server(receiver.answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        for k in range(12):
            add(store, webhook=f"http://{k}.invalid/", key_id="many")
            store.leases.finish(claim(store).lease, JobOutcome("succeeded"))
        add(store, webhook=f"http://127.0.0.1:{port}/", key_id="few")
        store.leases.finish(claim(store).lease, JobOutcome("succeeded"))
        monkeypatch.setattr(socket, "getaddrinfo", slowly)
        webhooks = Webhooks(store, OPEN)
        webhooks.open()
        async with asyncio.timeout(8.0):
            await receiver.is_done.wait()
            assert await asyncio.to_thread(lambda: 7) == 7
        assert len(asked) == 1
        gates.set()
        await webhooks.close()
        server.close()

    with closing(Store.open(None, tmp_path)) as store:
        asyncio.run(day())


def test_what_was_wrong_is_said_of_a_time_out_too(caplog: pytest.LogCaptureFixture) -> None:
    class NeverAnswered(Webhooks):
        async def _post(self, client: httpx.AsyncClient, delivery: WebhookDelivery) -> None:
            raise TimeoutError

    async def day(store: Store) -> None:
        add(store, webhook="https://hooks.example/")
        store.leases.finish(claim(store).lease, JobOutcome("failed", error="it could not"))
        (delivery,) = store.deliveries.due(time.time(), 1, [time.time()])
        async with httpx.AsyncClient() as client:
            await NeverAnswered(store, OPEN, pauses_s=(60.0,))._tell(client, delivery)

    with TemporaryDirectory() as folder, closing(Store.open(None, Path(folder))) as store:
        asyncio.run(day(store))
    assert caplog.messages[-1].endswith("is told again later: TimeoutError")


def test_what_is_never_taken_is_given_up(tmp_path: Path) -> None:
    receiver = Receiver(500, 500, 500)
    with closing(Store.open(None, tmp_path)) as store:
        tell(store, OPEN, receiver)
        assert store.deliveries.waiting() == []


def test_jobs_without_a_webhook_and_those_that_go_on_tell_nothing(tmp_path: Path) -> None:
    with closing(Store.open(None, tmp_path)) as store:
        add(store)
        store.leases.finish(claim(store).lease, JobOutcome("succeeded"))
        waits = add(store, webhook="https://hooks.example/a")
        store.leases.hand_back(claim(store).lease, "its server stopped")
        assert store.deliveries.waiting() == []
        store.jobs.ask_to_cancel(waits)
        assert store.deliveries.waiting() == [(waits, 0)]
        assert [one.attempts for one in store.deliveries.due(2e9, 10, [3e9, 4e9])] == [1]
        assert store.deliveries.due(2e9, 10, [3e9, 4e9]) == []  # another server has it
        assert [one.attempts for one in store.deliveries.due(3e9, 10, [3e9, 4e9])] == [2]


@pytest.mark.parametrize(
    ("address", "public"),
    [
        *(
            (text, False)
            for text in ("127.0.0.1", "10.1.2.3", "192.168.0.1", "169.254.169.254", "0.0.0.0", "224.0.0.1")
        ),
        *(
            (text, False)
            for text in ("::1", "fe80::1%eth0", "fc00::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "ff02::1")
        ),
        *((text, False) for text in ("192.88.99.1", "192.0.0.8", "168.63.129.16", "3fff::1", "fec0::1")),
        *(
            (text, False)
            for text in ("2001:0:5db8:d822::a247:27dd", "2002:7f00:1::", "100.64.0.1", "198.18.0.1", "240.0.0.1", "::")
        ),
        *((text, True) for text in ("93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::5db8:d822")),
    ],
)
def test_addresses_that_are_not_on_the_internet_are_known(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_a_host_with_a_private_address_is_told_nothing(tmp_path: Path) -> None:
    receiver = Receiver(204)
    with closing(Store.open(None, tmp_path)) as store:

        async def day() -> None:
            server = await asyncio.start_server(receiver.answer, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            add(store, webhook=f"https://localhost:{port}/")
            store.leases.finish(claim(store).lease, JobOutcome("succeeded"))
            webhooks = Webhooks(store, CLOSED, pauses_s=(0.0,))
            webhooks.open()
            async with asyncio.timeout(PATIENCE_S):
                while store.deliveries.waiting():
                    await asyncio.sleep(0.01)
            await webhooks.close()
            server.close()

        asyncio.run(day())
    assert receiver.told == []


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://hooks.example/", "must begin with https://"),
        ("ftp://hooks.example/", "must begin with https://"),
        ("https://", "must name a host"),
        ("https://me:secret@hooks.example/", "must name a host, without a user"),
        ("https://hooks.example/#a", "must name a host"),
        ("https://hooks.example:99999/", "must be a URL"),
        ("https://[::1/", "must be a URL"),
        ("https://hooks.example/" + 2000 * "a", "must be at most 2000 visible ASCII characters"),
        ("https://hooks.example/a b", "must be at most 2000 visible ASCII characters"),
        ("https://hooks.example/\r\nHost: x", "must be at most 2000 visible ASCII characters"),
    ],
)
def test_a_url_that_cannot_be_told_is_refused(url: str, rule: str) -> None:
    with pytest.raises(OptionError, match=f"webhook: {rule}"):
        check_webhook(url, CLOSED)
    check_webhook("https://hooks.example:8443/a?b=c", CLOSED)
    with pytest.raises(OptionError, match="must not be given to a server without MEMPLAN_WEBHOOK_SECRET"):
        check_webhook("https://hooks.example/", Settings())
