"""`memplan scheduler`: what servers and workers on several machines meet at."""

from __future__ import annotations

import logging.config
from typing import Annotated

import typer


def scheduler(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")] = 8786,
    tls: Annotated[
        bool, typer.Option("--tls", help="Encrypt, with the certificates that Dask's settings name.")
    ] = False,
) -> None:
    """Hand out what servers send to the workers that join, until a signal says to stop.

    Whoever can reach it can run programs on the workers: let only servers and workers reach it.
    """
    # Imported here, because no other command should wait for it.
    from memplan.api.cluster.running import run_scheduler
    from memplan.api.logs import log_config
    from memplan.api.settings import read_settings

    logging.config.dictConfig(log_config(read_settings().log_format))
    run_scheduler(host, port, "tls" if tls else "tcp")
