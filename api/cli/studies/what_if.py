"""`memplan what-if`: the worth of each buffer, pool and rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer
from pydantic_core import to_json

from memplan.api.cli.arguments import Capacities, Deterministic, ListFormat, ProblemFile, seconds_limit
from memplan.api.cli.interrupts import INTERRUPTED, graceful_interrupts
from memplan.api.cli.model_options import AlignmentOfModel, Dims, ScratchOfModel, ViewsOfModel, model_options
from memplan.api.cli.progress import run_in_thread
from memplan.api.cli.streams import read_problem, refuse_unwritable, wants_table, write
from memplan.api.reports.sizes import with_capacities
from memplan.planner.errors import OptionError, shown
from memplan.planner.model.problem import Problem
from memplan.solvers.portfolio.options import DEFAULT_TIME_LIMIT_S
from memplan.solvers.studies.explanation.sentences import rule_text
from memplan.solvers.studies.what_if.values import WhatIf
from memplan.solvers.studies.what_if.what_if import MORE, WHAT_IF_S, WhatIfOptions
from memplan.solvers.studies.what_if.what_if import what_if as ask

NOTHING_FITS = 1
_ROWS = 20
"""The most buffers in a table for people."""


def what_if(
    problem_file: ProblemFile,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the JSON here, whatever is shown.")
    ] = None,
    capacity: Capacities = None,
    time_limit: Annotated[float, seconds_limit("Seconds for the plan")] = DEFAULT_TIME_LIMIT_S,
    ask_limit: Annotated[float, seconds_limit("Seconds for the questions, beyond that")] = WHAT_IF_S,
    shrunk_to: Annotated[
        float | None, typer.Option(metavar="PART", help="Ask for each buffer at this part of its size, too: 0.5.")
    ] = None,
    more: Annotated[int, typer.Option(help="Bytes of a pool whose worth is asked.")] = MORE,
    deterministic: Deterministic = False,
    dim: Dims = None,
    views: ViewsOfModel = None,
    alignment: AlignmentOfModel = None,
    scratch: ScratchOfModel = None,
    display: ListFormat = None,
) -> None:
    """Tell what each buffer is worth if dropped, how far it may grow, and what pools and rules are worth.

    Exit status: 0 there is a plan to compare with, 1 there is none, 2 wrong input.
    """
    if not 0 < ask_limit < float("inf"):
        raise OptionError(f"ask-limit: must be above 0 and finite, got {shown(ask_limit)}")
    if shrunk_to is not None and not 0 < shrunk_to < 1:
        raise OptionError(f"shrunk-to: must be above 0 and below 1, got {shown(shrunk_to)}")
    if not 0 < more < 2**62:
        raise OptionError(f"more: must be above 0 and below 2^62, got {shown(more)}")
    refuse_unwritable(output)
    reading = model_options(dim, views, alignment, scratch)
    problem: Problem = with_capacities(read_problem(problem_file, reading), capacity or ())
    with graceful_interrupts() as cancelled:
        options = WhatIfOptions(
            ask_limit, shrunk_to=shrunk_to, more=more, cancelled=cancelled, deterministic=deterministic
        )
        found = run_in_thread(lambda: ask(problem, solve_time_limit_s=time_limit, options=options), lambda: None)
    is_table = wants_table(display)
    if output is not None or not is_table:
        write(output, to_json({"what_if": found}) + b"\n")
    if is_table:
        write(None, "".join(f"{line}\n" for line in lines(found)).encode())
    if cancelled.is_set():
        raise typer.Exit(INTERRUPTED)
    raise typer.Exit(0 if found.peak is not None else NOTHING_FITS)


def lines(found: WhatIf) -> Iterator[str]:
    """Yield the rows of a table for people: the buffers that are worth most, then pools and rules."""
    yield f"{found.status}: peak {found.peak or 0:,} bytes"
    yield f"{'buffer':<24}{'size':>16}{'if dropped':>16}{'may grow':>16}"
    for row in sorted(found.buffers, key=lambda row: (-row.gain_if_dropped[0], row.may_grow or 0))[:_ROWS]:
        grow = "" if row.may_grow is None else f"{row.may_grow:,}"
        least = "" if row.exact else " or more"
        yield f"{shown(row.id):<24}{row.size:>16,}{row.gain_if_dropped[0]:>16,}{grow:>16}{least}"
    if len(found.buffers) > _ROWS:
        yield f"and {len(found.buffers) - _ROWS} others"
    for pool in found.pools:
        least = "" if pool.exact else " or more"
        yield f"{pool.more:,} bytes more in pool {shown(pool.pool)}: {pool.gain[0]:,.12g}{least}"
    for rule in found.rules:
        yield f"without {rule_text(rule.rule)}: {rule.gain[0]:,}{'' if rule.exact else ' or more'}"
