"""Starts a server with `memplan serve`, sends requests to it, and measures the resources of its processes."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import psutil

from tests.support.ports import free_port

T = TypeVar("T")
_READY = b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
_PATIENCE_S = 180.0


@dataclass(frozen=True)
class ServerProcess:
    """A server that is running and ready for requests; the file `log` has its output."""

    host: str
    port: int
    process: psutil.Process
    log: Path

    def cpu_s(self) -> float:
        return sum(self._process_values(lambda one: float(sum(one.cpu_times()[:4]))))

    def descriptors(self) -> int:
        return sum(self._process_values(lambda one: int(one.num_fds())))

    def _process_values(self, of: Callable[[psutil.Process], T]) -> list[T]:
        found = []
        for one in (self.process, *self.process.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                found.append(of(one))
        return found


async def exchange(own: ServerProcess, path: str, body: bytes, key: str | None = None, method: str = "POST") -> bytes:
    """Send a request on a new connection, and return all bytes of the HTTP response. Raises OSError."""
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nConnection: close\r\n"
    head += f"Content-Length: {len(body)}\r\n" + (f"Authorization: Bearer {key}\r\n" if key else "") + "\r\n"
    reader, writer = await asyncio.open_connection(own.host, own.port)
    try:
        writer.writelines((head.encode(), body))
        return await reader.read()
    finally:
        writer.close()


@contextmanager
def run_server(folder: Path, **settings: str) -> Iterator[ServerProcess]:
    """Run a server during the block, with its data in `folder`; names of settings omit the prefix MEMPLAN_."""
    port, log = free_port(), folder / "log"
    told = {"MEMPLAN_DATA_FOLDER": str(folder / "data")} | {
        f"MEMPLAN_{name.upper()}": v for name, v in settings.items()
    }
    command = [str(Path(sys.executable).with_name("memplan")), "serve", "--port", str(port)]
    with log.open("wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=os.environ | told)
    try:
        _wait_until_ready(port, process, log)
        yield ServerProcess("127.0.0.1", port, psutil.Process(process.pid), log)
    finally:
        process.terminate()
        process.wait(_PATIENCE_S)


def _wait_until_ready(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server is ready. Raises RuntimeError with the log's end if the server ends or takes too long."""
    give_up = time.monotonic() + _PATIENCE_S
    while process.poll() is None and time.monotonic() < give_up:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE_S) as line:
                line.sendall(_READY)
                if line.recv(12).endswith(b"200"):
                    return
        except OSError:
            pass
        time.sleep(0.1)
    raise RuntimeError(f"the server must become ready, got the log {log.read_text()[-2000:]}")
