"""`memplan serve` and `memplan worker`: serve requests over HTTP, and run jobs from a database."""

import gc
import logging.config
import os
import signal
import threading

import click

from memplan.api.cli.flags import STORE, Flag, RangeType, size
from memplan.api.cli.help import SectionedCommand
from memplan.api.cli.running import handle_signals
from memplan.planner.errors import OptionError


@click.command(
    cls=SectionedCommand,
    params=[
        Flag("host", default="127.0.0.1", help="Listen on this address."),
        Flag("port", type=RangeType(0, 65535), default=8000, help="Listen on this port. 0 takes a free one."),
        Flag("without_keys", is_flag=True, help="Let callers in without a key, even if others can reach the address."),
    ],
)
def serve(host: str, port: int, without_keys: bool) -> None:
    """Serve over HTTP until a signal stops the process.

    If other machines can reach the address, callers need a key, which `memplan keys add` makes.
    """
    gc.disable()  # Imports create no garbage, so turn off garbage collection until `collect_rarely`.
    # A signal comes here before the server handles signals, and again after its shutdown. An exception would not do:
    # Python ignores one that is raised while it drops an object, and threads of abandoned searches could delay the end.
    with handle_signals(lambda *_: os._exit(0)):
        from memplan.api.http.serving import server

        server.serve(host, port, without_keys)


@click.command(
    cls=SectionedCommand,
    params=[
        STORE,
        Flag(
            "workers",
            type=RangeType(min=1),
            help="Run this many processes, each of which does one job at a time. [MEMPLAN_WORKERS]",
        ),
        Flag(
            "memory_limit",
            type=size,
            metavar="SIZE",
            help="The memory that each process may use. [MEMPLAN_WORKER_MEMORY_BYTES]",
        ),
    ],
)
def worker(store: str | None, workers: int | None, memory_limit: int | None) -> None:
    """Run the jobs that servers put into the database, until a signal stops the process.

    A worker that stops hands back the jobs that it runs, and other workers continue them from there. The jobs of a
    worker that was killed are taken over as well.
    """
    is_told = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: is_told.set())
    from memplan.api.jobs.workers import run_workers
    from memplan.api.logs import log_config
    from memplan.api.settings import read_settings
    from memplan.api.store.errors import StoreError

    overrides = {"database_url": store, "workers": workers, "worker_memory_bytes": memory_limit}
    settings = read_settings(**{name: value for name, value in overrides.items() if value is not None})
    if settings.workers < 1:
        raise OptionError(f"workers: must be at least 1, got {settings.workers}")
    logging.config.dictConfig(log_config(settings.log_format))
    try:
        with run_workers(settings):
            is_told.wait()
    except StoreError as error:
        raise OptionError(f"store: {error}") from error
