"""`memplan solvers`: what is installed and what each solver can do."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer
from pydantic_core import to_json

from api.cli.streams import is_terminal, write
from api.solver_facts import solver_facts


class Shown(StrEnum):
    """What the list is shown as: for programs, or for people."""

    json = "json"
    table = "table"


def solvers(
    shown: Annotated[Shown | None, typer.Option("--format", help="A table on a terminal, else JSON.")] = None,
) -> None:
    """List the solvers: what is installed, and what each can do."""
    facts = solver_facts()
    if shown is Shown.table or (shown is None and is_terminal(sys.stdout)):
        # Only people wait for the library that draws tables.
        from api.cli.report import show_solvers

        show_solvers(facts)
        return
    write(None, to_json({"solvers": facts}) + b"\n")
