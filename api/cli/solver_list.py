"""`memplan solvers`: what is installed and what each solver can do."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer
from pydantic_core import to_json

from api.cli.streams import is_terminal, write
from solvers.registry import SOLVERS


class Shown(StrEnum):
    """What the list is shown as: for programs, or for people."""

    json = "json"
    table = "table"


def solvers(
    shown: Annotated[Shown | None, typer.Option("--format", help="A table on a terminal, else JSON.")] = None,
) -> None:
    """List the solvers: what is installed, and what each can do."""
    if shown is Shown.table or (shown is None and is_terminal(sys.stdout)):
        # Only people wait for the library that draws tables.
        from api.cli.report import show_solvers

        show_solvers(SOLVERS)
        return
    rows = [
        {
            "name": row.name,
            "summary": row.summary,
            "installed": row.is_installed,
            "can": sorted(row.can),
            "needs": list(row.needs),
            "proves": row.proves,
            "at_most": row.at_most,
        }
        for row in SOLVERS
    ]
    write(None, to_json({"solvers": rows}) + b"\n")
