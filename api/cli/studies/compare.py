"""`memplan compare`: the bytes that a model's own planner uses, and those that memplan uses."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer
from pydantic_core import to_json

from memplan.api.cli.arguments import ListFormat, Quiet, seconds_limit
from memplan.api.cli.model_options import AlignmentOfModel, Dims, ScratchOfModel, ViewsOfModel, model_options
from memplan.api.cli.streams import read_as, say, wants_table, write
from memplan.api.reports.comparison import compare as compare_bytes
from memplan.api.reports.comparison import lines
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S

NOTHING_FITS = 1


def compare(
    model_file: Annotated[str, typer.Argument(metavar="MODEL", help="A model, or - for standard input.")],
    dim: Dims = None,
    views: ViewsOfModel = None,
    alignment: AlignmentOfModel = None,
    scratch: ScratchOfModel = None,
    time_limit: Annotated[float, seconds_limit("Seconds for each plan")] = DEFAULT_TIME_LIMIT_S,
    shown: ListFormat = None,
    quiet: Quiet = False,
) -> None:
    """Compare a model's own memory planner with memplan: bytes used, the bound, and bytes saved.

    Exit status: 0 there is a plan, 1 none was found, 2 wrong input.
    """
    options = model_options(dim, views, alignment, scratch)
    found = read_as(model_file, partial(compare_bytes, name=model_file, options=options, time_limit_s=time_limit))
    if not quiet:
        for warning in found.warnings:
            say(f"memplan: warning: {warning}")
    if wants_table(shown):
        write(None, "".join(f"{line}\n" for line in lines(found)).encode())
    else:
        write(None, to_json(found) + b"\n")
    raise typer.Exit(0 if (found.memplan_with_views or found.memplan).peak is not None else NOTHING_FITS)
