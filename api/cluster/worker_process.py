"""A worker process: it joins a scheduler, solves one task at a time, and ends with the process that started it.

It writes a byte to its parent every second, as a heartbeat. Engines notice its end by their own pipes.
"""

from __future__ import annotations

import asyncio
import logging.config
import os

from distributed import Security, Status

from memplan.api.cluster import dask, worker_task
from memplan.api.cluster.worker_pool import TOO_HEAVY_SIGNAL
from memplan.api.logs import log_config
from memplan.api.readiness import warm_up
from memplan.solvers.processes.harden import take_at_most
from memplan.solvers.processes.parent import Parent

_HEARTBEAT_EVERY_S, _POLL_EVERY_S, _TOLD_S = 1.0, 0.2, 0.1
_NICENESS = 10
"""A server beside its workers stays quick; where nothing else runs, it makes no difference."""
_LOG = logging.getLogger("memplan")


def main() -> None:
    """Run the process."""
    parent = Parent(_NICENESS)
    arguments = parent.task
    logging.config.dictConfig(log_config(arguments["log_format"]))
    dask.set_up()
    worker_task.own_this_process()
    take_at_most(arguments["most_bytes"])
    security = None if arguments["security"] is None else Security(**arguments["security"])
    asyncio.run(_work(arguments["scheduler"], security, parent.answers.fileno()))


async def _work(scheduler: str, security: Security | None, output: int) -> None:
    heartbeats = asyncio.create_task(_send_heartbeats(output))
    await asyncio.to_thread(warm_up)
    asyncio.get_running_loop().add_signal_handler(TOO_HEAVY_SIGNAL, _end_too_heavy)
    worker = await dask.worker(scheduler, security=security)
    dask.time_no_collections()
    _LOG.info("worker process %d joined the scheduler at %s", os.getpid(), scheduler)
    while worker.status is Status.running and not heartbeats.done():
        await asyncio.sleep(_POLL_EVERY_S)
    os._exit(1)  # without a scheduler the search is of no use, and nothing else would end it


def _end_too_heavy() -> None:
    """End this process, a moment after what it does was told to be too much for a worker."""
    worker_task.tell_too_heavy()
    asyncio.get_running_loop().call_later(_TOLD_S, os._exit, 1)


async def _send_heartbeats(output: int) -> None:
    while True:
        os.write(output, b".")
        await asyncio.sleep(_HEARTBEAT_EVERY_S)


if __name__ == "__main__":
    main()
