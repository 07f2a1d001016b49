"""`memplan serve`: answer requests over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from memplan.api.cli.arguments import Host, Port
from memplan.api.cli.running import Interrupted


def serve(
    host: Host = "127.0.0.1",
    port: Port = 8000,
    without_keys: Annotated[
        bool, typer.Option("--without-keys", help="Need no key of callers, whatever can reach the address.")
    ] = False,
) -> None:
    """Answer over HTTP until a signal says to stop.

    On an address that others can reach, callers need a key, which `memplan keys add` makes.
    """
    from memplan.api.http.serving import server

    try:
        server.serve(host, port, without_keys)
    except Interrupted:
        return  # a server that was told to stop, and did, has done what it is for
