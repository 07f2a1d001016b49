"""A real server on the loopback interface, in a thread of the test process, so that tests can inspect its state."""

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
from memplan.api.http.serving.server import bind_socket, config
from memplan.api.settings import Settings
from memplan.api.store.api_key import Key, new_secret


@dataclass(frozen=True)
class RunningServer:
    client: httpx.Client
    port: int
    service: Service

    def wait_for_end(self, job: Mapping[str, Any], limit_s: float = 60.0) -> dict[str, Any]:
        give_up = time.monotonic() + limit_s
        while (found := self.client.get(job["links"]["self"]).json())["finished_at"] is None:
            assert time.monotonic() < give_up, found
            time.sleep(0.02)
        answer: dict[str, Any] = found
        return answer


@contextmanager
def run_server(settings: Settings | None = None) -> Iterator[RunningServer]:
    """Run the service on a free port until the block ends.

    Its store is new, unless the settings name another one.
    """
    with (
        TemporaryDirectory(prefix="memplan-") as folder,
        _run_server(_local_settings(settings or Settings(), Path(folder))) as found,
    ):
        yield found


def _local_settings(settings: Settings, folder: Path) -> Settings:
    if settings.database_url is not None or "data_folder" in settings.model_fields_set:
        return settings
    return settings.model_copy(update={"data_folder": folder})


@contextmanager
def _run_server(settings: Settings) -> Iterator[RunningServer]:
    app = create_app(settings)
    service: Service = app.state.service
    server = uvicorn.Server(config(app, log=None))
    listener = bind_socket("127.0.0.1", 0)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive(), "the server did not start"
            time.sleep(0.01)
        port: int = listener.getsockname()[1]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60.0, trust_env=False) as client:
            yield RunningServer(client, port, service)
    finally:
        service.stop()
        server.should_exit = True
        thread.join()


def key_for(server: RunningServer, name: str, *scopes: str, **quotas: int) -> dict[str, str]:
    """Make a key, and return the headers that carry it."""
    key_id, text, kept = new_secret()
    server.service.store.keys.add(Key(key_id, name, kept, frozenset(scopes), time.time(), **quotas))
    return {"Authorization": f"Bearer {text}"}
