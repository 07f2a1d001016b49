"""The forms in which `memplan cascade` writes points: C, and a script for schedulers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from memplan.api.cli.streams import refuse_unwritable, say, write
from memplan.api.reports.cascade_picture import picture
from memplan.api.reports.cascade_schedule import schedule
from memplan.planner.errors import OptionError, shown
from memplan.planner.exporters.cascades import PlacedCascade, write_cascade
from memplan.planner.operations.graph import OperationGraph
from memplan.solvers.cascade.solve import CascadeResult


class CascadeDisplay(StrEnum):
    """The ways to show cascades: for programs, for people, as C, as a script for schedulers, as a picture."""

    json = "json"
    table = "table"
    c = "c"
    schedule = "schedule"
    svg = "svg"


CascadeFormat = Annotated[
    CascadeDisplay | None, typer.Option("--format", help="A table on a terminal, else JSON; c, schedule, svg.")
]
CascadeOutput = Annotated[
    str | None,
    typer.Option("--json", "-o", metavar="PATH", help="Write here what --format says, JSON without; C in a folder."),
]
StripeSize = Annotated[
    str | None, typer.Option(metavar="ROWS[xCOLUMNS]", help="Cut regions in stripes or tiles of this size alone.")
]
PointAlone = Annotated[
    int | None, typer.Option(metavar="K", help="Tell point K alone, counted from 0; -1 is the least peak.")
]
FORMS = (CascadeDisplay.c, CascadeDisplay.schedule, CascadeDisplay.svg)


def refuse_unwritable_form(form: CascadeDisplay | None, path: str | None) -> None:
    """Raise InputError, before work is spent, where a form cannot be written."""
    if form is not CascadeDisplay.c:
        refuse_unwritable(path)
    elif path is None or path == "-" or (Path(path).exists() and not Path(path).is_dir()):
        raise OptionError(f"--json: must name a directory for C, got {'none' if path is None else shown(path)}")


def write_form(form: CascadeDisplay, result: CascadeResult, source: OperationGraph, path: str | None) -> None:
    """Write the last point of a result in a form: into a directory for C, else to a file or standard output."""
    point = result.points[-1]
    if form is CascadeDisplay.svg:
        write(path, picture(result).encode())
    elif form is CascadeDisplay.schedule:
        write(path, "".join(f"{line}\n" for line in schedule(point)).encode())
    elif result.options.pools:
        raise OptionError("--pool: must not be given for C, which has one arena")
    elif path is not None:
        placed = PlacedCascade(point.cascade, point.offsets(), point.peak, result.options.alignment)
        files = write_cascade(placed, source, Path(path).resolve().name)
        try:
            Path(path).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OptionError(f"--json: must be a directory that can be made ({error.strerror}), got {path}") from error
        for name, content in files.items():
            write(str(Path(path) / name), content)
        say(f"memplan: {path} has {', '.join(files)}: an arena of {point.peak} bytes")
