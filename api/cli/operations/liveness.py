"""`memplan liveness`: from operations to the problem that they pose."""

from __future__ import annotations

import time
from enum import StrEnum
from functools import partial
from typing import Annotated

import typer

from memplan.api.cli.arguments import OperationsFile, Quiet, seconds_limit
from memplan.api.cli.interrupts import INTERRUPTED, graceful_interrupts
from memplan.api.cli.progress import run_in_thread
from memplan.api.cli.streams import format_for, read_as, refuse_unwritable, say, warn, write
from memplan.api.reports.liveness_requests import LivenessAnswer, answer_request, read_operations, read_options
from memplan.capabilities.sizes import size_text
from memplan.planner.formats import FORMATS
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S
from memplan.solvers.search.deadline import Deadline


class HowAlive(StrEnum):
    """The way to read lifetimes: by first and last use, or by alloc and free."""

    usage = "usage"
    scope = "scope"


class WhenInside(StrEnum):
    """The lifetimes of buffers that a call or an operation uses inside: their own, or the whole of it."""

    nested = "nested"
    lifted = "lifted"


By = Annotated[HowAlive, typer.Option("--liveness", help="From first to last use, or from alloc to free.")]
Temporaries = Annotated[WhenInside, typer.Option(help="Alive for their own part of a call, or for the whole of it.")]
Inputs = Annotated[bool, typer.Option("--plan-inputs/--no-plan-inputs", help="Place the program's inputs, too.")]
Outputs = Annotated[bool, typer.Option("--plan-outputs/--no-plan-outputs", help="Place the program's outputs, too.")]


def liveness(
    operations_file: OperationsFile,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PROBLEM", help="Write the problem alone: .json or .csv.")
    ] = None,
    by: By = HowAlive.usage,
    temporaries: Temporaries = WhenInside.nested,
    plan_inputs: Inputs = True,
    plan_outputs: Outputs = True,
    compare: Annotated[bool, typer.Option("--compare", help="Plan what each way to read lifetimes needs.")] = False,
    time_limit: Annotated[float, seconds_limit("Seconds for comparing")] = DEFAULT_TIME_LIMIT_S,
    quiet: Quiet = False,
) -> None:
    """Find when the buffers of a program are alive, from its operations: a problem to plan, and facts about it.

    All of it goes to standard output as JSON; with -o, the problem alone is written, for `memplan plan` to read.
    """
    started = time.monotonic()
    written = format_for(output, None)
    refuse_unwritable(output)
    operations = read_as(operations_file, read_operations)
    options = read_options(
        liveness=by.value,
        temporaries=temporaries.value,
        plan_inputs=plan_inputs,
        plan_outputs=plan_outputs,
        compare=compare,
        time_limit_s=time_limit,
    )
    with graceful_interrupts() as cancelled:
        deadline = Deadline.after(time_limit, started)
        work = partial(answer_request, operations, options, cancelled=cancelled, deadline=deadline)
        answer = run_in_thread(work, lambda: None)
    if output is None:
        write(None, answer.model_dump_json().encode() + b"\n")
    else:
        write(output, FORMATS[written].write_problem(answer.problem))
    if not quiet:
        _tell(answer)
    raise typer.Exit(INTERRUPTED if cancelled.is_set() else 0)


def _tell(answer: LivenessAnswer) -> None:
    """Say the most important of it to people."""
    warn(answer.warnings)
    space = answer.workspace
    where = "" if space.path is None else f", at {space.path}"
    say(f"memplan: {len(answer.problem.buffers):,} buffers, at most {_written(space.live_bytes)} alive{where}")
    if answer.order == "tentative":
        say(f"memplan: the order is tentative; in any order, {_written(space.any_order_live_bytes)} are alive at once")
    for row in answer.readings[1:]:
        if row.lost_bytes:
            say(f"memplan: {row.temporaries} by {row.liveness}: {_written(row.lost_bytes)} more alive")
    for peak in answer.peaks or ():
        found = peak.status if peak.peak is None else f"peak {_written(peak.peak)}"
        say(f"memplan: {peak.temporaries} by {peak.liveness}, planned {peak.planning}: {found}")


def _written(size: int) -> str:
    return f"{size:,} bytes ({size_text(size)})" if size >= 1024 else f"{size} bytes"
