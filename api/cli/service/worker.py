"""`memplan worker`: solve the problems that a scheduler hands out."""

from __future__ import annotations

import logging.config
from typing import Annotated

import typer

from memplan.capabilities.sizes import parse_size
from memplan.planner.errors import OptionError


def worker(
    scheduler: Annotated[
        str | None, typer.Argument(metavar="ADDRESS", help="tcp://HOST:PORT or tls://HOST:PORT. [MEMPLAN_SCHEDULER]")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes, each for one problem at a time. [MEMPLAN_WORKERS]")
    ] = None,
    memory_limit: Annotated[
        str | None, typer.Option(metavar="SIZE", help="For each, with its engines. [MEMPLAN_WORKER_MEMORY_BYTES]")
    ] = None,
) -> None:
    """Solve what a scheduler hands out, until a signal says to stop.

    The scheduler may come later, and go and come again. A process that ends, falls silent, uses too much memory or
    overruns is replaced.
    """
    # Imported here, because no other command should wait for it.
    from memplan.api.cluster.running import run_workers
    from memplan.api.logs import log_config
    from memplan.api.settings import read_settings

    given = {"scheduler": scheduler, "workers": workers, "worker_memory_bytes": _bytes(memory_limit)}
    settings = read_settings(**{name: value for name, value in given.items() if value is not None})
    logging.config.dictConfig(log_config(settings.log_format))
    run_workers(settings)


def _bytes(text: str | None) -> int | None:
    try:
        return None if text is None else parse_size(text)
    except ValueError as error:
        raise OptionError(f"memory-limit: {error}") from None
