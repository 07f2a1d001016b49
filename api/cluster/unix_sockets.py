"""A way for Dask to talk within one machine that no other user can join: sockets in a folder of its owner's alone.

Whoever reaches a scheduler can have it run programs, so a port, if only of the loopback interface, would open the
server's account to everybody on the machine. Addresses are `unix://FOLDER/NAME`.
"""

from __future__ import annotations

import secrets
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from distributed.comm.core import BaseListener, Comm, CommClosedError, Connector
from distributed.comm.registry import Backend, backends
from distributed.comm.tcp import MAX_BUFFER_SIZE, TCP
from tornado.iostream import IOStream, StreamClosedError
from tornado.netutil import bind_unix_socket
from tornado.tcpserver import TCPServer

PREFIX = "unix://"
_BACKLOG = 256


def use_folder(folder: Path) -> None:
    """Let Dask, in this process, understand these addresses, and listen at new ones in a folder that is private."""
    backends["unix"] = _UnixSockets(folder)


def folder_of(address: str) -> Path:
    """Return the folder that an address is in."""
    return Path(address.removeprefix(PREFIX)).parent


class _UnixSockets(Backend):
    """What Dask asks of a way to talk; `loc` is an address without its prefix."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def get_connector(self) -> Connector:
        return _Connector()

    def get_listener(
        self, loc: str, handle_comm: Callable[[Comm], Awaitable[None]], deserialize: bool, **_options: Any
    ) -> BaseListener:
        return _Listener(loc or str(self.folder / secrets.token_hex(8)), handle_comm, deserialize)

    def get_address_host(self, loc: str) -> str:
        return loc

    def resolve_address(self, loc: str) -> str:
        return loc

    def get_local_address_for(self, loc: str) -> str:
        return ""


class _Connector(Connector):
    async def connect(self, address: str, deserialize: bool = True, **_options: Any) -> Comm:
        stream = IOStream(socket.socket(socket.AF_UNIX), max_buffer_size=int(MAX_BUFFER_SIZE))
        try:
            await stream.connect(address)
        except StreamClosedError as error:
            raise CommClosedError(f"nobody listens at {PREFIX}{address}") from error
        return _comm(stream, address, deserialize)


class _Listener(BaseListener):
    prefix = "unix"

    def __init__(self, path: str, comm_handler: Callable[[Comm], Awaitable[None]], deserialize: bool) -> None:
        super().__init__()
        self.path, self.comm_handler, self.deserialize = path, comm_handler, deserialize
        self.server = _Server(self._serve)

    @property
    def listen_address(self) -> str:
        return PREFIX + self.path

    @property
    def contact_address(self) -> str:
        return PREFIX + self.path

    async def start(self) -> None:
        self.server.add_socket(bind_unix_socket(self.path, mode=0o600, backlog=_BACKLOG))

    def stop(self) -> None:
        self.server.stop()
        Path(self.path).unlink(missing_ok=True)

    async def _serve(self, stream: IOStream) -> None:
        comm = _comm(stream, self.path, self.deserialize)
        try:
            await self.on_connection(comm)
        except CommClosedError:
            return
        await self.comm_handler(comm)


class _Server(TCPServer):
    """Tornado's server, which takes any sockets that it is given."""

    def __init__(self, serve: Callable[[IOStream], Awaitable[None]]) -> None:
        super().__init__(max_buffer_size=int(MAX_BUFFER_SIZE))
        self.serve = serve

    async def handle_stream(self, stream: IOStream, address: object) -> None:
        """Serve who connected."""
        await self.serve(stream)


def _comm(stream: IOStream, path: str, deserialize: bool) -> Comm:
    """Speak over a socket as Dask does over TCP; its two ends have one name, and a number to tell them apart."""
    return TCP(stream, PREFIX + path, f"{PREFIX}{path}#{stream.fileno()}", deserialize)
