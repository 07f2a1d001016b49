"""`memplan order`: the order of operations that needs the fewest bytes at once, with a proof or an honest gap."""

from __future__ import annotations

from functools import partial
from typing import Annotated

import typer
from pydantic_core import to_json

from memplan.api.cli.arguments import ListFormat, Quiet
from memplan.api.cli.interrupts import INTERRUPTED, graceful_interrupts
from memplan.api.cli.progress import run_in_thread
from memplan.api.cli.streams import read_as, refuse_unwritable, say, wants_table, write
from memplan.api.reports.orders import facts, lines
from memplan.planner.operations.graph import read_graph
from memplan.solvers.order.solve import TIME_LIMIT_S, order_operations


def order(
    graph_file: Annotated[
        str, typer.Argument(metavar="GRAPH", help="A graph of operations, JSON, or - for standard input.")
    ],
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="ORDER", help="Write the JSON here, whatever is shown.")
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds for the search.")] = TIME_LIMIT_S,
    deterministic: Annotated[bool, typer.Option(help="The same order on every machine.")] = False,
    shown: ListFormat = None,
    quiet: Quiet = False,
) -> None:
    """Order operations so that the peak of the bytes alive at once is the least.

    Exit status: 0 there is an order, 2 wrong input.
    """
    refuse_unwritable(output)
    graph = read_as(graph_file, read_graph)
    with graceful_interrupts() as cancelled:
        work = partial(
            order_operations, graph, time_limit_s=time_limit, deterministic=deterministic, cancelled=cancelled
        )
        result = run_in_thread(work, lambda: None)
    told = to_json(facts(graph, result)) + b"\n"
    if output is not None:
        write(output, told)
        if not quiet:
            say("\n".join(lines(graph, result)))
    elif wants_table(shown):
        write(None, "".join(f"{line}\n" for line in lines(graph, result)).encode())
    else:
        write(None, told)
    raise typer.Exit(INTERRUPTED if cancelled.is_set() else 0)
