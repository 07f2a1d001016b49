"""`memplan solvers`: the solvers, which of them are installed, and what each can do."""

from __future__ import annotations

from pydantic_core import to_json

from memplan.api.cli.arguments import ListFormat
from memplan.api.cli.streams import wants_table, write
from memplan.api.reports.solver_facts import solver_facts


def solvers(shown: ListFormat = None) -> None:
    """List the solvers: what is installed, and what each can do."""
    facts = solver_facts()
    if wants_table(shown):
        # Only people wait for the library that draws tables.
        from memplan.api.cli.report import show_solvers

        show_solvers(facts)
        return
    write(None, to_json({"solvers": facts}) + b"\n")
