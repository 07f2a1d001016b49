"""`memplan order`: the order of operations that needs the fewest bytes at once, with a proof or an honest gap."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from typing import Annotated

import typer
from pydantic_core import to_json

from memplan.api.cli.arguments import ListFormat, Quiet
from memplan.api.cli.interrupts import INTERRUPTED, graceful_interrupts
from memplan.api.cli.progress import run_in_thread
from memplan.api.cli.streams import read_as, refuse_unwritable, say, wants_table, write
from memplan.api.reports.orders import lines, placed_facts
from memplan.planner.operations.graph import read_graph
from memplan.solvers.order.placement.joint import order_and_place
from memplan.solvers.order.solve import TIME_LIMIT_S


class OrderGoal(StrEnum):
    """The choice of what an order makes least."""

    alive = "alive"
    placed = "placed"


def order(
    graph_file: Annotated[
        str, typer.Argument(metavar="GRAPH", help="A graph of operations, JSON, or - for standard input.")
    ],
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="ORDER", help="Write the JSON here, whatever is shown.")
    ] = None,
    time_limit: Annotated[float, typer.Option(help="Seconds for the search.")] = TIME_LIMIT_S,
    deterministic: Annotated[bool, typer.Option(help="The same order on every machine.")] = False,
    goal: Annotated[OrderGoal, typer.Option(help="What is to be the least: bytes alive, or those of the plan.")] = (
        OrderGoal.alive
    ),
    alignment: Annotated[int, typer.Option(min=1, help="Place tensors at multiples of so many bytes.")] = 1,
    shown: ListFormat = None,
    quiet: Quiet = False,
) -> None:
    """Order operations so that the peak of the bytes alive at once is the least, and plan them in that order.

    Exit status: 0 there is an order, 2 wrong input.
    """
    refuse_unwritable(output)
    graph = read_as(graph_file, read_graph)
    with graceful_interrupts() as cancelled:
        work = partial(
            order_and_place,
            graph,
            time_limit_s=time_limit,
            deterministic=deterministic,
            cancelled=cancelled,
            alignment=alignment,
            goal=goal.value,
        )
        result = run_in_thread(work, lambda: None)
    told = to_json(placed_facts(graph, result)) + b"\n"
    if output is not None:
        write(output, told)
        if not quiet:
            say("\n".join(lines(graph, result)))
    elif wants_table(shown):
        write(None, "".join(f"{line}\n" for line in lines(graph, result)).encode())
    else:
        write(None, told)
    raise typer.Exit(INTERRUPTED if cancelled.is_set() else 0)
