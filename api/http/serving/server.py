"""The HTTP server: it listens, and on shutdown answers every waiting caller with the best plan so far."""

import asyncio
import logging.config
import os
import socket
import threading
import time
from contextlib import suppress
from ipaddress import ip_address
from types import FrameType
from typing import TYPE_CHECKING, Any

from memplan.api.logs import log_config
from memplan.api.settings import Settings, read_settings, unknown_names
from memplan.api.store.errors import StoreError
from memplan.api.store.store import PATIENCE_S, Store
from memplan.planner.errors import OptionError, excerpt
from memplan.solvers.processes.harden import forbid_inspection

if TYPE_CHECKING:
    import uvicorn

_LAST_ANSWERS_S = 5
_ACCEPTED_AT_ONCE = 128
_IDLE_S = 75
"""The seconds for which an idle connection stays open; proxies in front of the server have shorter timeouts."""
_KEEPALIVE = {"TCP_KEEPIDLE": 15, "TCP_KEEPINTVL": 5, "TCP_KEEPCNT": 3, "TCP_USER_TIMEOUT": 30_000}
"""Socket options that close connections to vanished or unresponsive clients; units: s, s, number of probes, ms."""
_LOG = logging.getLogger("memplan")


def serve(host: str, port: int, without_keys: bool = False) -> None:
    """Serve until a signal stops the process; port 0 selects a free port.

    Raises OptionError for wrong settings, for an unusable store, or if keys are required but none exists.
    """
    settings = read_settings()
    if settings.has_secrets:
        forbid_inspection()
    _take_all_descriptors()
    log = log_config(settings.log_format)
    logging.config.dictConfig(log)
    for name in unknown_names(os.environ):
        _LOG.warning("%s: is not a known setting", name)
    with bind_socket(host, port) as listener:
        settings = decide_keys(settings, listener, without_keys)
        _check_store(settings)
        threading.Thread(target=_log_when_listening, args=(listener,), daemon=True).start()
        import uvicorn

        from memplan.api.http.app import create_app

        app = create_app(settings)
        server = uvicorn.Server(config(app, log))
        leave = server.handle_exit

        def stop(number: int, frame: FrameType | None) -> None:
            asyncio.get_running_loop().call_soon_threadsafe(app.state.service.stop)
            leave(number, frame)

        server.handle_exit = stop  # type: ignore[assignment, method-assign]
        server.run([listener])


def config(app: Any, log: dict[str, Any] | None) -> "uvicorn.Config":
    """Return the uvicorn configuration for an ASGI app."""
    import uvicorn

    from memplan.api.http.serving.connections import Connection, max_connections

    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        log_config=log,
        log_level="warning",
        access_log=False,  # the app's own log has more facts and no caller data, so uvicorn's log is off
        server_header=False,
        proxy_headers=False,
        limit_concurrency=max_connections(),
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=_LAST_ANSWERS_S,
        backlog=_ACCEPTED_AT_ONCE,
    )


def _take_all_descriptors() -> None:
    import resource

    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _log_when_listening(listener: socket.socket) -> None:
    with suppress(OSError):  # A server that is stopping may have closed the listener already, so ignore errors.
        while not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            time.sleep(0.05)
        host, port = listener.getsockname()[:2]
        _LOG.info("memplan listens on http://%s:%d", f"[{host}]" if ":" in host else host, port)


def decide_keys(settings: Settings, listener: socket.socket, without_keys: bool = False) -> Settings:
    """Return the settings with `require_keys` decided: by default, keys are required if other machines can connect.

    Raises OptionError if `without_keys` contradicts settings that require keys.
    """
    without_keys = without_keys or settings.require_keys is False
    for name, is_set in (("REQUIRE_KEYS", settings.require_keys), ("ADMIN_KEY", settings.admin_key)):
        if without_keys and is_set:
            raise OptionError(f"without-keys: must not be given if MEMPLAN_{name} is set")
    is_public = not ip_address(listener.getsockname()[0]).is_loopback
    if without_keys and is_public:
        _LOG.warning("no keys are asked for: whoever reaches this address may plan, and sees all jobs")
    if without_keys:
        return settings.model_copy(update={"require_keys": False})
    return settings.model_copy(update={"require_keys": True}) if is_public else settings


def _check_store(settings: Settings) -> None:
    """Raise OptionError if the store is unusable, or if keys are required but no valid key exists."""
    try:
        store = Store.open(settings.database_url, settings.data_folder, PATIENCE_S)
    except StoreError as error:
        raise OptionError(f"store: {error}") from error
    try:
        if settings.require_keys and settings.admin_key is None and not store.keys.is_any_valid():
            raise OptionError(
                "keys: must not be empty if other machines can connect: add a key with `memplan keys add NAME`, "
                "set MEMPLAN_ADMIN_KEY, or let in every caller with --without-keys"
            )
    finally:
        store.close()


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a bound socket that does not listen yet; clients can connect once the server can answer.

    Raises OptionError for an address that is not this machine's, or a port in use.
    """
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        if isinstance(error, socket.gaierror):
            rule = "host: must be an address or a name of this machine, without the port, which --port sets"
            raise OptionError(f"{rule}, got {excerpt(host)}") from error
        raise OptionError(f"port: cannot listen on {host}:{port}: {error.strerror}") from error
    # Without TCP_NODELAY, each answer waits 40 ms for an ACK, and asyncio sets it only on its own sockets.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # Accepted connections inherit the listener's keepalive options, so set them once here.
    for name, value in _KEEPALIVE.items():
        if hasattr(socket, name):
            listener.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
    return listener
