"""`memplan scheduler`: connect servers and workers on several machines."""

from __future__ import annotations

import logging.config
from typing import Annotated

import typer

from memplan.api.cli.arguments import Host, Port


def scheduler(
    host: Host = "127.0.0.1",
    port: Port = 8786,
    tls: Annotated[
        bool, typer.Option("--tls", help="Encrypt, with the certificates that Dask's settings name.")
    ] = False,
) -> None:
    """Hand out what servers send to the workers that join, until a signal says to stop.

    Anything that can reach it can run programs on the workers: let only servers and workers reach it.
    """
    # Imported here, because no other command should wait for it.
    from memplan.api.cluster.running import run_scheduler
    from memplan.api.logs import log_config
    from memplan.api.settings import read_settings

    logging.config.dictConfig(log_config(read_settings().log_format))
    run_scheduler(host, port, "tls" if tls else "tcp")
