"""The one module that knows the insides of Dask distributed: its settings, its private arguments and its errors.

`tests/api/cluster/test_dask.py` names what is assumed of it; pyproject.toml caps its version.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

import dask
from distributed import Client, Future, Scheduler, Security, Worker, get_worker
from distributed.gc import disable_gc_diagnosis
from distributed.scheduler import DEFAULT_EXTENSIONS
from distributed.scheduler import KilledWorker as KilledWorker
from distributed.system import MEMORY_LIMIT

SILENT_S = 10.0
"""After so long without a sign of life a worker, or a scheduler, counts as lost."""
LOST = (CancelledError, KilledWorker, OSError)
"""The errors of a future whose worker is gone, or the connection to its scheduler."""
MEMORY_BYTES: int = MEMORY_LIMIT
"""The memory of this machine, or what its container may use."""
_LOOPBACK = "127.0.0.1"
_NO_PAGES = f"{_LOOPBACK}:0"
"""The address of Dask's pages, of which there are none; it cannot be kept from listening."""
_WITHOUT = ("spans", "stealing")
"""Extensions of a scheduler that are left out: statistics that keep something of every task for ever; moving tasks."""
_CONNECT_S = 5.0

# Defaults: what the environment says (DASK_DISTRIBUTED__…) counts more.
_DEFAULTS: dict[str, Any] = {
    "scheduler": {
        # A task that loses its worker fails at once: its server sends it anew, from a better plan.
        "allowed-failures": 0,
        "worker-ttl": SILENT_S,
        # A task for which no worker is free waits at the scheduler, by priority, and not behind a long task.
        "worker-saturation": 1.0,
        "work-stealing": False,
        "http": {"routes": []},
    },
    "worker": {
        "http": {"routes": []},
        "profile": {"enabled": False},
        # The memory of a worker is watched from outside, with that of its engines; see worker_pool.py.
        "memory": {"target": False, "spill": False, "pause": False, "terminate": False},
    },
    "comm": {"timeouts": {"connect": 5, "tcp": 15}},
    "diagnostics": {"nvml": False, "computations": {"max-history": 1}, "erred-tasks": {"max-history": 1}},
    "admin": {
        "low-level-log-length": 1,
        "large-graph-warning-threshold": "1TB",
        "tick": {"interval": "1s", "limit": "60s"},
        "system-monitor": {"interval": "5s", "gil": {"enabled": False}},
    },
}


class TaskMessage(NamedTuple):
    """A message of a task that is being solved: its worker, its key, and its progress, packed."""

    worker: str
    key: str
    content: bytes


def set_up() -> None:
    """Set Dask's defaults for few long tasks, in this process; let its log go where all logs go, with little in it."""
    dask.config.update_defaults({"distributed": _DEFAULTS})
    for level, names in (
        (logging.CRITICAL, ("distributed", "tornado")),  # the cluster logs what matters, in an operator's words
        (logging.NOTSET, ("distributed.client", "distributed.gc", "tornado.application")),
    ):
        for name in names:
            logger = logging.getLogger(name)
            logger.handlers.clear()
            logger.propagate = True
            logger.setLevel(level)


def worker_certificate(security: Security) -> dict[str, Any]:
    """Return the arguments of the Security of a worker in another process: its key and certificates as text."""
    names = ("tls_ca_file", "tls_worker_key", "tls_worker_cert")
    return {name: getattr(security, name) for name in names} | {"require_encryption": True}


def client_certificate(security: Security) -> dict[str, Any]:
    """Return the arguments of the Security of a server in another process: its key and certificates as text."""
    names = ("tls_ca_file", "tls_client_key", "tls_client_cert")
    return {name: getattr(security, name) for name in names} | {"require_encryption": True}


def scheduler(host: str | None, port: int = 0, protocol: str = "tcp", security: Security | None = None) -> Scheduler:
    """Make a scheduler without pages of its own; it runs when it is awaited, or for as long as it is entered."""
    extensions = {name: kind for name, kind in DEFAULT_EXTENSIONS.items() if name not in _WITHOUT}
    return Scheduler(
        host=host,
        port=port,
        protocol=protocol,
        security=security,
        dashboard=False,
        dashboard_address=_NO_PAGES,
        extensions=extensions,
    )


def worker(scheduler: str, threads: int = 1, security: Security | None = None) -> Worker:
    """Make a worker of a scheduler, in this process; it runs when it is awaited, or for as long as it is entered."""
    return Worker(
        scheduler,
        nthreads=threads,
        security=security,
        host=_LOOPBACK if f"://{_LOOPBACK}:" in scheduler else None,  # else it listens on all addresses
        memory_limit=0,
        dashboard_address=_NO_PAGES,
        extensions={},
    )


def time_no_collections() -> None:
    """Take out Dask's clocks of the garbage collector, in which the end of a task would leave them at odds."""
    disable_gc_diagnosis()


def client(address: str, security: Security | None = None, is_asynchronous: bool = True) -> Client:
    """Make a client of a scheduler, which connects when it is awaited; raises OSError, ValueError."""
    return Client(
        address,
        security=security,
        asynchronous=is_asynchronous,
        timeout=_CONNECT_S,
        set_as_default=False,
        name="memplan",
    )


def submit(client: Client, function: Callable[..., bytes], *values: object, key: str, priority: int) -> Future[bytes]:
    """Send a call to the worker that is free first; until then it waits at the scheduler."""
    # Only what Dask takes for a producer of data waits there.
    return client.submit(function, *values, key=key, pure=False, priority=priority, _data_producer=True)


def teller(topic: str, key: str) -> Callable[[bytes], None]:
    """Return a function by which the task that runs in this thread sends messages, from any thread."""
    worker = get_worker()
    return lambda content: worker.log_event(topic, TaskMessage(worker.address, key, content))


def subscribe(client: Client, topic: str, hear: Callable[[TaskMessage], Awaitable[None]]) -> None:
    """Have the messages of tasks to a topic heard, one after the other."""

    async def handle(event: tuple[float, tuple[str, str, bytes]]) -> None:
        await hear(TaskMessage(*event[1]))

    client.subscribe_topic(topic, handle)
