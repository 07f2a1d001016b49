"""A machine's workers, or the scheduler, run until a signal says to stop: `memplan worker`, `memplan scheduler`."""

from __future__ import annotations

import asyncio
import logging
import signal
from contextlib import AbstractAsyncContextManager

from memplan.api.cluster import dask
from memplan.api.cluster.worker_pool import WorkerPool
from memplan.api.settings import Settings
from memplan.planner.errors import OptionError

_LOG = logging.getLogger("memplan")


def run_workers(settings: Settings) -> None:
    """Run `settings.workers` processes for `settings.scheduler`; raises OptionError where there are none."""
    if settings.scheduler is None:
        raise OptionError("scheduler: must be given, or be in MEMPLAN_SCHEDULER")
    if settings.workers < 1:
        raise OptionError(f"workers: must be at least 1, got {settings.workers}")
    _LOG.info("workers for the scheduler at %s: %d", settings.scheduler, settings.workers)
    asyncio.run(_until_signalled(WorkerPool(settings.scheduler, settings).running()))


def run_scheduler(host: str, port: int, protocol: str) -> None:
    """Run a scheduler until a signal; raises OptionError where it cannot listen, or cannot have the protocol."""
    dask.set_up()
    asyncio.run(_schedule(host, port, protocol))


async def _schedule(host: str, port: int, protocol: str) -> None:
    try:
        running = await dask.scheduler(host, port, protocol)
    except (OSError, RuntimeError, ValueError, TypeError) as error:
        reason = error.__cause__ or error
        raise OptionError(f"scheduler: cannot listen on {protocol}://{host}:{port}: {reason}") from error
    _LOG.info("the scheduler listens on %s", running.address)
    await _until_signalled(running)


async def _until_signalled(running: AbstractAsyncContextManager[object]) -> None:
    is_told = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, is_told.set)
    async with running:
        await is_told.wait()
