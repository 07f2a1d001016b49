"""`memplan solvers`: what is installed and what each solver can do."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from pydantic_core import to_json

from memplan.api.cli.arguments import ListShown
from memplan.api.cli.streams import is_terminal, write
from memplan.api.reports.solver_facts import solver_facts


def solvers(
    shown: Annotated[ListShown | None, typer.Option("--format", help="A table on a terminal, else JSON.")] = None,
) -> None:
    """List the solvers: what is installed, and what each can do."""
    facts = solver_facts()
    if shown is ListShown.table or (shown is None and is_terminal(sys.stdout)):
        # Only people wait for the library that draws tables.
        from memplan.api.cli.report import show_solvers

        show_solvers(facts)
        return
    write(None, to_json({"solvers": facts}) + b"\n")
