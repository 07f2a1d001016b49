"""`memplan cascade`: run operations in stripes, so that only edges of their tensors are kept."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer
from pydantic_core import to_json

from memplan.api.cli.arguments import Quiet, StudyPage, seconds_limit
from memplan.api.cli.interrupts import INTERRUPTED, graceful_interrupts
from memplan.api.cli.model_options import Dims
from memplan.api.cli.operations.cascade_forms import (
    FORMS,
    CascadeDisplay,
    CascadeFormat,
    CascadeOutput,
    PointAlone,
    StripeSize,
    refuse_unwritable_form,
    write_form,
)
from memplan.api.cli.operations.cascade_writing import WriteParts, model_to_write, write_best
from memplan.api.cli.operations.graph_input import ModelFile, graph_in
from memplan.api.cli.progress import run_in_thread
from memplan.api.cli.streams import refuse_unwritable, say, wants_table, write
from memplan.api.reports.cascades import facts, lines
from memplan.capabilities.sizes import parse_size
from memplan.planner.errors import OptionError
from memplan.planner.operations.graph import OperationGraph
from memplan.solvers.cascade.options import CascadeOptions
from memplan.solvers.cascade.solve import TIME_LIMIT_S, CascadeResult, with_point_alone
from memplan.solvers.cascade.solve import cascade as cascades_of

NOT_WITHIN = 1
_STRIPE = re.compile(r"([0-9]{1,7})(?: ?x ?([0-9]{1,7}))?", re.ASCII)
_EXTRA = re.compile(r"\+?([0-9]{1,6}(?:\.[0-9]{1,6})?) ?%", re.ASCII)


Objectives = Annotated[
    str, typer.Option(metavar="peak,macs[,traffic]", help="What no other point is as good in as one that is shown.")
]
PoolSizes = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=SIZE", help="A fast memory, then a slow one: --pool fast=64KiB --pool slow=1MiB."),
]


class Delivery(StrEnum):
    """The choice of how an input comes, or an output goes."""

    resident = "resident"
    streamed = "streamed"


class Overlap(StrEnum):
    """The choice of what outputs may overwrite."""

    none = "none"
    sliding = "sliding"


def cascade(
    model: ModelFile,
    output: CascadeOutput = None,
    fit: Annotated[str | None, typer.Option(metavar="BYTES", help="Show points of at most so many bytes.")] = None,
    macs: Annotated[str | None, typer.Option(metavar="+N%", help="Recompute at most so much more.")] = None,
    source: Annotated[Delivery, typer.Option("--input", help="Inputs lie whole in memory, or come in pieces.")] = (
        Delivery.resident
    ),
    target: Annotated[Delivery, typer.Option("--output", help="Outputs lie whole in memory, or go in pieces.")] = (
        Delivery.resident
    ),
    overlap: Annotated[Overlap, typer.Option(help="Let outputs grow into dying inputs.")] = Overlap.none,
    objectives: Objectives = "peak,macs",
    pool: PoolSizes = None,
    alignment: Annotated[int, typer.Option(min=1, help="Round buffers up to multiples of so many bytes.")] = 1,
    brick: Annotated[int, typer.Option(min=1, help="Pad channels to a multiple of this.")] = 1,
    stripe: StripeSize = None,
    point: PointAlone = None,
    check: Annotated[bool, typer.Option("--check", help="Execute the points by value in their planned arena.")] = False,
    dim: Dims = None,
    time_limit: Annotated[float, seconds_limit("Seconds for the search and the plans")] = TIME_LIMIT_S,
    written: WriteParts = None,
    page_file: StudyPage = None,
    shown: CascadeFormat = None,
    quiet: Quiet = False,
) -> None:
    """Run operations in stripes: peaks, what they cost in recomputation, each one a verified plan.

    Exit status: 0 there are points, 1 none is within the bounds, 2 wrong input.
    """
    refuse_unwritable_form(shown, output)
    for path in (page_file, written):
        refuse_unwritable(path)
    options = CascadeOptions(
        input=source.value,
        output=target.value,
        sliding=overlap is Overlap.sliding,
        alignment=alignment,
        fit=None if fit is None else _bytes(fit),
        macs=None if macs is None else _ratio(macs),
        channels=shown is not CascadeDisplay.c and written is None,
        stripe=None if stripe is None else _stripe(stripe),
        objectives=tuple(objectives.split(",")),  # type: ignore[arg-type]  # refused there
        pools=tuple(map(_pool, pool or ())),
    )
    read = graph_in(model, dim, None, None)
    to_write = model_to_write(written, read, model, dim, options, brick)
    graph = read.graph if to_write is None else to_write.access
    with graceful_interrupts() as cancelled:
        work = partial(
            cascades_of, graph, options, brick=brick, check=check, time_limit_s=time_limit, cancelled=cancelled
        )
        result = run_in_thread(work, lambda: None)
    result = result if point is None or not result.points else with_point_alone(result, point)
    if page_file is not None:
        _draw(page_file, result, model)
    _tell(result, read.graph, output, shown, quiet=quiet)
    write_best(written, to_write, result)
    raise typer.Exit(INTERRUPTED if cancelled.is_set() else 0 if result.points else NOT_WITHIN)


def _draw(page_file: str, result: CascadeResult, model: str) -> None:
    # Imported here: few cascades are looked at.
    from memplan.api.reports.page.studies import cascade_page

    write(page_file, cascade_page(result.graph.name or Path(model).name, result))


def _tell(
    result: CascadeResult, graph: OperationGraph, output: str | None, shown: CascadeDisplay | None, *, quiet: bool
) -> None:
    """Write another form that is asked for; else the JSON to a file, the table beside it, or one of them alone."""
    if shown in FORMS and result.points:
        write_form(shown, result, graph, output)
        return
    told = to_json(facts(result)) + b"\n"
    if output is not None:
        write(output, told)
        if not quiet:
            say("\n".join(lines(result)))
    elif wants_table(shown) or shown in FORMS:
        write(None, "".join(f"{line}\n" for line in lines(result)).encode())
    else:
        write(None, told)


def _bytes(text: str, option: str = "--fit") -> int:
    try:
        return parse_size(text)
    except ValueError as error:
        raise OptionError(f"{option}: {error}") from error


def _pool(text: str) -> tuple[str, int]:
    name, is_named, size = text.rpartition("=")
    if not is_named or not name:
        raise OptionError(f"--pool: must be NAME=SIZE, a fast memory and then a slow one, got {text!r}")
    return name, _bytes(size, "--pool")


def _stripe(text: str) -> tuple[int, int]:
    match = _STRIPE.fullmatch(text.strip())
    if match is None:
        raise OptionError(f"--stripe: must be rows, or rows x columns, such as 4 or 6x6, got {text!r}")
    return int(match[1]), int(match[2] or 0)


def _ratio(text: str) -> float:
    match = _EXTRA.fullmatch(text.strip())
    if match is None:
        raise OptionError(f"--macs: must be a share such as +10%, got {text!r}")
    return 1 + float(match[1]) / 100
