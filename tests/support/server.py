"""A real server on the loopback interface, in a thread of the tests, so that tests can look at what it shares."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import uvicorn

from memplan.api.http.app import create_app
from memplan.api.http.app_state import Service
from memplan.api.http.serving.server import config, listening
from memplan.api.settings import Settings
from memplan.api.store.api_key import Key, new_secret


@dataclass(frozen=True)
class Running:
    """A server that answers."""

    client: httpx.Client
    port: int
    service: Service

    def ended(self, job: Mapping[str, Any], limit_s: float = 60.0) -> dict[str, Any]:
        """Return what is said of a job once it has ended."""
        give_up = time.monotonic() + limit_s
        while (found := self.client.get(job["links"]["self"]).json())["finished_at"] is None:
            assert time.monotonic() < give_up, found
            time.sleep(0.02)
        answer: dict[str, Any] = found
        return answer


@contextmanager
def running(settings: Settings | None = None) -> Iterator[Running]:
    """Run the service on a free port until the block ends.

    It has a store of its own, unless the settings say otherwise.
    """
    with (
        TemporaryDirectory(prefix="memplan-") as folder,
        _running(_away_from_home(settings or Settings(), Path(folder))) as found,
    ):
        yield found


def _away_from_home(settings: Settings, folder: Path) -> Settings:
    if settings.database_url is not None or "data_folder" in settings.model_fields_set:
        return settings
    return settings.model_copy(update={"data_folder": folder})


@contextmanager
def _running(settings: Settings) -> Iterator[Running]:
    app = create_app(settings)
    service: Service = app.state.service
    server = uvicorn.Server(config(app, log=None))
    listener = listening("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        port: int = listener.getsockname()[1]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60.0, trust_env=False) as client:
            yield Running(client, port, service)
    finally:
        service.stop()
        server.should_exit = True
        thread.join()


def key_for(server: Running, name: str, *scopes: str, **quotas: int) -> dict[str, str]:
    """Make a key; return the headers that carry it."""
    key_id, text, kept = new_secret()
    server.service.store.keys.add(Key(key_id, name, kept, frozenset(scopes), time.time(), **quotas))
    return {"Authorization": f"Bearer {text}"}
