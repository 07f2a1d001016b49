"""How Dask is set up in each process of ours: for a few long tasks, quick to notice who is gone, and quiet."""

from __future__ import annotations

import logging
from typing import Any

import dask
import distributed  # noqa: F401 - its own defaults come first

from memplan.api.cluster.worker_pool import SILENT_S

NO_PAGES = "127.0.0.1:0"
"""Where Dask serves the pages that it cannot be kept from serving, of which there are none."""

# Defaults: what the environment says (DASK_DISTRIBUTED__…) counts more.
_DEFAULTS: dict[str, Any] = {
    "scheduler": {
        # A task that loses its worker comes back at once: who sent it knows a better plan to go on from by now.
        "allowed-failures": 0,
        "worker-ttl": SILENT_S,
        # What no worker is free for waits at the scheduler, by priority, and not behind a long task at some worker.
        "worker-saturation": 1.0,
        "work-stealing": False,
        "http": {"routes": []},
    },
    "worker": {
        "http": {"routes": []},
        "profile": {"enabled": False},
        # The memory of a worker is watched from outside, with that of its engines; see crew.py.
        "memory": {"target": False, "spill": False, "pause": False, "terminate": False},
    },
    "comm": {"timeouts": {"connect": 5, "tcp": 15}},
    "diagnostics": {"nvml": False, "computations": {"max-history": 1}, "erred-tasks": {"max-history": 1}},
    "admin": {
        "low-level-log-length": 10,
        "large-graph-warning-threshold": "1TB",
        "tick": {"interval": "1s", "limit": "60s"},
        "system-monitor": {"interval": "5s", "gil": {"enabled": False}},
    },
}


def set_up_dask() -> None:
    """Set Dask's defaults for our use, and let what it logs go where all our logs go."""
    dask.config.update_defaults({"distributed": _DEFAULTS})
    for name in ("distributed", "tornado"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
        logger.setLevel(logging.CRITICAL)  # what matters of it we say ourselves, in words that an operator knows
    for name in ("distributed.client", "distributed.gc", "tornado.application"):
        below = logging.getLogger(name)
        below.handlers.clear()
        below.propagate = True
        below.setLevel(logging.NOTSET)
