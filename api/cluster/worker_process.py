"""A worker process: it joins a scheduler, solves one task at a time, and ends when whoever started it is gone.

It reads its orders (a line of JSON) from standard input, which stays open for as long as it shall live, and writes a
byte to standard output every second, as a sign of life.
"""

from __future__ import annotations

import asyncio
import json
import logging.config
import os
import sys
import threading

from distributed import Status

from memplan.api.cluster import dask, unix_sockets, worker_task
from memplan.api.cluster.worker_pool import JOINED
from memplan.api.logs import log_config
from memplan.api.readiness import warm_up
from memplan.solvers.kernels import cache

_BEAT_S, _LOOK_EVERY_S = 1.0, 0.2
_NICENESS = 10
"""A server beside its workers stays quick; where nothing else runs, it makes no difference."""


def main() -> None:
    """Be the process."""
    orders = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_die_with_parent, daemon=True).start()
    os.nice(_NICENESS)
    logging.config.dictConfig(log_config(orders["log_format"]))
    dask.set_up()
    worker_task.own_this_process()
    signs = os.dup(1)
    os.dup2(2, 1)  # what solvers print must not look like life
    if orders["scheduler"].startswith(unix_sockets.PREFIX):
        unix_sockets.use_folder(unix_sockets.folder_of(orders["scheduler"]))
    asyncio.run(_work(orders["scheduler"], orders["name"], signs))


async def _work(scheduler: str, name: str, signs: int) -> None:
    beating = asyncio.create_task(_beat(signs))  # which is held, or it would be forgotten
    if cache.find() is not None:  # else the first search sees to it that they are compiled
        await asyncio.to_thread(warm_up)
    worker = await dask.worker(scheduler, name=name)
    os.write(signs, JOINED)
    while worker.status is Status.running and not beating.done():
        await asyncio.sleep(_LOOK_EVERY_S)
    os._exit(1)  # without a scheduler nobody waits for what is being solved, and nothing else would end that


async def _beat(signs: int) -> None:
    while True:
        os.write(signs, b".")
        await asyncio.sleep(_BEAT_S)


def _die_with_parent() -> None:
    """Wait for standard input to end, and end; engines notice by their own pipes."""
    while os.read(0, 4096):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
