"""`memplan order`: the order of operations that needs the fewest bytes at once, with a proof or an honest gap."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic_core import to_json

from memplan.api.cli.arguments import ListFormat, Quiet, StudyPage, seconds_limit
from memplan.api.cli.interrupts import INTERRUPTED, graceful_interrupts
from memplan.api.cli.model_options import Dims, ViewsOfModel
from memplan.api.cli.operations.graph_input import (
    CountResident,
    InPlace,
    ModelFile,
    WriteModel,
    graph_in,
    refuse_unwritable_model,
    write_model,
)
from memplan.api.cli.operations.recompute import (
    NOT_WITHIN,
    Budget,
    ExtraCost,
    Recompute,
    recompute_work,
    refuse_budgets,
)
from memplan.api.cli.progress import run_in_thread
from memplan.api.cli.streams import refuse_unwritable, say, wants_table, write
from memplan.api.reports import orders
from memplan.api.reports import recompute as frontiers
from memplan.planner.model.plan import CertificateFacts
from memplan.planner.operations.graph import OperationGraph
from memplan.solvers.order.placement.joint import order_and_place
from memplan.solvers.order.solve import TIME_LIMIT_S, OrderResult

Alignment = Annotated[int | None, typer.Option(min=1, help="Place tensors at multiples of so many bytes.")]


OrderFile = Annotated[
    str | None, typer.Option("--output", "-o", metavar="ORDER", help="Write the JSON here, whatever is shown.")
]
BoundCertificate = Annotated[
    str | None,
    typer.Option("--certificate", metavar="FILE", help="Write what proves the bound, if it can be checked."),
]


class OrderGoal(StrEnum):
    """The choice of what an order makes least."""

    alive = "alive"
    placed = "placed"


def order(
    graph_file: ModelFile,
    output: OrderFile = None,
    time_limit: Annotated[float, seconds_limit("Seconds for the search")] = TIME_LIMIT_S,
    deterministic: Annotated[bool, typer.Option(help="The same order on every machine.")] = False,
    goal: Annotated[OrderGoal, typer.Option(help="What is to be the least: bytes alive, or those of the plan.")] = (
        OrderGoal.alive
    ),
    alignment: Alignment = None,
    written: WriteModel = None,
    dim: Dims = None,
    views: ViewsOfModel = None,
    count_resident: CountResident = False,
    in_place: InPlace = False,
    recompute: Recompute = False,
    budget: Budget = None,
    extra_cost: ExtraCost = None,
    certificate_file: BoundCertificate = None,
    page_file: StudyPage = None,
    shown: ListFormat = None,
    quiet: Quiet = False,
) -> None:
    """Order operations so that the peak of the bytes alive at once is the least, and plan them in that order.

    Exit status: 0 there is an order, 1 none was found within the budget, 2 wrong input.
    """
    for target in (output, page_file, certificate_file):
        refuse_unwritable(target)
    refuse_unwritable_model(written, graph_file, recompute=recompute)
    refuse_budgets(recompute, budget, extra_cost)
    read = graph_in(graph_file, dim, views, alignment, count_resident=count_resident, in_place=in_place)
    graph, is_within = read.graph, True
    with graceful_interrupts() as cancelled:
        if recompute:
            asked = recompute_work(graph, budget, extra_cost, time_limit, deterministic, cancelled)
            frontier = run_in_thread(asked, lambda: None)
            is_within = frontier.is_within
            told, lines = frontiers.facts(graph, frontier), list(frontiers.lines(graph, frontier))
            page = partial(_page, "recompute", graph_file, graph, frontier)
        else:
            work = partial(
                order_and_place,
                graph,
                time_limit_s=time_limit,
                deterministic=deterministic,
                cancelled=cancelled,
                alignment=alignment or 1,
                goal=goal.value,
            )
            found = run_in_thread(work, lambda: None)
            told, lines = orders.placed_facts(graph, found), list(orders.lines(graph, found))
            page = partial(_page, "order", graph_file, graph, found)
            if certificate_file is not None:
                told["certificate"] = _certified(certificate_file, graph, found.result, quiet)
            if written is not None:
                lines += write_model(written, read, graph_file, found.result.graph, found.result.order)
    if page_file is not None:
        write(page_file, page())
    _tell(output, told, lines, shown, quiet)
    raise typer.Exit(INTERRUPTED if cancelled.is_set() else 0 if is_within else NOT_WITHIN)


def _certified(file: str, graph: OperationGraph, result: OrderResult, quiet: bool) -> CertificateFacts:
    """Write the certificate of an order's bound, and return what is said of it."""
    # Imported here: few bounds are certified.
    from memplan.solvers.order.certificate import certify_order

    found = certify_order(graph, result)
    if found.text:
        write(file, found.text.encode())
    elif not quiet:
        say(f"memplan: no certificate: {found.reason}")
    return found.facts(file if found.text else None)


def _page(study: str, path: str, graph: OperationGraph, found: Any) -> bytes:
    # Imported here: few orders are looked at.
    from memplan.api.reports.page.studies import order_page, recompute_page

    title = graph.name or Path(path).name
    return recompute_page(title, graph, found) if study == "recompute" else order_page(title, graph, found)


def _tell(output: str | None, told: dict[str, Any], lines: Sequence[str], shown: ListFormat, quiet: bool) -> None:
    """Write what was found, for programs or for people."""
    if output is not None:
        write(output, to_json(told) + b"\n")
        if not quiet:
            say("\n".join(lines))
    elif wants_table(shown):
        write(None, "".join(f"{line}\n" for line in lines).encode())
    else:
        write(None, to_json(told) + b"\n")
