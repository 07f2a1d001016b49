"""`memplan convert`: a problem from one format to another."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.arguments import Capacities, FileFormat, Problem
from api.cli.streams import format_for, read_problem, refuse_unwritable, write
from api.sizes import with_capacities
from planner.formats import FORMATS


def convert(
    problem_file: Problem,
    output: Annotated[str, typer.Argument(metavar="OUT", help="The file to write, or - for standard output.")],
    capacity: Capacities = None,
    written: Annotated[FileFormat | None, typer.Option("--format", help="By the file's name, or JSON.")] = None,
) -> None:
    """Write a problem in another format, if that can say all of it."""
    wanted = format_for(output, None if written is None else written.value)
    refuse_unwritable(output)
    problem = with_capacities(read_problem(problem_file), capacity or ())
    write(output, FORMATS[wanted].write_problem(problem))
