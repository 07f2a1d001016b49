"""The processes of a service, each of which can be killed and started again."""

import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.support.ports import free_port

_MEMPLAN = str(Path(sys.executable).with_name("memplan"))
_PATIENCE_S = 90.0
_NO_AUTHORITIES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # reading authorities takes 26 ms of CPU time per call


@dataclass
class Machine:
    """A process that can be started again after it was killed, with the same command and port."""

    name: str
    command: tuple[str, ...]
    settings: Mapping[str, str] = field(default_factory=dict)
    url: str | None = None
    process: subprocess.Popen[bytes] | None = None
    log: Path | None = None

    def start(self) -> None:
        with (self.log or Path(os.devnull)).open("ab") as log:
            env, none = os.environ | self.settings, subprocess.DEVNULL
            self.process = subprocess.Popen(
                self.command, stdin=none, stdout=log, stderr=log, env=env, start_new_session=True
            )

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to the process alone, not to its children, and wait for its end."""
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait(_PATIENCE_S)

    def end(self) -> None:
        if self.process is not None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                return
            finally:
                self.process.wait(_PATIENCE_S)

    def wait_until_ready(self, path: str = "/readyz") -> None:
        wait_until(lambda: answers(f"{self.url}{path}"), f"{self.name} is ready")


def server(name: str, folder: Path, **settings: str) -> Machine:
    """Return a server with its data in `folder`, on a free port; settings are given without the prefix MEMPLAN_."""
    port = free_port()
    words, url = (_MEMPLAN, "serve", "--port", str(port)), f"http://127.0.0.1:{port}"
    env = {"MEMPLAN_DATA_FOLDER": str(folder / "data")} | {f"MEMPLAN_{key.upper()}": v for key, v in settings.items()}
    return Machine(name, words, env, url, log=folder / f"{name}.log")


def worker(name: str, folder: Path, database_url: str) -> Machine:
    return Machine(name, (_MEMPLAN, "worker", "--store", database_url, "--workers", "1"), log=folder / f"{name}.log")


@contextmanager
def machines(*all_of_them: Machine) -> Iterator[None]:
    """Start machines in order, and end all of them with the block."""
    try:
        for machine in all_of_them:
            machine.start()
        for machine in all_of_them:
            if (machine.url or "").startswith("http"):
                machine.wait_until_ready()
        yield
    finally:
        for machine in reversed(all_of_them):
            machine.end()


def wait_until(is_so: Callable[[], bool], what: str, patience_s: float = _PATIENCE_S) -> None:
    """Wait until a condition holds; fail with the message `what` if it does not in time."""
    deadline = time.monotonic() + patience_s
    while not is_so():
        assert time.monotonic() < deadline, f"not within {patience_s:g} s: {what}"
        time.sleep(0.05)


def request(method: str, url: str, timeout_s: float = 30.0, **said: Any) -> httpx.Response:
    with httpx.Client(timeout=timeout_s, trust_env=False, verify=_NO_AUTHORITIES) as client:
        return client.request(method, url, **said)


def answers(url: str) -> bool:
    try:
        return request("GET", url, 5.0).status_code == 200
    except httpx.TransportError:
        return False
