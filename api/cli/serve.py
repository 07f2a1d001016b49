"""`memplan serve`: the same over HTTP."""

from __future__ import annotations

from typing import Annotated

import typer

from memplan.api.cli.interrupts import Interrupted


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 takes a free one.")] = 8000,
    without_keys: Annotated[
        bool, typer.Option("--without-keys", help="Ask nobody for a key, whoever can reach the address.")
    ] = False,
) -> None:
    """Answer over HTTP until a signal says to stop.

    On an address that others can reach, callers need a key, which `memplan keys add` makes.
    """
    from memplan.api.http import server

    try:
        server.serve(host, port, without_keys)
    except Interrupted:
        return  # a server that was told to stop, and did, has done what it is for
